"""Aggregates of readings by topic, field and time, each level from the one below.

A partition is computed anew as a whole from the level below whenever a reading comes that belongs
to it, however late. So nothing is counted twice, and nothing late is left out.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from gossamer.spark.lake.tables import DATE, HOUR, Hour, LakeTable, hour_columns

READINGS: Final = "silver/readings"

# What a row holds: of readings, and of the rows of the level below. Rows without a number have no
# part in the first and the last.
_COLUMNS: Final = {
    "count": ("count(number)", "sum(`count`)"),
    "others": ("count(*) - count(number)", "sum(others)"),
    "min": ("min(number)", "min(`min`)"),
    "max": ("max(number)", "max(`max`)"),
    "sum": ("sum(number)", "sum(`sum`)"),
    "avg": ("sum(number) / nullif(count(number), 0)", "sum(`sum`) / nullif(sum(`count`), 0)"),
    "first": (
        "min_by(number, if(number is null, null, struct(time, broker, offset)))",
        "min_by(`first`, if(`count` = 0, null, start))",
    ),
    "last": (
        "max_by(number, if(number is null, null, struct(time, broker, offset)))",
        "max_by(`last`, if(`count` = 0, null, start))",
    ),
    "last_time": ("max(time)", "max(last_time)"),
}


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


def recompute(spark: SparkSession, root: str, hours: Iterable[Hour]) -> None:
    """All levels, where readings of these hours take part."""
    by_hour = sorted({hour.path for hour in hours})
    by_date = sorted({f"{DATE}={hour.date}" for hour in hours})
    for level in LEVELS:
        parts = by_hour if HOUR in level.columns else by_date
        below = LakeTable(root, level.below).read_parts(spark, parts)
        if below is None:
            continue
        rows = aggregates(below, level)
        cut = {name: hour_columns(F.col("start"))[name] for name in level.columns}
        rows = rows.withColumns(cut).repartition(*level.columns)
        sorted_rows = rows.sortWithinPartitions(*level.columns, "topic", "field", "start")
        LakeTable(root, level.name, *level.columns).replace(sorted_rows)


def aggregates(below: DataFrame, level: GoldLevel) -> DataFrame:
    """The rows of a level: of each topic, field and window."""
    of_readings = level.below == READINGS
    window = F.window("time" if of_readings else "start", level.width)
    columns = [
        F.expr(from_readings if of_readings else from_below).alias(name)
        for name, (from_readings, from_below) in _COLUMNS.items()
    ]
    groups = below.groupBy("topic", "field", window.alias("window")).agg(*columns)
    return groups.select("topic", "field", "window.start", "window.end", *_COLUMNS)
