"""The operators of `plus/registry.py` as column expressions, or the reason why one has none.

A rule gives a verdict on a message, or says whether a result of an aggregate is let through. An
aggregate says what to collect of a group, and the value that this makes. Windows and processors
need no expression of their own: what the registry says of one is enough to compile any.
"""

import operator
from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from gossamer.plus.operators.avg import Average
from gossamer.plus.operators.sum import Sum
from gossamer.plus.plan import OperatorPlan, PlusError, RuleNode
from gossamer.plus.rules import FAILS, PASSES, SKIPPED
from gossamer.spark.compiler import exact_sums
from gossamer.spark.compiler.payloads import PayloadColumns, name_of
from gossamer.spark.compiler.topics import fits
from gossamer.spark.compiler.values import write_number

T = TypeVar("T")
Comparison = Callable[[Any, Any], Column]

VALUE: Final = "value"
ORDER: Final = "order"

_COMMON: Final = "common"
_ODD: Final = "odd"
_SQUARE: Final = "square"
_ERROR: Final = "square_error"

# Ranks, from 1, as in `plus/operators/quantile.py`.
_LOW: Final = "(count + 1) div 2"
_HIGH: Final = "count div 2 + 1"
_P95: Final = "(count * 95 + 99) div 100"

# Operators of the registry that have no meaning here, and why.
NOT_COMPILED: Final = {
    "plus_every": "a history has every result, and a stream as many as its trigger asks for",
    "plus_least": "whoever reads the archive has the values of which results would tell nothing",
}


class RuleExpression:
    """Of a column and the operand; None where a rule has no such comparison."""

    def __init__(self, numbers: Comparison | None, texts: Comparison | None) -> None:
        self.numbers = numbers
        self.texts = texts


class AggregateExpression:
    """`prepare` adds the columns that `parts` collects in each group; `value` reads those.

    Over time the broker estimates quantiles, so that `over_time` is another reading of them.
    """

    def __init__(
        self,
        parts: Callable[[], list[Column]],
        value: Callable[[], Column],
        over_time: Callable[[], Column] | None = None,
        prepare: Callable[[DataFrame], DataFrame] | None = None,
        write: Callable[[Column], Column] = write_number,
    ) -> None:
        self.parts = parts
        self.value = value
        self.over_time = over_time if over_time is not None else value
        self.prepare = prepare if prepare is not None else lambda frame: frame
        self.write = write  # the text of a result


def _found() -> Column:
    return F.col("found")


def _order() -> Column:
    """Null for rows without a value: those do not take part."""
    return F.when(F.col(VALUE).isNotNull(), F.col(ORDER))


def _with_limbs(frame: DataFrame) -> DataFrame:
    return exact_sums.with_limbs(frame, VALUE)


def _with_squares(frame: DataFrame) -> DataFrame:
    squared = exact_sums.with_square(frame, VALUE, _COMMON, _ODD, _SQUARE, _ERROR)
    return exact_sums.with_limbs(squared, _COMMON, _SQUARE, _ERROR)


def _squared_parts() -> list[Column]:
    return [*_sums(_COMMON, _SQUARE, _ERROR), F.collect_list(_ODD).alias(_ODD)]


def _sums(*values: str) -> list[Column]:
    return [part for value in values for part in exact_sums.sums(value)]


def _sorted() -> list[Column]:
    return [F.sort_array(F.collect_list(VALUE)).alias("sorted")]


def _at(rank: str) -> Column:
    return F.element_at("sorted", F.expr(rank).cast("int"))


def _median() -> Column:
    low, high = _at(_LOW), _at(_HIGH)
    return F.when(low == high, low).otherwise(low / 2 + high / 2)


