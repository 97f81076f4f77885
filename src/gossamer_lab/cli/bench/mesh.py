"""``gossamer bench mesh``: publishing through a line of brokers beside one, and beside bridges."""

from pathlib import Path
from typing import Annotated

import typer

from gossamer.cli.errors import CommandError, WrongUse

FULL_SECONDS = 4.0
QUICK_SECONDS = 1.0
# A line of three must keep so much of what one broker does for each core.
TARGET = 0.5


def mesh(
    quick: Annotated[bool, typer.Option("--quick", help="Short runs.")] = False,
    repeat: Annotated[int, typer.Option(min=1, help="Runs of each; the median counts.")] = 1,
    only: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only brokers of this kind: gossamer, mosquitto."),
    ] = None,
    qos: Annotated[
        list[int] | None,
        typer.Option(metavar="QOS", min=0, max=2, help="Only this scenario; may be repeated."),
    ] = None,
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("out/mesh"),
) -> None:
    """Measure chains of one and three brokers, compared with bridged Mosquitto brokers."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from gossamer_lab.bench.brokers.scenarios import MESH_SCENARIOS
    from gossamer_lab.bench.mesh import report
    from gossamer_lab.bench.mesh.chains import gossamer_chain, mosquitto_chain
    from gossamer_lab.bench.mesh.measurement import kept, kept_of_all, run_all
    from gossamer_lab.cli.bench.brokers import FILE_WIDTH

    found = [gossamer_chain(1), gossamer_chain(3), *(mosquitto_chain(n) for n in (1, 2, 3))]
    chains = [chain for chain in found if chain and (not only or chain.kind in only)]
    if not chains:
        raise WrongUse("none of the brokers in --only is installed: leave it out to see which are")
    scenarios = [one for one in MESH_SCENARIOS if not qos or int(one.name[-1]) in qos]
    console = Console()
    if not console.is_terminal:
        console = Console(width=FILE_WIDTH)
    with console.status("measuring") as status:
        results = run_all(
            scenarios,
            chains,
            QUICK_SECONDS if quick else FULL_SECONDS,
            repeat,
            lambda scenario, chain: status.update(f"{scenario.title}: {chain.name}"),
        )
    for scenario in scenarios:
        table = Table(title=scenario.title, title_justify="left", box=box.SIMPLE_HEAD)
        for index, column in enumerate(report.COLUMNS):
            table.add_column(column, justify="left" if index == 0 else "right")
        for cells in report.rows(results, chains, scenario.name):
            table.add_row(*cells)
        console.print(table)
        for note in report.failures(results, scenario.name):
            console.print(f"not measured: {note}", style="yellow", highlight=False)
        runs = results[scenario.name]
        alone, line = runs.get("gossamer × 1"), runs.get("gossamer × 3")
        share = None if line is None else kept(line, alone)
        if line is not None and share is not None:
            verdict = "ok" if share >= TARGET else "MISSED"
            console.print(
                f"{verdict}: three in a chain keep {share:.0%} of one broker's throughput for each "
                f"core, if each has one (wanted: {TARGET:.0%}); for each second of all three "
                f"together {kept_of_all(line, alone) or 0:.0%}",
                highlight=False,
                soft_wrap=True,
            )
    console.print(report.LEGEND, highlight=False)
    console.print("kept in " + ", ".join(str(path) for path in report.save(results, chains, out)))
    if all(run.failure for by_chain in results.values() for run in by_chain.values()):
        raise CommandError("nothing could be measured; the table says why")
