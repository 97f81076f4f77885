"""Aggregates over topics, of a history: at each message, the last valid values of all that match.

A value takes part from its message until the topic's next one, or until it is no longer valid. Time
is cut into buckets; a value is put into every bucket that it lives in, and each message looks only
at its own. The cost is one row for each result and each topic that takes part in it.
"""

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from gossamer.plus.nodes import OperatorPlan
from gossamer.plus.rules import PASSES, SKIPPED
from gossamer.spark.aggregates import ORDER, VALUE, aggregated
from gossamer.spark.messages import order
from gossamer.spark.readings import name_of, read
from gossamer.spark.results import of_groups, participants, reply_topic
from gossamer.spark.rules import verdict
from gossamer.spark.validity import seconds, valid_until

# Of so many parts is the implicit validity: a value that is not renewed is copied into each.
_BUCKETS: Final = 4


def spatial_results(
    frame: DataFrame, plan: OperatorPlan, names_participants: bool, implicit_ttl: float
) -> DataFrame:
    spatial = plan.spatial
    assert spatial is not None
    events = _events(frame, plan, implicit_ttl)
    width = max(implicit_ttl / _BUCKETS, 1.0)
    answers = events.where("answers").select(
        F.col("now").alias("at"), F.col(ORDER).alias("point"), _bucket("now", width)
    )
    joined = answers.join(_lives(events, width), "bucket").where(
        (F.col(ORDER) <= F.col("point"))
        & (F.col("next").isNull() | (F.col("next") > F.col("point")))
        & (F.col("expires") > F.col("at"))
    )
    groups = aggregated(
        joined,
        [F.col("point")],
        spatial.function,
        False,
        *(participants(plan, F.col("topic")) if names_participants else []),
    )
    topic = reply_topic(plan, names_participants)
    return of_groups(groups, plan, spatial.function, F.col("point.time"), topic)


def _events(frame: DataFrame, plan: OperatorPlan, implicit_ttl: float) -> DataFrame:
    """The messages that change what takes part, or may; `answers` if a result is due."""
    spatial = plan.spatial
    assert spatial is not None
    frame, readings = read(frame, [spatial.field, *(rule.field for rule in plan.inner)])
    number = readings[name_of(spatial.field)].number
    judged = frame.select(
        "topic",
        order().alias(ORDER),
        seconds(F.col("time")).alias("now"),
        number.alias(VALUE),
        verdict(plan.inner, readings).alias("verdict"),
        valid_until(implicit_ttl).alias("expires"),
    )
    known = judged.where((F.col("verdict") != SKIPPED) & F.col(VALUE).isNotNull())
    part = (F.col("verdict") == PASSES) & (F.col("expires") > F.col("now"))
    line = Window.partitionBy("topic").orderBy(ORDER)
    took_part = F.lag("part").over(line) & (F.lag("expires").over(line) > F.col("now"))
    return known.withColumn("part", part).select(
        "*",
        F.lead(ORDER).over(line).alias("next"),
        # Who takes part no more changes the result too.
        (F.col("part") | F.coalesce(took_part, F.lit(False))).alias("answers"),
    )


def _lives(events: DataFrame, width: float) -> DataFrame:
    """The values that take part, once for each bucket in which they live."""
    last = events.agg(F.max("now").alias("last"))
    values = events.where("part").crossJoin(F.broadcast(last))
    ends = F.least(F.col("expires"), seconds(F.col("next.time")), F.col("last"))
    buckets = F.sequence(F.floor(F.col("now") / width), F.floor(ends / width))
    return values.select(
        "topic", VALUE, ORDER, "next", "expires", F.explode(buckets).alias("bucket")
    )


def _bucket(now: str, width: float) -> Column:
    return F.floor(F.col(now) / width).alias("bucket")
