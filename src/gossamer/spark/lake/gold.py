"""Aggregates of readings by topic, field and time, each level from the one below.

A partition is computed anew as a whole from the level below whenever a reading comes that belongs
to it, however late. So nothing is counted twice, and nothing late is left out.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F

from gossamer.spark.lake.tables import DATE, HOUR, Hour, LakeTable, hour_columns

READINGS: Final = "silver/readings"


class GoldLevel(NamedTuple):
    name: str
    width: str
    below: str
    columns: tuple[str, ...]  # that cut it into partitions


LEVELS: Final = (
    GoldLevel("gold/minute", "1 minute", READINGS, (DATE, HOUR)),
    GoldLevel("gold/quarter", "15 minutes", "gold/minute", (DATE, HOUR)),
    GoldLevel("gold/hour", "1 hour", "gold/quarter", (DATE,)),
    GoldLevel("gold/day", "1 day", "gold/hour", (DATE,)),
)

_ORDER: Final = ("time", "broker", "offset")


def recompute(spark: SparkSession, root: str, hours: Iterable[Hour]) -> None:
    """All levels, where readings of these hours take part."""
    by_hour = sorted({hour.path for hour in hours})
    by_date = sorted({f"{DATE}={hour.date}" for hour in hours})
    for level in LEVELS:
        parts = by_hour if HOUR in level.columns else by_date
        below = LakeTable(root, level.below).read_parts(spark, parts)
        if below is None:
            continue
        combine = first_level if level.below == READINGS else next_level
        rows = combine(below, F.window("time" if level.below == READINGS else "start", level.width))
        cut = {name: hour_columns(F.col("start"))[name] for name in level.columns}
        rows = rows.withColumns(cut).repartition(*level.columns)
        sorted_rows = rows.sortWithinPartitions(*level.columns, "topic", "field", "start")
        LakeTable(root, level.name, *level.columns).replace(sorted_rows)


def first_level(readings: DataFrame, window: Column) -> DataFrame:
    number = F.col("number")
    order = F.when(number.isNotNull(), F.struct(*_ORDER))
    return _named(
        readings.groupBy("topic", "field", window.alias("window")).agg(
            F.count(number).alias("count"),
            (F.count("*") - F.count(number)).alias("others"),
            F.min(number).alias("min"),
            F.max(number).alias("max"),
            F.sum(number).alias("sum"),
            F.min_by(number, order).alias("first"),
            F.max_by(number, order).alias("last"),
            F.max("time").alias("last_time"),
        )
    )


def next_level(below: DataFrame, window: Column) -> DataFrame:
    order = F.when(F.col("count") > 0, F.col("start"))
    return _named(
        below.groupBy("topic", "field", window.alias("window")).agg(
            F.sum("count").alias("count"),
            F.sum("others").alias("others"),
            F.min("min").alias("min"),
            F.max("max").alias("max"),
            F.sum("sum").alias("sum"),
            F.min_by("first", order).alias("first"),
            F.max_by("last", order).alias("last"),
            F.max("last_time").alias("last_time"),
        )
    )


def _named(groups: DataFrame) -> DataFrame:
    return groups.select(
        "topic",
        "field",
        F.col("window.start").alias("start"),
        F.col("window.end").alias("end"),
        "count",
        "others",
        "min",
        "max",
        "sum",
        (F.col("sum") / F.when(F.col("count") > 0, F.col("count"))).alias("avg"),
        "first",
        "last",
        "last_time",
    )
