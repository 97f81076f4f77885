"""Aggregates over windows of time, and over what topics were in each of them.

(Those over the last values of topics are in `spatial_history.py` and `spatial_stream.py`.)
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from gossamer.plus.operators.windows import SessionWindow
from gossamer.plus.plan import OperatorPlan, TemporalNode
from gossamer.spark.compiler.expressions import (
    ORDER,
    VALUE,
    admits,
    aggregated,
    results_of,
)
from gossamer.spark.compiler.payloads import name_of, read
from gossamer.spark.compiler.topics import address, participants, reply_topic
from gossamer.spark.compiler.windows import WINDOW_TIME, window_end, window_of


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
    return _over_topics(ended, plan, end, names_participants)


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
    frame: DataFrame, plan: OperatorPlan, end: Column, names_participants: bool
) -> DataFrame:
    """The spatial aggregate of each window."""
    assert plan.spatial is not None
    function = plan.spatial.function
    names = participants(plan, F.col("topic")) if names_participants else []
    groups = aggregated(frame, [F.col("window")], function, False, *names)
    topic = reply_topic(plan, names_participants)
    return results_of(groups, plan, function, end, topic)


def order() -> Column:
    """In which messages count as earlier and later."""
    return F.struct("time", "broker", "offset")
