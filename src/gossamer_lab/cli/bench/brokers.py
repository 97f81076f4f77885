"""``gossamer bench brokers``: this broker and its peers under the same load, in one run."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gossamer.cli.errors import CommandError, WrongUse

if TYPE_CHECKING:
    from rich.console import Console

    from gossamer_lab.bench.brokers.report import ScenarioTable

FULL_SECONDS = 4.0
QUICK_SECONDS = 1.0
QUICK_SCALE = 0.1

# A table in a file or a pipe has no window that it must fit.
FILE_WIDTH = 120


def brokers(
    scenario: Annotated[
        list[str] | None,
        typer.Option(
            "--scenario", "-s", metavar="NAME", help="Only this scenario; may be repeated."
        ),
    ] = None,
    peer: Annotated[
        list[str] | None,
        typer.Option(metavar="PEER", help="Another: NAME=HOST:PORT, or NAME='COMMAND {port}'."),
    ] = None,
    beside: Annotated[
        list[Path] | None,
        typer.Option(metavar="FOLDER", help="The broker of another checkout of Gossamer too."),
    ] = None,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only the broker of this name; may be repeated."),
    ] = None,
    pure: Annotated[bool, typer.Option("--pure", help="Measure the uncompiled core too.")] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="Short runs, a tenth of the clients.")
    ] = False,
    repeat: Annotated[int, typer.Option(min=1, help="Runs of each; the median counts.")] = 1,
    seconds: Annotated[
        float | None, typer.Option(min=0.05, help="Measured time of each run.")
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("out/bench"),
) -> None:
    """Measure this broker and every other broker that is installed (mosquitto, amqtt)."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    from gossamer_lab.bench.brokers import peers, report
    from gossamer_lab.bench.brokers.runner import run_all
    from gossamer_lab.bench.brokers.scenarios import SCENARIOS, LoadScenario

    names = [s.name for s in SCENARIOS]
    unknown = [name for name in scenario or () if name not in names]
    if unknown:
        raise WrongUse(f"there is no scenario {unknown[0]}: choose from {', '.join(names)}")
    chosen = [s for s in SCENARIOS if not scenario or s.name in scenario]
    try:
        others = [peers.parse(text) for text in peer or ()]
        others += [peers.checkout(root) for root in beside or ()]
    except ValueError as problem:
        raise WrongUse(str(problem)) from None
    own = [peers.gossamer(), peers.gossamer(pure=True)] if pure else [peers.gossamer()]
    field = [b for b in [*own, *peers.installed(), *others] if not only or b.name in only]
    if not field:
        raise WrongUse("none of the brokers in --only is installed: leave it out to see which are")

    console = Console()
    if not console.is_terminal:
        console = Console(width=FILE_WIDTH)
    warning = report.busy()
    if warning:
        console.print(warning, style="yellow", highlight=False)
    progress = Progress(
        TextColumn("{task.description:48}"),
        BarColumn(),
        MofNCompleteColumn(),
        console=console,
        transient=True,
        # The bar shares a core with the generator.
        refresh_per_second=1,
    )
    with progress:
        task = progress.add_task("", total=len(chosen) * len(field) * repeat)
        begun = 0

        def note(running: LoadScenario, broker: peers.PeerBroker) -> None:
            nonlocal begun
            progress.update(task, completed=begun, description=f"{running.title}: {broker.name}")
            begun += 1

        results = run_all(
            chosen,
            field,
            seconds=seconds or (QUICK_SECONDS if quick else FULL_SECONDS),
            scale=QUICK_SCALE if quick else 1.0,
            repeat=repeat,
            report=note,
        )
    show(console, report.tables(results))
    console.print(report.LEGEND, highlight=False)
    console.print(f"{report.machine()}; {report.versions(field)}")
    console.print("kept in " + ", ".join(str(path) for path in report.save(results, field, out)))
    if all(run.failure for by_broker in results.values() for run in by_broker.values()):
        raise CommandError("nothing could be measured; the table says why")


def show(console: "Console", tables: "list[ScenarioTable]") -> None:
    from rich import box
    from rich.table import Table

    for scenario, columns, rows, notes in tables:
        table = Table(title=scenario.title, title_justify="left", box=box.SIMPLE_HEAD)
        for index, column in enumerate(columns):
            table.add_column(column, justify="left" if index == 0 else "right")
        for cells in rows:
            table.add_row(*cells)
        console.print(table)
        for note in notes:
            console.print(f"not measured: {note}", style="yellow", highlight=False)