RULES: Final = {
    "EQ": RuleExpression(operator.eq, operator.eq),
    "NEQ": RuleExpression(operator.ne, operator.ne),
    "GT": RuleExpression(operator.gt, None),
    "GTE": RuleExpression(operator.ge, None),
    "LT": RuleExpression(operator.lt, None),
    "LTE": RuleExpression(operator.le, None),
    "CONTAINS": RuleExpression(None, lambda text, operand: text.contains(operand)),
}
AGGREGATES: Final = {
    "COUNT": AggregateExpression(
        list,
        lambda: F.col("count").cast("double"),
        write=lambda value: value.cast("bigint").cast("string"),
    ),
    "SUM": AggregateExpression(
        lambda: _sums(VALUE), lambda: exact_sums.rounded_total(Sum, VALUE), prepare=_with_limbs
    ),
    "AVG": AggregateExpression(
        lambda: _sums(VALUE), lambda: exact_sums.rounded_total(Average, VALUE), prepare=_with_limbs
    ),
    "MIN": AggregateExpression(lambda: [F.min(VALUE).alias("found")], _found),
    "MAX": AggregateExpression(lambda: [F.max(VALUE).alias("found")], _found),
    "STDDEV": AggregateExpression(
        _squared_parts,
        lambda: exact_sums.rounded_deviation(_COMMON, _ODD, _SQUARE, _ERROR),
        prepare=_with_squares,
    ),
    "MEDIAN": AggregateExpression(
        _sorted, _median, lambda: exact_sums.estimated_quantile(50, _at(_LOW), _at(_HIGH))
    ),
    "P95": AggregateExpression(
        _sorted, lambda: _at(_P95), lambda: exact_sums.estimated_quantile(95, _at(_P95))
    ),
    "FIRST": AggregateExpression(lambda: [F.min_by(VALUE, _order()).alias("found")], _found),
    "LAST": AggregateExpression(lambda: [F.max_by(VALUE, _order()).alias("found")], _found),
}


def aggregated(
    frame: DataFrame, keys: list[Column], keyword: str, over_time: bool, *more: Column
) -> DataFrame:
    """The groups with their `value`, null where no double can hold it, and with `more` of them.

    The frame has the columns `value` and, for FIRST and LAST, `order`. Rows without a value do not
    count, nor do groups of nothing else; to leave them out before would read each payload twice.
    """
    expression = _compiled(AGGREGATES, keyword)
    groups = expression.prepare(frame).groupBy(*keys)
    collected = groups.agg(F.count(VALUE).alias("count"), *expression.parts(), *more)
    made = expression.over_time() if over_time else expression.value()
    return collected.where("count > 0").withColumn(VALUE, made)


def results_of(
    groups: DataFrame, plan: OperatorPlan, keyword: str, time: Column, topic: Column
) -> DataFrame:
    """The groups' values that pass the outer rules, as rows of time, topic, payload and value."""
    value = F.col(VALUE)
    passed = groups.where(value.isNotNull() & admits(plan.outer, value))
    text = _compiled(AGGREGATES, keyword).write(value).cast("binary")
    named = passed.select(time.alias("time"), topic.alias("topic"), text.alias("payload"), value)
    return named.where(fits(F.col("topic")))


def verdict(rules: tuple[RuleNode, ...], payloads: dict[str, PayloadColumns]) -> Column:
    """PASSES, FAILS or SKIPPED of a conjunction: the innermost that does not pass decides."""
    found = F.lit(PASSES)
    for rule in rules:  # outermost first, so the innermost is asked first in the end
        one = _judge(rule, payloads[name_of(rule.field)])
        found = F.when(one != PASSES, one).otherwise(found)
    return found


def admits(rules: tuple[RuleNode, ...], value: Column) -> Column:
    """For the results of aggregates."""
    found = F.lit(True)
    for rule in rules:
        expression = _compiled(RULES, rule.keyword)
        if rule.number is not None and expression.numbers is not None:
            found = found & expression.numbers(value, F.lit(rule.number))
        else:
            assert expression.texts is not None  # the grammar asks for a number otherwise
            found = found & expression.texts(write_number(value), F.lit(rule.operand))
    return found


def _judge(rule: RuleNode, payload: PayloadColumns) -> Column:
    expression = _compiled(RULES, rule.keyword)
    text = F.lit(SKIPPED)
    if expression.texts is not None:
        passes = expression.texts(payload.text, F.lit(rule.operand))
        text = F.when(payload.text.isNull(), SKIPPED).when(passes, PASSES).otherwise(FAILS)
    if rule.number is None or expression.numbers is None:
        return text
    passes = expression.numbers(payload.number, F.lit(rule.number))
    number = F.when(passes, PASSES).otherwise(FAILS)
    return F.when(payload.number.isNotNull(), number).when(payload.numeric, SKIPPED).otherwise(text)


def _compiled(table: Mapping[str, T], keyword: str) -> T:
    if keyword not in table:
        why = NOT_COMPILED.get(keyword, "nobody has written its column expression")
        raise PlusError(f"${keyword} cannot be computed in Spark: {why}")
    return table[keyword]
