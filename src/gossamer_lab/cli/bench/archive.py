"""``gossamer bench archive``: what archiving costs a broker, and how fast the rows come back."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from gossamer.archive.errors import MissingPyarrow
from gossamer.cli.errors import CommandError

if TYPE_CHECKING:
    from gossamer_lab.bench.archive.rates import ArchiveRates

FULL_SECONDS = 4.0
QUICK_SECONDS = 1.0
QUICK_SCALE = 0.2
FULL_ROWS = 2_000_000
QUICK_ROWS = 100_000

# What is measured, and its name.
RATES = (
    ("written", "written to the log and synchronised"),
    ("log", "read from the log"),
    ("log_filtered", "read from the log, one topic of a thousand"),
    ("served", "read from the log through a socket"),
    ("sealed_by_worker", "sealed into Parquet by the worker"),
    ("sealed", "read from the sealed segment"),
    ("sealed_filtered", "read from the sealed segment, one topic of a thousand"),
    ("native", "read by pyarrow alone from the same file"),
)


def archive(
    quick: Annotated[bool, typer.Option(help="Short runs with fewer messages.")] = False,
    repeat: Annotated[int, typer.Option(min=1, help="Runs of each; the median counts.")] = 1,
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("out/archive"),
) -> None:
    """Measure QoS 1 with the archive off and on, and reading from logs and sealed segments."""
    from rich.console import Console

    try:
        from gossamer_lab.bench.archive import publish as publishing
        from gossamer_lab.bench.archive import rates as reading
    except ImportError as error:
        raise CommandError(str(MissingPyarrow())) from error
    from gossamer_lab.bench.brokers import report
    from gossamer_lab.bench.brokers.runner import run_all
    from gossamer_lab.cli.bench.brokers import FILE_WIDTH, show

    field = publishing.peers()
    console = Console()
    if not console.is_terminal:
        console = Console(width=FILE_WIDTH)
    with console.status("measuring") as status:
        results = run_all(
            publishing.SCENARIOS,
            field,
            seconds=QUICK_SECONDS if quick else FULL_SECONDS,
            scale=QUICK_SCALE if quick else 1.0,
            repeat=repeat,
            report=lambda scenario, broker: status.update(f"{scenario.title}: {broker.name}"),
        )
        status.update("reading")
        rates = reading.measure(QUICK_ROWS if quick else FULL_ROWS)
    show(console, report.tables(results))
    for line in lines(rates):
        console.print(line, highlight=False)
    console.print(f"{report.machine()}; {report.versions(field)}")
    console.print("kept in " + ", ".join(str(path) for path in report.save(results, field, out)))


def lines(rates: "ArchiveRates") -> list[str]:
    """The rates in words."""
    return [
        f"{rates.rows:,} rows of 64 bytes; a row takes {rates.bytes_a_row_log:.0f} bytes in the "
        f"log and {rates.bytes_a_row_sealed:.0f} sealed",
        *(f"{getattr(rates, name):12,.0f} rows/s {text}" for name, text in RATES),
    ]
