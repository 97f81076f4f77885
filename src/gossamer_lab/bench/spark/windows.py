"""Windows over a history: `subscribe` beside the query that one would write by hand."""

import math
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from gossamer.spark import subscribe
from gossamer_lab.bench.spark import archives
from gossamer_lab.bench.spark.comparison import Comparison, compare
from gossamer_lab.bench.spark.source_reads import drop

WANTED: Final = 0.8
# Sums are exact in one of the two, and of doubles in the other.
TOLERANCE: Final = 1e-9

FUNCTIONS: Final = {"AVG": F.avg, "MAX": F.max, "COUNT": F.count}


class OtherResult(Exception):
    """The two queries do not say the same: there is nothing to compare."""


def measure(
    spark: SparkSession, folder: Path, readings: int, topics: int, repeat: int
) -> Iterator[Comparison]:
    archives.fill(folder, readings, topics, archives.numbers(), seals=True)
    source = spark.read.parquet(archives.sealed_files(folder))
    for keyword in FUNCTIONS:
        ours = subscribe(spark, f"$HOURLY{keyword}/plant/#", source)
        theirs = by_hand(source, keyword)
        check(ours, theirs)
        yield compare(
            f"hourly {keyword} of {topics:,} topics",
            readings,
            lambda ours=ours: drop(ours),  # type: ignore[misc]
            lambda theirs=theirs: drop(theirs),  # type: ignore[misc]
            repeat=repeat,
            wanted=WANTED,
        )


def by_hand(source: DataFrame, keyword: str) -> DataFrame:
    """The same rows: end of the window, topic, and the value as a text and as a number."""
    value: Column = F.col("payload").cast("string").try_cast("double")
    groups = source.where(F.col("topic").startswith("plant/")).groupBy(
        "topic", F.window("time", "1 hour")
    )
    found = groups.agg(FUNCTIONS[keyword](value).cast("double").alias("value"))
    return found.select(
        F.col("window.end").alias("time"),
        F.concat(F.lit(f"$HOURLY{keyword}/"), F.col("topic")).alias("topic"),
        F.col("value").cast("string").cast("binary").alias("payload"),
        "value",
    )


def check(ours: DataFrame, theirs: DataFrame) -> None:
    """Raises OtherResult."""
    both = [{(row.topic, row.time): row.value for row in one.collect()} for one in (ours, theirs)]
    if both[0].keys() != both[1].keys():
        raise OtherResult("the windows of the two queries are not the same")
    for key, value in both[0].items():
        if not math.isclose(value, both[1][key], rel_tol=TOLERANCE):
            raise OtherResult(f"{key}: {value} and {both[1][key]}")
