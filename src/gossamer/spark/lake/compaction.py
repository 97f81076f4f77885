"""Small files of hours that are over, put together: many batches become one.

The new folder is finished beside the table, then takes the place of the old one by two moves. A
kill between them leaves traces under `_compacting` that the next start completes. Only batches
before the present one are touched: that one may be written again.
"""

from datetime import datetime
from typing import Final

from pyspark.sql import SparkSession

from gossamer.spark.lake.files import Files, joined
from gossamer.spark.lake.tables import BATCH, DATE, Hour, LakeTable, read_hour

# An hour of fewer files is read as fast as one of a single file.
FEWEST_FILES: Final = 8
# A file of an hour holds no more rows, so that several tasks can read it.
ROWS_PER_FILE: Final = 5_000_000

_NEW: Final = "_compacting/new"
_OLD: Final = "_compacting/old"


class Compactor:
    """Of one table that is cut by hour and batch."""

    def __init__(self, spark: SparkSession, table: LakeTable) -> None:
        self._spark = spark
        self._table = table
        self._files = Files(spark, table.path)

    def finish(self) -> None:
        """Completes what was interrupted; called before anything reads the table."""
        new, old = self._at(_NEW), self._at(_OLD)
        for hour in self._hours(old):
            if not self._files.exists(self._at(hour.path)):
                source = new if self._files.exists(joined(new, hour.path)) else old
                self._files.move(joined(source, hour.path), self._at(hour.path))
        self._files.remove(self._at("_compacting"))

    def compact(self, before: datetime, batch: int) -> list[Hour]:
        """The hours that ended by then and lie in many files; batches from this one on stay."""
        return [
            hour
            for hour in self._hours(self._table.path)
            if hour.end <= before and self._compact_hour(hour, batch)
        ]

    def _compact_hour(self, hour: Hour, batch: int) -> bool:
        path = self._at(hour.path)
        batches = [int(name.partition("=")[2]) for name in self._files.folders(path)]
        count = sum(self._files.files(f"{path}/{BATCH}={number}") for number in batches)
        if count < FEWEST_FILES or max(batches) >= batch:
            return False
        new = joined(self._at(_NEW), hour.path)
        rows = self._spark.read.option("basePath", path).parquet(path).drop(BATCH)
        files = 1 + rows.count() // ROWS_PER_FILE
        rows.repartitionByRange(files, "topic", "time").sortWithinPartitions(
            "topic", "time"
        ).write.mode("overwrite").parquet(f"{new}/{BATCH}={max(batches)}")
        self._files.move(path, joined(self._at(_OLD), hour.path))
        self._files.move(new, path)
        self._files.remove(self._at("_compacting"))
        return True

    def _hours(self, path: str) -> list[Hour]:
        found: list[Hour] = []
        for date in self._files.folders(path):
            if date.startswith(f"{DATE}="):
                hours = self._files.folders(joined(path, date))
                found += filter(None, (read_hour(date, name) for name in hours))
        return found

    def _at(self, path: str) -> str:
        return joined(self._table.path, path)
