"""``gossamer bench durable``: durable QoS 1 beside a broker that keeps nothing, in one run."""

from pathlib import Path
from typing import Annotated

import typer

from gossamer.cli.errors import CommandError, WrongUse

FULL_SECONDS = 4.0
QUICK_SECONDS = 1.0
QUICK_SCALE = 0.05


def durable(
    quick: Annotated[bool, typer.Option("--quick", help="Short runs with fewer messages.")] = False,
    beside: Annotated[
        list[Path] | None,
        typer.Option(metavar="FOLDER", help="The broker of another checkout of Gossamer too."),
    ] = None,
    repeat: Annotated[int, typer.Option(min=1, help="Runs of each; the median counts.")] = 1,
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("out/durable"),
) -> None:
    """Measure QoS 1 with every message on disk beside Mosquitto, which keeps it in memory."""
    from rich.console import Console

    from gossamer_lab.bench.brokers import peers, report
    from gossamer_lab.bench.brokers.runner import run_all
    from gossamer_lab.bench.brokers.scenarios import DURABLE_SCENARIOS
    from gossamer_lab.cli.bench.brokers import FILE_WIDTH, show

    mosquitto = peers.mosquitto()
    field = [peers.durable_gossamer(), *([mosquitto] if mosquitto is not None else [])]
    try:
        field += [peers.checkout(root, durable=True) for root in beside or ()]
    except ValueError as problem:
        raise WrongUse(str(problem)) from None
    console = Console()
    if not console.is_terminal:
        console = Console(width=FILE_WIDTH)
    with console.status("measuring") as status:
        results = run_all(
            DURABLE_SCENARIOS,
            field,
            seconds=QUICK_SECONDS if quick else FULL_SECONDS,
            scale=QUICK_SCALE if quick else 1.0,
            repeat=repeat,
            report=lambda scenario, broker: status.update(f"{scenario.title}: {broker.name}"),
        )
    show(console, report.tables(results))
    console.print(f"{report.machine()}; {report.versions(field)}")
    console.print("kept in " + ", ".join(str(path) for path in report.save(results, field, out)))
    if all(run.failure for by_broker in results.values() for run in by_broker.values()):
        raise CommandError("nothing could be measured; the table says why")
