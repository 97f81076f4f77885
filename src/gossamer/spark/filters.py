"""Rules alone: each message passes or does not."""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from gossamer.plus.nodes import OperatorPlan
from gossamer.plus.rules import PASSES
from gossamer.spark.readings import read
from gossamer.spark.results import forwarded
from gossamer.spark.rules import verdict


def filtered(frame: DataFrame, plan: OperatorPlan) -> DataFrame:
    frame, readings = read(frame, [None, *(rule.field for rule in plan.outer)])
    passed = frame.where(verdict(plan.outer, readings) == PASSES)
    topic = F.concat(F.lit(plan.chain + "/"), F.col("topic"))
    return forwarded(passed, topic, readings[""].number)


def plain(frame: DataFrame) -> DataFrame:
    """An ordinary subscription: the messages as they are."""
    frame, readings = read(frame, [None])
    return forwarded(frame, F.col("topic"), readings[""].number)
