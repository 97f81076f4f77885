"""``gossamer experiment dissemination``: the SSF paper's simulation, on the brokers that ship."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gossamer.cli.errors import CommandError

if TYPE_CHECKING:
    from rich.console import Console

    from gossamer.experiments.checks import Check
    from gossamer.experiments.dissemination.measuring import Findings


def dissemination(
    quick: Annotated[
        bool, typer.Option(help="A tenth of the network and three wildcard rates: minutes.")
    ] = False,
    out: Annotated[Path, typer.Option(help="Where figures and numbers are kept.")] = Path(
        "out/dissemination"
    ),
) -> None:
    """Simulate a thousand brokers in every mode: Figures 13 to 21, beside the paper's claims."""
    from rich.console import Console
    from rich.progress import Progress

    try:
        from gossamer.experiments.dissemination.drawing import draw
        from gossamer.experiments.dissemination.results import save
    except ModuleNotFoundError as problem:
        raise CommandError(f"{problem.name} is missing: pip install 'gossamer[plots]'") from None
    from gossamer.experiments.dissemination import claims, sizes
    from gossamer.experiments.dissemination.measuring import measure_all

    console = Console()
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as problem:
        raise CommandError(f"cannot write to {out}: {problem.strerror}") from None
    with Progress(console=console) as progress:
        bar = progress.add_task("runs", total=None)
        findings = measure_all(
            sizes.QUICK if quick else sizes.FULL,
            lambda done, runs: progress.update(bar, completed=done, total=runs),
        )
    _show(console, findings)
    paths = [*save(findings, out), draw(findings, out)]
    console.print("kept in " + ", ".join(str(path) for path in paths), soft_wrap=True)
    required = claims.must_hold(findings)
    _print_checks(console, "What must hold", required)
    _print_checks(console, "What the paper prints", claims.paper_says(findings))
    missed = sum(not check.holds for check in required)
    if missed:
        raise CommandError(f"{missed} of what must hold does not; see above")


def _print_checks(console: "Console", title: str, checks: "list[Check]") -> None:
    console.print(f"\n{title}", style="bold")
    for check in checks:
        reason = f" ({check.because})" if check.verdict == "DIFFERS" else ""
        text = f"{check.verdict}: {check.claim}; here: {check.ours}{reason}"
        console.print(text, highlight=False, soft_wrap=True)


def _show(console: "Console", findings: "Findings") -> None:
    from rich import box
    from rich.table import Table

    table = Table(title="Between brokers", title_justify="left", box=box.SIMPLE_HEAD)
    columns = (
        "network",
        "mode",
        "α",
        "publications",
        "subscriptions",
        "control bytes",
        "bytes",
        "queue",
        "longest",
        "latency ms",
        "messages/s",
    )
    for column in columns:
        table.add_column(column, justify="left" if column in ("network", "mode") else "right")
    for cell in findings.cells:
        measures = cell.measures
        table.add_row(
            cell.kind,
            cell.mode,
            f"{cell.alpha:g}",
            f"{cell.forwards:,}",
            f"{cell.interests:,}",
            f"{cell.control_bytes:,}",
            f"{cell.link_bytes:,}",
            f"{measures.longest_average_queue:,.1f}",
            f"{measures.longest_queue:,}",
            f"{measures.latency_mean * 1000:,.0f}",
            f"{cell.rate:,.0f}",
        )
    console.print(table)
