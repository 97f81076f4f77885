"""Tables of a lake: where they lie, and how a batch is written so that it can be written again.

A batch of a stream may be written twice: its first attempt was interrupted. So everything that it
writes lies under its own number, or replaces whole partitions by what follows from the tables
below, and the second attempt takes the place of the first. Most are cut by hour,
`date=2031-05-24/hour=15`, in UTC.
"""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Final, NamedTuple

from pyspark.sql import Column, DataFrame, Observation, SparkSession
from pyspark.sql import functions as F

from gossamer.spark.lake.files import Files, joined

DATE: Final = "date"
HOUR: Final = "hour"
BATCH: Final = "batch"

CHECKPOINTS: Final = "_checkpoints"
# Of the tables, how they are cut into folders, and what stands beside them. It is in a file of this
# name among the checkpoints; where that is not there, it is 1.
FORMAT: Final = 1
FORMAT_FILE: Final = "format"

_AN_HOUR: Final = timedelta(hours=1)


class Hour(NamedTuple):
    date: str
    hour: int

    @property
    def path(self) -> str:
        return f"{DATE}={self.date}/{HOUR}={self.hour}"

    @property
    def end(self) -> datetime:
        return datetime.fromisoformat(self.date).replace(tzinfo=UTC) + timedelta(
            hours=self.hour + 1
        )


def hour_columns(time: Column) -> dict[str, Column]:
    return {DATE: F.date_format(time, "yyyy-MM-dd"), HOUR: F.hour(time)}


def hour_of(time: datetime) -> Hour:
    return Hour(time.date().isoformat(), time.hour)


def hours_between(first: datetime, last: datetime) -> list[Hour]:
    """All that have a moment of [first, last] in them."""
    found: list[Hour] = []
    at = first.replace(minute=0, second=0, microsecond=0)
    while at <= last:
        found.append(hour_of(at))
        at += _AN_HOUR
    return found


def moment(micros: int | None) -> datetime | None:
    """Collected as a number: Spark hands out timestamps in the time zone of this machine."""
    return None if micros is None else datetime.fromtimestamp(micros / 1e6, UTC)


class RowsWritten(NamedTuple):
    """What went by while a table was written: how many rows, and of which times (UTC)."""

    rows: int
    first: datetime | None
    last: datetime | None

    def hours(self) -> list[Hour]:
        return hours_between(self.first, self.last) if self.first and self.last else []


def read_hour(date_folder: str, hour_folder: str) -> Hour | None:
    """Of the names of two folders; None if they are something else."""
    date, hour = date_folder.partition("="), hour_folder.partition("=")
    if date[0] != DATE or hour[0] != HOUR or not hour[2].isdigit():
        return None
    return Hour(date[2], int(hour[2]))


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

    def write_hours(self, frame: DataFrame, batch: int) -> RowsWritten:
        """A batch of rows with a `time`, into the folders of their hours."""
        seen, micros = Observation(), F.unix_micros("time")
        watched = frame.observe(
            seen,
            F.count("*").alias("rows"),
            F.min(micros).alias("first"),
            F.max(micros).alias("last"),
        )
        self.write_batch(watched.withColumns(hour_columns(F.col("time"))), batch)
        told = seen.get
        return RowsWritten(int(told["rows"]), moment(told["first"]), moment(told["last"]))

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


def by_batch(root: str, name: str) -> LakeTable:
    return LakeTable(root, name, BATCH)


def by_hour_and_batch(root: str, name: str) -> LakeTable:
    return LakeTable(root, name, DATE, HOUR, BATCH)


def _part(hour: Hour, batch: int) -> str:
    return f"{hour.path}/{BATCH}={batch}"
