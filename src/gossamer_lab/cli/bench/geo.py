"""``gossamer bench geo``: geofences by the thousand and the million, and beside shapely."""

from typing import TYPE_CHECKING, Annotated

import typer

from gossamer.cli.errors import WrongUse

if TYPE_CHECKING:
    from rich.table import Table

SIZES = (1_000, 10_000, 100_000, 1_000_000)
CLIENTS = 100_000
QUICK_SIZES = (1_000, 10_000)
QUICK_CLIENTS = 10_000
HELD = 20_000
QUICK_HELD = 500
THROUGH_MESSAGES = 10_000
BESIDE_CLIENTS = 10_000
BESIDE_OPERATIONS = 20_000
SHAPELY_OPERATIONS = 50  # each rebuilds the tree


def geo(
    quick: Annotated[
        bool, typer.Option("--quick", help="A hundredth of the fences and clients.")
    ] = False,
    fences: Annotated[
        list[int] | None,
        typer.Option("--fences", "-n", min=1, help="How many; may be repeated."),
    ] = None,
    seed: Annotated[int, typer.Option(help="The same seed makes the same fences.")] = 1,
) -> None:
    """Measure matching, moving and building, per core, in an index of mixed shapes."""
    from rich.console import Console

    from gossamer_lab.bench.brokers.report import machine
    from gossamer_lab.bench.geo.measurement import measure_finding, measure_moving
    from gossamer_lab.bench.geo.through_broker import measure_plain, measure_through

    console = Console()
    sizes = fences or list(QUICK_SIZES if quick else SIZES)
    clients = QUICK_CLIENTS if quick else CLIENTS
    table = _table(
        "Publications matched against static fences",
        ["fences", "built in s", "bytes each", "publications/s", "p99 µs", "matches each"],
    )
    with console.status("") as status:
        for size in sizes:
            status.update(f"{size:,} fences")
            found = measure_finding(seed, size)
            table.add_row(
                f"{found.fences:,}",
                f"{found.build_seconds:.2f}",
                f"{found.bytes_each:,.0f}",
                f"{found.publications_a_second:,.0f}",
                f"{found.p99_microseconds:.1f}",
                f"{found.matches_each:.3f}",
            )
        status.update(f"{clients:,} moving clients")
        moving = measure_moving(seed, clients)
        held = QUICK_HELD if quick else HELD
        status.update(f"a broker with {held:,} located subscriptions")
        through = measure_through(seed, held, THROUGH_MESSAGES)
        plain = measure_plain(seed, held)
        status.update("beside shapely")
        beside = _beside(seed)
    console.print(table)
    console.print(
        f"{moving.clients:,} clients with an area around them: "
        f"{moving.updates_a_second:,.0f} position updates/s"
    )
    console.print(
        f"Through a whole broker, {through.fences:,} located subscriptions: "
        f"{through.publications_a_second:,.0f} located publications/s, bytes to bytes"
    )
    console.print(
        f"Plain publications beside them: {plain.beside:,.0f}/s, without them "
        f"{plain.without:,.0f}/s ({-plain.loss():+.1%})"
    )
    console.print(beside)
    console.print(f"{machine()}; rates are per second of one core's time", highlight=False)


def _beside(seed: int) -> str:
    from gossamer_lab.bench.geo.shapely_loop import compare

    try:
        result = compare(seed, BESIDE_CLIENTS, BESIDE_OPERATIONS, SHAPELY_OPERATIONS)
    except ImportError:
        raise WrongUse("shapely is not installed: pip install 'gossamer[geo]'") from None
    return (
        f"{result.clients:,} clients, each step a move and a match: {result.own:,.0f}/s; "
        f"shapely with an STRtree rebuilt on change: {result.shapely:,.0f}/s "
        f"({result.times():,.0f} times slower)"
    )


def _table(title: str, columns: list[str]) -> "Table":
    from rich import box
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    for column in columns:
        table.add_column(column, justify="right")
    return table
