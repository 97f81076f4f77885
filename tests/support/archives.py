"""Rows for an archive, and the same rows as readers are to see them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow as pa

from gossamer.archive.archive import Archive
from gossamer.archive.collector import Collector
from gossamer.archive.folder import ArchiveSettings
from gossamer.archive.parquet_seal import seal
from gossamer.archive.schema import SCHEMA, projection
from gossamer.archive.sealed_segment import open_folder
from gossamer.archive.segment_lifecycle import Upkeep
from gossamer.archive.selection import FOREVER, Selection
from gossamer.broker.archive_port import RETAIN_FLAG
from gossamer.wire.packets import PUBLISH
from gossamer.wire.properties import Properties
from gossamer.wire.property_codec import encode_properties

BROKER = "b1"


@dataclass
class Row:
    """One message, as it is given to the collector."""

    topic: str = "a/b"
    payload: bytes = b"x"
    qos: int = 1
    retain: bool = False
    time: int = 1_000_000  # microseconds
    publisher: str = "client"
    user: str = ""
    properties: Properties | None = None
    shown: dict[str, Any] = field(default_factory=dict)  # columns that come from the properties

    def collect(self, collector: Collector) -> bool:
        flags = self.qos | (RETAIN_FLAG if self.retain else 0)
        topic, now = self.topic.encode(), self.time / 1_000_000
        extra = b"" if self.properties is None else encode_properties(self.properties, PUBLISH)
        return collector.append(topic, self.payload, flags, self.publisher, self.user, now, extra)

    def seen(self, offset: int) -> dict[str, Any]:
        """As a reader gets it; times are microseconds."""
        absent = dict.fromkeys(SCHEMA.names)
        return {
            **absent,
            "broker": BROKER,
            "offset": offset,
            "time": self.time,
            "topic": self.topic,
            "payload": self.payload,
            "qos": self.qos,
            "retain": self.retain,
            "publisher": self.publisher or None,
            "user": self.user or None,
            **self.shown,
        }


def settings(folder: Path, **changes: Any) -> ArchiveSettings:
    given: dict[str, Any] = {"folder": folder, "broker": BROKER, "syncs": False, **changes}
    return ArchiveSettings(**given)


def write(archive: Archive, rows: Sequence[Row], *, is_joint: bool = False) -> None:
    """As one transaction."""
    for row in rows:
        row.collect(archive.collector)
    with archive.transaction(archive.collector.take(), is_joint=is_joint):
        pass


def seal_here(log: Path, folder: str) -> str:
    """As the worker does, in this process."""
    files, path = open_folder(folder)
    return seal(log, files, path)


def keep_up(archive: Archive, *, roll: bool = True) -> None:
    """Seals everything that was written so far, and applies retention."""
    if roll:
        archive.roll(is_forced=True)
    Upkeep(archive, seal_here).round()


def rows_of(batches: Sequence[pa.RecordBatch]) -> list[dict[str, Any]]:
    """Times as microseconds, maps as lists of pairs."""
    found: list[dict[str, Any]] = []
    for batch in batches:
        for name in batch.schema.names:
            assert batch.schema.field(name).type == SCHEMA.field(name).type
        batch.validate(full=True)
        table = pa.Table.from_batches([batch])
        if "time" in batch.schema.names:
            index = batch.schema.names.index("time")
            table = table.set_column(index, "time", table.column("time").cast(pa.int64()))
        found += table.to_pylist()
    return found


def read(
    archive: Archive,
    filters: Sequence[str] | None = None,
    start: int | None = None,
    end: int = FOREVER,
    columns: list[str] | None = None,
    allows: Callable[[str], bool] | None = None,
    **times: int,
) -> list[dict[str, Any]]:
    first = archive.catalog.earliest if start is None else start
    selection = Selection(filters, first, end, schema=projection(columns), allows=allows, **times)
    return rows_of(list(archive.reader.read(selection)))
