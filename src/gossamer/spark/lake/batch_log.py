"""The lake's own log: what each batch held, and how far the watermark was.

The watermark is the newest time seen before a batch, less the lateness that is expected. Windows
that ended before it are final; a reading that is older still corrects them, and is noted.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

from gossamer.spark.lake.tables import BATCH, by_batch, moment

_SCHEMA: Final = (
    "messages long, readings long, aside long, late long, newest timestamp, watermark timestamp"
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
    def __init__(self, spark: SparkSession, root: str, lateness: timedelta) -> None:
        self._spark = spark
        self._table = by_batch(root, "batches")
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
        self._table.write_batch(self._spark.createDataFrame([row], _SCHEMA).coalesce(1), batch)
        known = [time for time in (self._newest[batch], entry.newest) if time is not None]
        self._newest = {batch + 1: max(known, default=None)}

    def _read_newest(self, batch: int) -> datetime | None:
        log = self._table.read(self._spark)
        if log is None:
            return None
        newest = log.where(F.col(BATCH) < batch).agg(F.unix_micros(F.max("newest"))).first()
        return moment(newest[0]) if newest is not None else None
