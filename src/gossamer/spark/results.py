"""The rows that operators make: `time`, `topic`, `payload` and, where it is a number, `value`."""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from gossamer.plus.limits import MAX_TOPIC_BYTES
from gossamer.plus.nodes import OperatorPlan
from gossamer.plus.replies import AGGREGATE
from gossamer.spark.aggregates import VALUE, written
from gossamer.spark.rules import admits
from gossamer.spark.topics import reply_parts

COLUMNS: Final = ("time", "topic", "payload", "value")


def forwarded(frame: DataFrame, topic: Column, value: Column) -> DataFrame:
    """Messages passed on under another topic; those whose topic would be too long are left out."""
    named = frame.select("time", topic.alias("topic"), "payload", value.alias("value"))
    return named.where(_fits(F.col("topic")))


def of_groups(
    frame: DataFrame, plan: OperatorPlan, keyword: str, time: Column, topic: Column
) -> DataFrame:
    """The groups' values that pass the outer rules."""
    value = F.col(VALUE)
    passed = frame.where(value.isNotNull() & admits(plan.outer, value))
    text = written(keyword, value).cast("binary")
    named = passed.select(time.alias("time"), topic.alias("topic"), text.alias("payload"), value)
    return named.where(_fits(F.col("topic")))


def participants(plan: OperatorPlan, topic: Column) -> list[Column]:
    """To collect in each group: the names that stand for each wildcard."""
    return [
        F.sort_array(F.collect_set(part)).alias(f"names{at}")
        for at, part in reply_parts(plan.filter, topic)
    ]


def reply_topic(plan: OperatorPlan, names_participants: bool) -> Column:
    """The topic of an aggregate over topics, from what `participants` collected."""
    levels = plan.filter.split("/")
    fixed = [AGGREGATE if level in ("+", "#") else level for level in levels]
    single = F.lit("/".join([plan.chain, *fixed]))
    if not names_participants:
        return single
    named = [
        F.array_join(F.col(f"names{at}"), ";") if level in ("+", "#") else F.lit(level)
        for at, level in enumerate(levels)
    ]
    full = F.concat_ws("/", F.lit(plan.chain), *named)
    return F.when(_fits(full), full).otherwise(single)


def _fits(topic: Column) -> Column:
    return F.octet_length(topic) <= MAX_TOPIC_BYTES
