"""Aggregates over time: each topic's values in each window, and over topics what these make."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from gossamer.plus.nodes import OperatorPlan, TemporalNode
from gossamer.spark.aggregates import ORDER, VALUE, aggregated
from gossamer.spark.messages import order
from gossamer.spark.readings import name_of, read
from gossamer.spark.results import of_groups, participants, reply_topic
from gossamer.spark.rules import admits

_MICROSECONDS = 1_000_000


def temporal_results(frame: DataFrame, plan: OperatorPlan, names_participants: bool) -> DataFrame:
    """`frame` are the messages that the plan reads, with a watermark if it is a stream."""
    temporal = plan.temporal
    assert temporal is not None
    windows = _windows(frame, temporal)
    if plan.spatial is None:
        topic = F.concat(F.lit(plan.chain + "/"), F.col("topic"))
        return of_groups(windows, plan, temporal.function, F.col("window.end"), topic)
    taking_part = windows.where(F.col(VALUE).isNotNull() & admits(plan.inner, F.col(VALUE)))
    folded = aggregated(
        # They all end at once, so FIRST and LAST go by the topics' names.
        taking_part.select("window", "topic", VALUE, F.col("topic").alias(ORDER)),
        [F.col("window")],
        plan.spatial.function,
        False,
        *(participants(plan, F.col("topic")) if names_participants else []),
    )
    topic = reply_topic(plan, names_participants)
    return of_groups(folded, plan, plan.spatial.function, F.col("window.end"), topic)


def _windows(frame: DataFrame, temporal: TemporalNode) -> DataFrame:
    field = temporal.field
    frame, readings = read(frame, [field])
    number = readings[name_of(field)].number
    valued = frame.select("time", "topic", number.alias(VALUE), order().alias(ORDER))
    length = f"{round(temporal.window.seconds * _MICROSECONDS)} microseconds"
    return aggregated(
        valued,
        [F.col("topic"), F.window("time", length)],
        temporal.function,
        True,
    )
