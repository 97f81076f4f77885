"""How fast rows are written, sealed and read back, from files and through the replay service."""

import random
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from socket import create_server
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from gossamer.archive.archive import Archive
from gossamer.archive.client import Address, Credentials, Request, read
from gossamer.archive.folder import ArchiveSettings
from gossamer.archive.replay import ReplayAnswer, Rights
from gossamer.archive.replay_protocol import MOST_REQUEST_BYTES, read_frame
from gossamer.archive.sealed_segment import SealedSegment
from gossamer.archive.segment_lifecycle import Upkeep
from gossamer.archive.selection import Selection

TOPICS: Final = 1_000
PUBLISHERS: Final = 50
PAYLOAD_BYTES: Final = 64
# So many different payloads, in an order that no compressor knows.
PAYLOADS: Final = 10_007
# Messages of one publisher in one chunk, and of one transaction.
RUN_ROWS: Final = 8
TRANSACTION_ROWS: Final = 2_000
# A sensor reports once a minute; the first report is at this moment (2026-01-01, UTC).
START_SECONDS: Final = 1_767_225_600.0
PERIOD_SECONDS: Final = 60.0


@dataclass(frozen=True)
class ArchiveRates:
    """Rows a second of each way to write and read them, and the bytes that one takes."""

    rows: int
    rates: dict[str, float]
    bytes_a_row_log: float
    bytes_a_row_sealed: float


def measure(rows: int) -> ArchiveRates:
    with tempfile.TemporaryDirectory(prefix="gossamer-bench-") as folder:
        settings = ArchiveSettings(Path(folder), "bench", segment_bytes=1 << 40)
        archive = Archive(settings)
        try:
            return _measure(archive, rows)
        finally:
            archive.close()


def _measure(archive: Archive, rows: int) -> ArchiveRates:
    rows = rows // TRANSACTION_ROWS * TRANSACTION_ROWS
    topics = [b"bench/%02d/%02d/value" % divmod(number, 100) for number in range(TOPICS)]
    payloads = texts()
    one_topic = Selection([topics[7].decode()])
    rates: dict[str, float] = {}

    def time_rows(what: str, work: Callable[[], object]) -> None:
        began = time.perf_counter()
        work()
        rates[what] = rows / (time.perf_counter() - began)

    def time_reading(what: str, selection: Selection) -> None:
        time_rows(what, lambda: _count(archive.reader.read(selection)))

    time_rows(
        "written to the log and synchronised",
        lambda: write_rows(archive, rows, topics, payloads, run=RUN_ROWS),
    )
    log_bytes = archive.catalog.current.position
    _count(archive.reader.read(Selection(end=1)))  # what is loaded at the first use is loaded
    time_reading("read from the log", Selection())
    time_reading("read from the log, one topic of a thousand", one_topic)
    time_rows("read from the log through a socket", lambda: _count(_through_a_socket(archive)))
    archive.roll(is_forced=True)
    time_rows("sealed into Parquet by the worker", Upkeep(archive).round)
    segment = archive.catalog.segments[0]
    assert isinstance(segment, SealedSegment)
    time_reading("read from the sealed segment", Selection())
    time_reading("read from the sealed segment, one topic of a thousand", one_topic)
    time_rows(
        "read by pyarrow alone from the same file",
        lambda: _count(pq.ParquetFile(segment.path).iter_batches()),
    )
    return ArchiveRates(rows, rates, log_bytes / rows, segment.size / rows)


def texts() -> list[bytes]:
    """Payloads as large as those of the other benchmarks."""
    chance = random.Random(8)
    return [chance.randbytes(PAYLOAD_BYTES // 2).hex().encode() for _ in range(PAYLOADS)]


def write_rows(
    archive: Archive, rows: int, topics: list[bytes], payloads: list[bytes], *, run: int = 1
) -> None:
    """Messages of sensors that report in turn, so many at once, each to a topic of its own."""
    collector = archive.collector
    publishers = [f"client-{number}" for number in range(PUBLISHERS)]
    for row in range(rows):
        turn, sensor = divmod(row // run, len(topics))
        now = START_SECONDS + (turn + sensor / len(topics)) * PERIOD_SECONDS
        publisher = publishers[sensor % PUBLISHERS]
        collector.append(topics[sensor], payloads[row % PAYLOADS], 1, publisher, "", now)
        if row % TRANSACTION_ROWS == TRANSACTION_ROWS - 1 or row == rows - 1:
            with archive.transaction(collector.take(), is_joint=False):
                pass


def _through_a_socket(archive: Archive) -> Iterable[pa.RecordBatch]:
    with create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection, connection.makefile("rb") as file:
                request = read_frame(file.read, MOST_REQUEST_BYTES)
                answering = ReplayAnswer(archive, Rights(), threading.Event())
                answering.send(answering.reading(request), connection)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        address = Address("127.0.0.1", listener.getsockname()[1])
        yield from read(address, Credentials(), Request())
        thread.join()


def _count(batches: Iterable[pa.RecordBatch]) -> None:
    for _ in batches:
        pass
