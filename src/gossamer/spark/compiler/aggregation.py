"""Aggregates over time, and over the topics of a history.

Over topics, a value takes part from its message until the topic's next one, or until it is no
longer valid. Time is cut into buckets; a value is put into every bucket that it lives in, and each
message looks only at its own. The cost is one row for each result and each topic that takes part in
it. (Of a stream, `spatial_stream.py` computes the same.)
"""

from typing import Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from gossamer.plus.operators.windows import SessionWindow
from gossamer.plus.plan import OperatorPlan, TemporalNode
from gossamer.plus.rules import PASSES, SKIPPED
from gossamer.spark.compiler.expressions import (
    ORDER,
    VALUE,
    admits,
    aggregated,
    results_of,
    verdict,
)
from gossamer.spark.compiler.payloads import name_of, read
from gossamer.spark.compiler.topics import address, participants, reply_topic
from gossamer.spark.compiler.values import seconds, valid_until
from gossamer.spark.compiler.windows import WINDOW_TIME, window_end, window_of
from gossamer.spark.fences.fence import OUTSIDE

# Of so many parts is the implicit validity: a value that is not renewed is copied into each.
_BUCKETS: Final = 4


def temporal_results(frame: DataFrame, plan: OperatorPlan, names_participants: bool) -> DataFrame:
    """`frame` are the messages that the plan reads, with a watermark if it is a stream."""
    temporal = plan.temporal
    assert temporal is not None
    windows = _windows(frame, temporal)
    end = window_end(temporal.window, F.col("window.end"))
    if plan.spatial is None:
        topic = address(plan, F.col("topic"))
        return results_of(windows, plan, temporal.function, end, topic)
    taking_part = windows.where(F.col(VALUE).isNotNull() & admits(plan.inner, F.col(VALUE)))
    # They all end at once, so FIRST and LAST go by the topics' names.
    ended = taking_part.select("window", "topic", VALUE, F.col("topic").alias(ORDER))
    return _over_topics(ended, plan, "window", end, names_participants)


def _windows(frame: DataFrame, temporal: TemporalNode) -> DataFrame:
    field = temporal.field
    frame, readings = read(frame, [field])
    number = readings[name_of(field)].number
    valued = frame.select(WINDOW_TIME, "topic", number.alias(VALUE), order().alias(ORDER))
    if isinstance(temporal.window, SessionWindow):
        valued = valued.where(F.col(VALUE).isNotNull())  # what does not count extends none
    keys = [F.col("topic"), window_of(temporal.window)]
    return aggregated(valued, keys, temporal.function, over_time=True)


def _over_topics(
    frame: DataFrame, plan: OperatorPlan, group: str, time: Column, names_participants: bool
) -> DataFrame:
    """The spatial aggregate of each group."""
    assert plan.spatial is not None
    function = plan.spatial.function
    names = participants(plan, F.col("topic")) if names_participants else []
    groups = aggregated(frame, [F.col(group)], function, False, *names)
    topic = reply_topic(plan, names_participants)
    # Several results may have one time: what comes after them needs their order.
    is_ordered = bool(plan.after) and group == "point"
    more = [F.col("point.broker"), F.col("point.offset")] if is_ordered else []
    return results_of(groups, plan, function, time, topic, *more)


def order() -> Column:
    """In which messages count as earlier and later."""
    return F.struct("time", "broker", "offset")


def spatial_results(
    frame: DataFrame, plan: OperatorPlan, names_participants: bool, implicit_ttl: float
) -> DataFrame:
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
    return _over_topics(joined, plan, "point", F.col("point.time"), names_participants)


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
        outside_in(frame),
    )
    # Who publishes outside the area takes part no more, whatever that is.
    is_known = (F.col("verdict") != SKIPPED) & F.col(VALUE).isNotNull()
    known = judged.where(F.col(OUTSIDE) | is_known)
    passes = (F.col("verdict") == PASSES) & (F.col("expires") > F.col("now"))
    part = ~F.col(OUTSIDE) & passes
    line = Window.partitionBy("topic").orderBy(ORDER)
    took_part = F.lag("part").over(line) & (F.lag("expires").over(line) > F.col("now"))
    return known.withColumn("part", part).select(
        "*",
        F.lead(ORDER).over(line).alias("next"),
        # Who takes part no more changes the result too.
        (F.col("part") | F.coalesce(took_part, F.lit(False))).alias("answers"),
    )


def outside_in(frame: DataFrame) -> Column:
    """Whether a message is outside the area of the subscription, if it has one."""
    found = F.col(OUTSIDE) if OUTSIDE in frame.columns else F.lit(False)
    return found.alias(OUTSIDE)


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
