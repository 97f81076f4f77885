"""``gossamer bench archive``: what archiving costs a broker, and how fast the rows come back."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from gossamer.archive.folder import MissingPyarrow
from gossamer.cli.errors import CommandError
from gossamer_lab import tables
from gossamer_lab.bench import harness, report
from gossamer_lab.bench.load.scenarios import BY_NAME
from gossamer_lab.bench.peers import PeerBroker, configured_gossamer, durable_gossamer

if TYPE_CHECKING:
    from gossamer_lab.bench.archive_rates import ArchiveRates

QUICK: Final = harness.RunLength(1.0, 0.2)
FULL_ROWS: Final = 2_000_000
QUICK_ROWS: Final = 100_000

SCENARIOS: Final = (BY_NAME["qos1-20"], BY_NAME["durable-online"])

# Sealing takes the other core, which is the generator's here: it is measured by itself.
CONFIGURATION: Final = """\
[[listener]]
port = {port}

[store]
folder = "data"

[archive]
filters = ["#"]
replay = false
segment_size = "64 GiB"
"""


def archive(
    quick: Annotated[bool, typer.Option(help="Short runs with fewer messages.")] = False,
    repeat: harness.Repeat = 1,
    out: harness.Out = Path("out/archive"),
) -> None:
    """Measure QoS 1 with the archive off and on, and reading from logs and sealed segments."""
    try:
        from gossamer_lab.bench.archive_rates import measure
    except ImportError as error:
        raise CommandError(str(MissingPyarrow())) from error
    field = peers()
    console = tables.console()
    length = QUICK if quick else harness.FULL
    results = harness.run_with_bar(console, SCENARIOS, field, length, repeat)
    with console.status("reading"):
        rates = measure(QUICK_ROWS if quick else FULL_ROWS)
    report.conclude(console, results, field, out, *lines(rates))


def peers() -> list[PeerBroker]:
    """Both keep lasting sessions on disk; the second one archives every message too."""
    return [durable_gossamer(), configured_gossamer(CONFIGURATION, "gossamer, archiving")]


def lines(rates: "ArchiveRates") -> list[str]:
    """The rates in words."""
    return [
        f"{rates.rows:,} rows of 64 bytes; a row takes {rates.bytes_a_row_log:.0f} bytes in the "
        f"log and {rates.bytes_a_row_sealed:.0f} sealed",
        *(f"{rate:12,.0f} rows/s {what}" for what, rate in rates.rates.items()),
    ]
