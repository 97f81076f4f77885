"""``gossamer bench bloom``: the summaries of what brokers want, their speed and their size."""

from typing import Annotated

import typer

from gossamer.cli.errors import CommandError

FULL_SEARCHES = 400_000
QUICK_SEARCHES = 40_000


def bloom(
    quick: Annotated[bool, typer.Option("--quick", help="A tenth of the searches.")] = False,
    searches: Annotated[
        int | None, typer.Option(min=1, help="Topics to search, each once.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Draws the filters and topics.")] = 7,
) -> None:
    """Measure searches a second beside the same search on rbloom, and the memory beside a set."""
    from rich import box
    from rich.console import Console
    from rich.progress import track
    from rich.table import Table

    try:
        from gossamer_lab.bench import bloom as bench
    except ModuleNotFoundError as problem:
        raise CommandError(
            f"{problem.name} is missing: pip install 'gossamer-lab[bench]'"
        ) from None

    console = Console()
    measured = bench.BloomBench(searches or (QUICK_SEARCHES if quick else FULL_SEARCHES), seed)
    speeds: dict[str, bench.Speed] = {}
    rounds = measured.rounds()
    for latest in track(rounds, "searching", bench.ROUNDS, console=console, transient=True):
        speeds = latest
    ours = speeds[bench.OURS]

    table = Table(title="Searches without a match, topics not seen before", box=box.SIMPLE_HEAD)
    table.add_column("")
    for column in ("searches/s of CPU", "gossamer is", "wrong yes"):
        table.add_column(column, justify="right")
    for side, speed in speeds.items():
        faster = ours.searches_per_second / speed.searches_per_second
        times = "" if side == bench.OURS else f"{faster:.1f}× as fast"
        table.add_row(side, f"{speed.searches_per_second:,.0f}", times, f"{speed.wrong:.3%}")
    console.print(table)
    state = "compiled" if bench.is_compiled() else "NOT compiled (run `make compile`)"
    console.print(f"{measured.queries_per_search():.1f} look-ups a search; the core is {state}")

    memory = measured.memory()
    table = Table(title=f"Memory of {len(measured.filters):,} filters", box=box.SIMPLE_HEAD)
    table.add_column("")
    for column in ("bytes", "of the set"):
        table.add_column(column, justify="right")
    for name, size in (
        ("filters in a Python set", memory.python_set),
        ("summary", memory.summary),
        ("summary as a message", memory.message),
        ("message for one more filter", memory.delta),
    ):
        table.add_row(name, f"{size:,}", f"1/{memory.python_set / size:,.1f}")
    console.print(table)
