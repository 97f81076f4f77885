"""``gossamer bench plus``: what MQTT+ costs the broker and saves its links."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from gossamer_lab.bench.plus.traffic import TrafficRun

# A table in a file or a pipe has no window that it must fit.
FILE_WIDTH = 120

SENSORS = 10_000
OPERATORS = 1_000
OPERATORS_OF_A_SENSOR = (1, 2, 5, 10)
TARGET_RATE = 200_000  # publications a second


def plus(
    quick: Annotated[bool, typer.Option("--quick", help="Short runs.")] = False,
) -> None:
    """Measure the operators on one core, in simulated time and without sockets."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console()
    if not console.is_terminal:
        console = Console(width=FILE_WIDTH)
    shrink = 20 if quick else 1
    steps = (_engine, _numeric, _images, _plain)
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task("measuring", total=len(steps))
        tables = []
        for step in steps:
            tables.append(step(shrink))
            progress.advance(task)
    for table in tables:
        console.print(table)


def _table(title: str, *columns: str) -> "Table":
    from rich import box
    from rich.table import Table

    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD)
    for column in columns:
        table.add_column(column, justify="right")
    return table


def _engine(shrink: int) -> "Table":
    from gossamer_lab.bench.plus.engine import run_engine

    table = _table(
        f"Operator engine: {SENSORS:,} sensors at 10 Hz, {OPERATORS:,} operator subscriptions "
        f"(target {TARGET_RATE:,}/s)",
        "operators of a sensor",
        "publications/s",
        "operator updates/s",
        "results",
    )
    for each in OPERATORS_OF_A_SENSOR:
        run = run_engine(SENSORS, OPERATORS, each, 1_000_000 // shrink // each)
        table.add_row(str(each), f"{run.rate:,.0f}", f"{run.rate * each:,.0f}", f"{run.results:,}")
    return table


def _numeric(shrink: int) -> "Table":
    from gossamer_lab.bench.plus.traffic import run_numeric

    runs = [
        run_numeric(way, sensors, 10, 4)
        for sensors in (10, 100, 1000 if shrink == 1 else 200)
        for way in ("MQTT", "SKR", "RPT")
    ]
    return _traffic_table("Averages of numbers (Figure 2), one hour, 10 subscribers", runs)


def _images(shrink: int) -> "Table":
    from gossamer_lab.bench.plus.traffic import run_images

    runs = [
        run_images(way, cameras, 10, 180 // shrink)
        for cameras in (10, 50)
        for way in ("MQTT", "CNTPPL")
    ]
    return _traffic_table(
        "People in images (Figure 3), 10 subscribers, without the recogniser", runs
    )


def _traffic_table(title: str, runs: list["TrafficRun"]) -> "Table":
    table = _table(
        title, "way", "sensors", "downlink bytes", "equation", "deviation", "CPU s", "memory KiB"
    )
    for run in runs:
        table.add_row(
            run.way,
            str(run.sensors),
            f"{run.downlink:,}",
            f"{run.expected:,.0f}",
            f"{run.deviation:+.1%}",
            f"{run.cpu_seconds:.2f}",
            f"{run.peak_kib:,.0f}",
        )
    return table


def _plain(shrink: int) -> "Table":
    from gossamer_lab.bench.plus.plain import run_plain

    run = run_plain(OPERATORS, 400_000 // shrink)
    table = _table(
        "Plain subscriptions beside operators on other topics (target: under 3 % lost)",
        "operators",
        "deliveries/s without",
        "deliveries/s beside",
        "lost",
    )
    table.add_row(
        f"{run.operators:,}", f"{run.without:,.0f}", f"{run.beside:,.0f}", f"{run.loss:.1%}"
    )
    return table
