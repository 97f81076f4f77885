"""Rules as columns: verdicts on messages, and whether a result of an aggregate is let through."""

from collections.abc import Callable
from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as F

from gossamer.plus.nodes import RuleNode
from gossamer.plus.rules import FAILS, PASSES, RULES_BY_KEYWORD, SKIPPED
from gossamer.spark.numbers import write_number
from gossamer.spark.readings import PayloadColumns, name_of

_TEXTS: Final[dict[str, Callable[[Column, Column], Column]]] = {
    "EQ": lambda text, operand: text == operand,
    "NEQ": lambda text, operand: text != operand,
    "CONTAINS": lambda text, operand: text.contains(operand),
}


def verdict(rules: tuple[RuleNode, ...], readings: dict[str, PayloadColumns]) -> Column:
    """PASSES, FAILS or SKIPPED of a conjunction: the innermost that does not pass decides."""
    found = F.lit(PASSES)
    for rule in rules:  # outermost first, so the innermost is asked first in the end
        reading = readings[name_of(rule.field)]
        one = _judge(rule, reading)
        found = F.when(one != PASSES, one).otherwise(found)
    return found


def admits(rules: tuple[RuleNode, ...], value: Column) -> Column:
    """For the results of aggregates."""
    found = F.lit(True)
    for rule in rules:
        compare = RULES_BY_KEYWORD[rule.keyword].numbers
        if rule.number is not None and compare is not None:
            found = found & _compared(rule, value)
        else:
            found = found & _TEXTS[rule.keyword](write_number(value), F.lit(rule.operand))
    return found


def _judge(rule: RuleNode, reading: PayloadColumns) -> Column:
    kind = RULES_BY_KEYWORD[rule.keyword]
    text = (
        F.when(reading.text.isNull(), SKIPPED)
        .when(_TEXTS[rule.keyword](reading.text, F.lit(rule.operand)), PASSES)
        .otherwise(FAILS)
        if kind.texts is not None
        else F.lit(SKIPPED)
    )
    if rule.number is None or kind.numbers is None:
        return text
    number = F.when(_compared(rule, reading.number), PASSES).otherwise(FAILS)
    return F.when(reading.number.isNotNull(), number).when(reading.numeric, SKIPPED).otherwise(text)


def _compared(rule: RuleNode, value: Column) -> Column:
    compare: Callable[[object, object], object] | None = RULES_BY_KEYWORD[rule.keyword].numbers  # type: ignore[assignment]
    assert compare is not None
    found = compare(value, F.lit(rule.number))
    assert isinstance(found, Column)
    return found
