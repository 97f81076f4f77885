"""Tables of a lake: where they lie, and how a batch is written so that it can be written again.

A batch of a stream may be written twice: its first attempt was interrupted. So everything that it
writes lies under its own number, or replaces whole partitions by what follows from the tables
below, and the second attempt takes the place of the first.
"""

from collections.abc import Iterable
from typing import Final

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from gossamer.spark.lake.files import Files, joined
from gossamer.spark.lake.hours import BATCH, DATE, HOUR, Hour

CHECKPOINTS: Final = "_checkpoints"
# Of the tables, how they are cut into folders, and what stands beside them. It is in a file of this
# name among the checkpoints; where that is not there, it is 1.
FORMAT: Final = 1
FORMAT_FILE: Final = "format"


def format_of(stated: str | None) -> int:
    """ValueError if it is no number."""
    return 1 if stated is None else int(stated)


class LakeTable:
    """`columns` cut it into folders."""

    def __init__(self, root: str, name: str, *columns: str) -> None:
        self.name = name
        self.path = joined(root, name)
        self._columns = columns

    def replace(self, frame: DataFrame) -> None:
        """The partitions that the frame has rows in; others stay."""
        writer = frame.write.mode("overwrite").option("partitionOverwriteMode", "dynamic")
        writer.partitionBy(*self._columns).parquet(self.path)

    def write_batch(self, frame: DataFrame, batch: int) -> None:
        self.replace(frame.withColumn(BATCH, F.lit(batch)))

    def read(self, spark: SparkSession) -> DataFrame | None:
        """None while nothing has been written."""
        files = Files(spark, self.path)
        return spark.read.parquet(self.path) if files.exists(self.path) else None

    def hours_of(self, spark: SparkSession, hours: Iterable[Hour], batch: int) -> list[Hour]:
        """Those among the hours in which the batch has rows."""
        files = Files(spark, self.path)
        return [hour for hour in hours if files.exists(joined(self.path, _part(hour, batch)))]

    def read_batch(
        self, spark: SparkSession, hours: Iterable[Hour], batch: int
    ) -> DataFrame | None:
        return self.read_parts(spark, [_part(hour, batch) for hour in hours])

    def read_parts(self, spark: SparkSession, parts: Iterable[str]) -> DataFrame | None:
        """Only these folders, without a look at the others; None if there are none."""
        files = Files(spark, self.path)
        paths = [joined(self.path, part) for part in parts]
        there = [path for path in paths if files.exists(path)]
        return spark.read.option("basePath", self.path).parquet(*there) if there else None


def by_hour(root: str, name: str) -> LakeTable:
    return LakeTable(root, name, DATE, HOUR)


def by_batch(root: str, name: str) -> LakeTable:
    return LakeTable(root, name, BATCH)


def by_hour_and_batch(root: str, name: str) -> LakeTable:
    return LakeTable(root, name, DATE, HOUR, BATCH)


def _part(hour: Hour, batch: int) -> str:
    return f"{hour.path}/{BATCH}={batch}"
