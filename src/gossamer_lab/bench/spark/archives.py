"""Archives of readings to measure on: filled ahead, then served by a broker of its own process."""

import os
import random
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from gossamer.archive.archive import Archive
from gossamer.archive.folder import ArchiveSettings
from gossamer.archive.segment_lifecycle import Upkeep
from gossamer.net.local.ports import free_port
from gossamer_lab.bench.archive_rates import PAYLOADS, write_rows
from gossamer_lab.bench.measurement import BenchTarget
from gossamer_lab.bench.peers import configured_gossamer

BROKER: Final = "bench"
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


def fill(folder: Path, rows: int, topics: int, payloads: list[bytes], *, seals: bool) -> None:
    """Messages of so many sensors, in the log or sealed into Parquet."""
    size = ArchiveSettings.segment_bytes if seals else NEVER_BYTES
    settings = ArchiveSettings(folder, BROKER, segment_bytes=size, syncs=False)
    archive = Archive(settings)
    try:
        names = [b"plant/%02d/%04d/temp" % divmod(number, 100) for number in range(topics)]
        write_rows(archive, rows, names, payloads)
        if seals:
            archive.roll(is_forced=True)
            Upkeep(archive).round()
    finally:
        archive.close()


def sealed_files(folder: Path) -> str:
    """For `spark.read.parquet`."""
    return str(folder / BROKER / "*.parquet")


@contextmanager
def serving(folder: Path) -> Iterator[tuple[BenchTarget, str]]:
    """A broker with this archive, and the address of its replay service."""
    replay = free_port()
    configuration = CONFIGURATION.format(port="{port}", name=BROKER, folder=folder, replay=replay)
    broker = configured_gossamer(configuration)
    with broker.running(os.sched_getaffinity(0)) as running:
        yield running, f"127.0.0.1:{replay}"
