"""Histories as DataFrames, whole and as files that a stream reads one by one."""

import os
from datetime import timedelta
from pathlib import Path

from pyspark.sql import DataFrame, SparkSession

from tests.support.histories import Row

SCHEMA = (
    "broker string, offset bigint, time timestamp, topic string, payload binary, expiry bigint, "
    "user_properties map<string,string>"
)
COLUMNS = ("broker", "offset", "time", "topic", "payload", "expiry", "user_properties")


def frame_of(spark: SparkSession, rows: list[Row]) -> DataFrame:
    return spark.createDataFrame([tuple(row[name] for name in COLUMNS) for row in rows], SCHEMA)


def in_files(spark: SparkSession, rows: list[Row], folder: Path, files: int) -> DataFrame:
    """A stream of the rows, a file a batch; a last row of another topic ends every window."""
    folder.mkdir()
    size = -(-len(rows) // files)
    end = {**rows[-1], "topic": "the/end", "time": rows[-1]["time"] + timedelta(days=10)}
    pieces = [rows[at : at + size] for at in range(0, len(rows), size)]
    for at, piece in enumerate([*pieces, [end]]):
        written = folder.parent / f"piece{at}"
        frame_of(spark, piece).coalesce(1).write.parquet(str(written))
        (source,) = written.glob("*.parquet")
        target = folder / f"{at:04}.parquet"
        source.rename(target)
        os.utime(target, (1e9 + at, 1e9 + at))  # files are read in the order of their age
    return spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1).parquet(str(folder))
