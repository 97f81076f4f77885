"""``gossamer bench flood``: what one client's flood does to another's latency."""

from typing import Annotated

import typer

from gossamer.cli.errors import CommandError

FULL_SECONDS = 5.0
QUICK_SECONDS = 1.0


def flood(
    quick: Annotated[bool, typer.Option("--quick", help="Short runs.")] = False,
    repeat: Annotated[int, typer.Option(min=1, help="Runs of each; the median counts.")] = 3,
) -> None:
    """Measure p99 latency at 1,000 messages a second, alone and beside a flooding client."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from gossamer_lab.bench.brokers import peers, report
    from gossamer_lab.bench.brokers.runner import run_all
    from gossamer_lab.bench.brokers.scenarios import FLOOD_SCENARIOS

    mosquitto = peers.mosquitto()
    field = [peers.gossamer(), *([mosquitto] if mosquitto is not None else [])]
    console = Console()
    with console.status("measuring") as status:
        results = run_all(
            FLOOD_SCENARIOS,
            field,
            seconds=QUICK_SECONDS if quick else FULL_SECONDS,
            scale=1.0,
            repeat=repeat,
            report=lambda scenario, broker: status.update(f"{scenario.title}: {broker.name}"),
        )
    table = Table(box=box.SIMPLE_HEAD)
    for column in ("broker", "", "p50 µs", "p99 µs", "p99 to quiet"):
        table.add_column(column, justify="left" if len(table.columns) < 2 else "right")
    failed = False
    for broker in field:
        alone = results[FLOOD_SCENARIOS[0].name][broker.name].p99_microseconds or 0.0
        for scenario in FLOOD_SCENARIOS:
            run = results[scenario.name][broker.name]
            failed = failed or bool(run.failure)
            p50, p99 = run.p50_microseconds or 0.0, run.p99_microseconds or 0.0
            ratio = f"{p99 / alone:.1f}×" if alone and p99 else run.failure
            table.add_row(broker.name, scenario.title, f"{p50:,.0f}", f"{p99:,.0f}", ratio)
    console.print(table)
    console.print(f"{report.machine()}; {report.versions(field)}")
    if failed:
        raise CommandError("not everything could be measured; the table says why")
