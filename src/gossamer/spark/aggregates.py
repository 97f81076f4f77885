"""The aggregate functions as columns: what to collect of a group, and the value it makes."""

from collections.abc import Callable
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from gossamer.spark import rounded_results as rounding
from gossamer.spark.numbers import write_number
from gossamer.spark.sums import sums, with_limbs, with_square

VALUE: Final = "value"
ORDER: Final = "order"

_SQUARE: Final = "square"
_ERROR: Final = "square_error"


class Function:
    """`prepare` adds the columns that `parts` collects in each group; `value` reads those.

    Over time the broker estimates quantiles, so that `over_time` is another reading of them.
    """

    def __init__(
        self,
        parts: Callable[[], list[Column]],
        value: Callable[[], Column],
        over_time: Callable[[], Column] | None = None,
        prepare: Callable[[DataFrame], DataFrame] | None = None,
    ) -> None:
        self.parts = parts
        self.value = value
        self.over_time = over_time if over_time is not None else value
        self.prepare = prepare if prepare is not None else lambda frame: frame


def aggregated(
    frame: DataFrame, keys: list[Column], keyword: str, over_time: bool, *more: Column
) -> DataFrame:
    """The groups with their `value`, null where no double can hold it, and with `more` of them.

    The frame has the columns `value` and, for FIRST and LAST, `order`. Rows without a value do not
    count, nor do groups of nothing else; to leave them out before would read each payload twice.
    """
    function = FUNCTIONS[keyword]
    groups = function.prepare(frame).groupBy(*keys)
    collected = groups.agg(F.count(VALUE).alias("count"), *function.parts(), *more)
    made = function.over_time() if over_time else function.value()
    return collected.where("count > 0").withColumn(VALUE, made)


def written(keyword: str, value: Column) -> Column:
    """The text of a result."""
    return value.cast("bigint").cast("string") if keyword == "COUNT" else write_number(value)


def _found() -> Column:
    return F.col("found")


def _order() -> Column:
    """Null for rows without a value: those do not take part."""
    return F.when(F.col(VALUE).isNotNull(), F.col(ORDER))


def _with_limbs(frame: DataFrame) -> DataFrame:
    return with_limbs(frame, VALUE)


def _with_squares(frame: DataFrame) -> DataFrame:
    return with_limbs(with_square(frame, VALUE, _SQUARE, _ERROR), VALUE, _SQUARE, _ERROR)


def _sorted() -> list[Column]:
    return [F.sort_array(F.collect_list(VALUE)).alias("sorted")]


def _at(rank: str) -> Column:
    return F.element_at("sorted", F.expr(rank).cast("int"))


_LOW: Final = "(count + 1) div 2"
_HIGH: Final = "count div 2 + 1"
_P95: Final = "(count * 95 + 99) div 100"


def _median() -> Column:
    low, high = _at(_LOW), _at(_HIGH)
    return F.when(low == high, low).otherwise(low / 2 + high / 2)


FUNCTIONS: Final = {
    "COUNT": Function(list, lambda: F.col("count").cast("double")),
    "SUM": Function(lambda: sums(VALUE), lambda: rounding.rounded_sum(VALUE), None, _with_limbs),
    "AVG": Function(
        lambda: sums(VALUE), lambda: rounding.rounded_average(VALUE), None, _with_limbs
    ),
    "MIN": Function(lambda: [F.min(VALUE).alias("found")], _found),
    "MAX": Function(lambda: [F.max(VALUE).alias("found")], _found),
    "STDDEV": Function(
        lambda: [*sums(VALUE), *sums(_SQUARE), *sums(_ERROR)],
        lambda: rounding.rounded_deviation(VALUE, _SQUARE, _ERROR),
        None,
        _with_squares,
    ),
    "MEDIAN": Function(_sorted, _median, lambda: rounding.estimated_median(_at(_LOW), _at(_HIGH))),
    "P95": Function(_sorted, lambda: _at(_P95), lambda: rounding.estimated_p95(_at(_P95))),
    "FIRST": Function(lambda: [F.min_by(VALUE, _order()).alias("found")], _found),
    "LAST": Function(lambda: [F.max_by(VALUE, _order()).alias("found")], _found),
}
