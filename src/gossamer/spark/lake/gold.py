"""Aggregates of readings by topic, field and time, each level from the one below.

A partition is computed anew as a whole from the level below whenever a reading comes that belongs
to it, however late. So nothing is counted twice, and nothing late is left out.
"""

from collections.abc import Iterable, Mapping
from typing import Final, NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from gossamer.spark.lake.files import DATE, HOUR
from gossamer.spark.lake.readings import READINGS
from gossamer.spark.lake.tables import LakeTable, cut_of, hours_of

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
    cut: str  # into parts


LEVELS: Final = (
    GoldLevel("gold/minute", "1 minute", READINGS, HOUR),
    GoldLevel("gold/quarter", "15 minutes", "gold/minute", HOUR),
    GoldLevel("gold/hour", "1 hour", "gold/quarter", DATE),
    GoldLevel("gold/day", "1 day", "gold/hour", DATE),
)
# What a level reads of the one below.
_OF_READINGS: Final = ("topic", "field", "time", "number", "broker", "offset")


def recompute(spark: SparkSession, tables: Mapping[str, LakeTable], hours: Iterable[str]) -> None:
    """All levels, where readings of these hours take part."""
    by_hour = sorted(set(hours))
    by_date = sorted({hour.partition("T")[0] for hour in by_hour})
    parts = {HOUR: by_hour, DATE: by_date}
    for level in LEVELS:
        below = tables[level.below]
        columns = _OF_READINGS if level.below == READINGS else ()
        # A day takes all of its hours, also those that did not change.
        wanted = hours_of(by_date) if (below.cut, level.cut) == (HOUR, DATE) else parts[level.cut]
        rows = below.read(spark, wanted, *columns)
        if rows is not None:
            made = aggregates(rows, level).withColumn(level.cut, cut_of(F.col("start"), level.cut))
            made = made.repartition(level.cut).sortWithinPartitions("topic", "field", "start")
            tables[level.name].replace(made, parts[level.cut])


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
