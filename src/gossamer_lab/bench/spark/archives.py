"""Archives of readings to measure on: filled ahead, then served by a broker of its own process."""

import os
import random
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from gossamer import __version__
from gossamer.archive.archive import Archive
from gossamer.archive.settings import ArchiveSettings
from gossamer.archive.upkeep import Upkeep
from gossamer.net.local.ports import free_port
from gossamer_lab.bench.brokers.peers import PeerBroker, RunningPeer

SERVE: Final = (sys.executable, "-m", "gossamer", "serve")
BROKER: Final = "bench"
PUBLISHERS: Final = 50
# A sensor reports once a minute; the first report is at this moment (2026-01-01, UTC).
START_SECONDS: Final = 1_767_225_600.0
PERIOD_SECONDS: Final = 60.0
TRANSACTION_ROWS: Final = 2_000
# So many different payloads, in an order that no compressor knows.
PAYLOADS: Final = 10_007
TEXT_BYTES: Final = 64
# A log that is written is never so long; sealing takes the default of the configuration.
NEVER_BYTES: Final = 1 << 40

CONFIGURATION: Final = """\
[[listener]]
port = {port}

[store]
kind = "memory"

[archive]
name = "{name}"
folder = "{folder}"
replay_port = {replay}
segment_size = "1024 GiB"
segment_age = 0
"""


def numbers() -> list[bytes]:
    """What sensors say: temperatures."""
    chance = random.Random(8)
    return [b"%.2f" % chance.gauss(21.0, 4.0) for _ in range(PAYLOADS)]


def texts() -> list[bytes]:
    """Payloads as large as those of the other benchmarks."""
    chance = random.Random(9)
    return [chance.randbytes(TEXT_BYTES // 2).hex().encode() for _ in range(PAYLOADS)]


def fill(folder: Path, rows: int, topics: int, payloads: list[bytes], *, seals: bool) -> None:
    """Messages of so many sensors, in the log or sealed into Parquet."""
    size = ArchiveSettings.segment_bytes if seals else NEVER_BYTES
    settings = ArchiveSettings(folder, BROKER, segment_bytes=size, syncs=False)
    archive = Archive(settings)
    try:
        _write(archive, rows, topics, payloads)
        if seals:
            archive.roll(is_forced=True)
            Upkeep(archive).round()
    finally:
        archive.close()


def sealed_files(folder: Path) -> str:
    """For `spark.read.parquet`."""
    return str(folder / BROKER / "*.parquet")


@contextmanager
def serving(folder: Path) -> Iterator[tuple[RunningPeer, str]]:
    """A broker with this archive, and the address of its replay service."""
    replay = free_port()

    def command(port: int, own: Path) -> list[str]:
        file = own / "gossamer.toml"
        file.write_text(CONFIGURATION.format(port=port, name=BROKER, folder=folder, replay=replay))
        return [*SERVE, "--config", str(file)]

    with RunningPeer(
        PeerBroker("gossamer", __version__, command), os.sched_getaffinity(0)
    ) as broker:
        yield broker, f"127.0.0.1:{replay}"


def _write(archive: Archive, rows: int, topics: int, payloads: list[bytes]) -> None:
    collector = archive.collector
    names = [b"plant/%02d/%04d/temp" % divmod(number, 100) for number in range(topics)]
    publishers = [f"gateway-{number}" for number in range(PUBLISHERS)]
    for row in range(rows):
        turn, sensor = divmod(row, topics)
        now = START_SECONDS + (turn + sensor / topics) * PERIOD_SECONDS
        publisher = publishers[sensor % PUBLISHERS]
        collector.append(names[sensor], payloads[row % PAYLOADS], 1, publisher, "", now)
        if row % TRANSACTION_ROWS == TRANSACTION_ROWS - 1 or row == rows - 1:
            with archive.transaction(collector.take(), is_joint=False):
                pass
