"""The lake's own log: what each batch held, and how far the watermark was.

The watermark is the newest time seen before a batch, less the lateness that is expected. Windows
that ended before it are final; a reading that is older still corrects them, and is noted.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

import pyarrow as pa

from gossamer.spark.lake.files import BATCH, table_of
from gossamer.spark.lake.tables import LakeTable

_TIME: Final = pa.timestamp("us", "UTC")
_SCHEMA: Final = pa.schema(
    [
        ("messages", pa.int64()),
        ("readings", pa.int64()),
        ("aside", pa.int64()),
        ("late", pa.int64()),
        ("newest", _TIME),
        ("watermark", _TIME),
    ]
)


@dataclass
class BatchEntry:
    messages: int = 0
    readings: int = 0
    aside: int = 0
    late: int = 0
    newest: datetime | None = None  # UTC

    def plus(self, other: "BatchEntry") -> "BatchEntry":
        return BatchEntry(
            self.messages + other.messages,
            self.readings + other.readings,
            self.aside + other.aside,
            self.late + other.late,
            other.newest or self.newest,
        )


class BatchLog:
    def __init__(self, table: LakeTable, lateness: timedelta) -> None:
        self._table = table
        self._lateness = lateness
        self._newest: dict[int, datetime | None] = {}  # by the batch that follows

    def watermark(self, batch: int) -> datetime | None:
        """Before this batch; None while nothing has been seen."""
        if batch not in self._newest:
            self._newest = {batch: self._read_newest(batch)}
        newest = self._newest[batch]
        return None if newest is None else newest - self._lateness

    def write(self, batch: int, entry: BatchEntry) -> None:
        watermark = self.watermark(batch)
        row = (entry.messages, entry.readings, entry.aside, entry.late, entry.newest, watermark)
        self._table.append_rows(table_of([row], _SCHEMA), batch)
        known = [time for time in (self._newest[batch], entry.newest) if time is not None]
        self._newest = {batch + 1: max(known, default=None)}

    def _read_newest(self, batch: int) -> datetime | None:
        rows = self._table.rows(BATCH, "newest")
        if rows is None:
            return None
        pairs = zip(*(column.to_pylist() for column in rows.columns), strict=True)
        return max((time for at, time in pairs if at < batch and time is not None), default=None)
