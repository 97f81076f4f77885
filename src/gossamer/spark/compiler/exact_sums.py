"""Sums without rounding, by Spark's own integers, as `plus/operators/exact_sum.py` has them.

A double is cut into five limbs of 32 bits, and each limb is summed as an integer. They reach from
2**62 down to 2**-96. What is smaller (`rest`) or larger (`wide`) is summed as doubles, as any Spark
query does: the rest has 53 bits of its own below the limbs, so readings of 0.001 and more lose
nothing at all. For deviations wide numbers and those next to zero (`odd`) are collected as they
are: no double holds the squares of some, and nobody measures many of them.

The sums become the double that the broker would send by the broker's own code: once for each
result, never for a message. That runs on the executors, on whole Arrow batches.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import pandas as pd
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import pandas_udf

from gossamer.plus.operators.exact_sum import ExactSum, shift_of
from gossamer.plus.operators.quantile import RunningQuantile
from gossamer.plus.operators.stddev import Deviation
from gossamer.plus.operators.sum import Sum
from gossamer.plus.values import INFINITY

Numbers = tuple[int | float, ...]

LIMB_BITS: Final = 32
FRACTIONS: Final = 3  # limbs behind the point
FINEST: Final = LIMB_BITS * FRACTIONS
_LIMB: Final = float(1 << LIMB_BITS)
_LOW_BITS: Final = (1 << LIMB_BITS) - 1
_WIDE: Final = float(1 << 62)  # beyond it a cast to 64 bits may fail

_NEXT_TO_ZERO: Final = 2.0**-400  # what the rounding of its square loses may be no double

# Two factors of 26 bits each: the product of two of them is exact (Veltkamp's splitting).
_SPLITTER: Final = float((1 << 27) + 1)

_LIMBS: Final = 2 + FRACTIONS
_PARTS: Final = _LIMBS + 2


def with_limbs(frame: DataFrame, *values: str) -> DataFrame:
    """The frame with what is left of these columns behind each limb, for `sums` to add up."""
    narrow = {value: F.abs(F.col(value)) < _WIDE for value in values}
    wide = {f"{v}_wide": F.when(narrow[v], 0.0).otherwise(F.col(v)) for v in values}
    left = {f"{v}_left": F.when(narrow[v], F.col(v)).otherwise(0.0) for v in values}
    frame = frame.withColumns({**wide, **left})
    behind = ""
    for at in range(FRACTIONS):
        frame = frame.withColumns({f"{v}_left{at}": _behind(f"{v}_left{behind}") for v in values})
        behind = str(at)
    return frame


def _behind(left: str) -> Column:
    """What the limb in front does not hold; cutting it off a double loses nothing."""
    return (F.col(left) - F.col(left).cast("bigint").cast("double")) * _LIMB


def sums(value: str) -> list[Column]:
    """The aggregates of limbs, under the names that `parts_of` gathers."""
    whole = F.col(f"{value}_left").cast("bigint")
    limbs = [F.shiftright(whole, LIMB_BITS), whole.bitwiseAND(F.lit(_LOW_BITS))]
    limbs += [F.col(f"{value}_left{at}").cast("bigint") for at in range(FRACTIONS)]
    last = F.col(f"{value}_left{FRACTIONS - 1}")
    return [
        *(F.sum(limb).alias(f"{value}_{at}") for at, limb in enumerate(limbs)),
        F.sum(last - last.cast("bigint").cast("double")).alias(f"{value}_rest"),
        F.sum(f"{value}_wide").alias(f"{value}_wide"),
    ]


def parts_of(value: str) -> list[Column]:
    """The columns that `sums` made, in the order in which `_add` reads them."""
    names = [f"{value}_{at}" for at in range(2 + FRACTIONS)]
    return [F.col(name) for name in [*names, f"{value}_rest", f"{value}_wide"]]


def with_square(
    frame: DataFrame, value: str, common: str, odd: str, square: str, error: str
) -> DataFrame:
    """The value in one of two columns, as it is common or odd. Of a common one the square, as two
    doubles whose sum is exact: the product, and what its rounding lost."""
    size = F.abs(F.col(value))
    is_odd = (size >= _WIDE) | ((size < _NEXT_TO_ZERO) & (size > 0.0))
    frame = frame.withColumns(
        {
            common: F.when(is_odd, 0.0).otherwise(F.col(value)),
            odd: F.when(is_odd, F.col(value)),
        }
    )
    number = F.col(common)
    frame = frame.withColumns({f"{common}_scaled": number * _SPLITTER, square: number * number})
    scaled = F.col(f"{common}_scaled")
    frame = frame.withColumn(f"{common}_upper", scaled - (scaled - number))
    upper = F.col(f"{common}_upper")
    lower = number - upper
    lost = ((upper * upper - F.col(square)) + upper * lower * 2.0) + lower * lower
    return frame.withColumn(error, lost)


def rounded_total(aggregate: type[Sum], value: str) -> Column:
    """Of the sum, or of the average."""
    return _computed(partial(_total, aggregate), "count", *parts_of(value))


def rounded_deviation(common: str, odd: str, square: str, error: str) -> Column:
    parts = [*parts_of(common), *parts_of(square), *parts_of(error)]
    return _computed(_deviation, "count", *parts, odd)


def estimated_quantile(percent: int, *ranks: Column) -> Column:
    """Of the values at these ranks: the sketch knows a value by its bucket alone."""
    return _computed(partial(_quantile, percent), *ranks)


def _computed(compute: Callable[[Any], float | None], *columns: Column | str) -> Column:
    """Of each row of these columns; null where no double can hold it, as the broker skips it."""

    def results(parts: pd.DataFrame) -> pd.Series:
        rows = zip(*(parts[name].tolist() for name in parts.columns), strict=True)
        found = [compute(row) for row in rows]
        kept = [None if one is None or abs(one) == INFINITY else one for one in found]
        return pd.Series(kept, dtype="float64")

    # Made where it is used: what kind of session there is, is not known when modules load.
    made: Callable[[Column], Column] = pandas_udf(results, "double")  # type: ignore[call-overload]
    return made(F.struct(*columns))


def _total(kind: type[Sum], row: Numbers) -> float | None:
    total = ExactSum()
    if not _add(total, row[1:]):
        return None
    aggregate = kind()
    aggregate.restore([int(row[0]), total.total, total.shift])
    return aggregate.result()


def _deviation(row: Sequence[Any]) -> float | None:
    total, squares = ExactSum(), ExactSum()
    first, second = 1 + _PARTS, 1 + 2 * _PARTS
    known = _add(total, row[1:first])
    if not known or not _add(squares, row[first:second]) or not _add(squares, row[second:-1]):
        return None
    for value in row[-1]:
        numerator, denominator = float(value).as_integer_ratio()
        shift = shift_of(denominator)
        total.add(numerator, shift)
        squares.add(numerator * numerator, 2 * shift)
    # The squares are read at twice the scale of the sum.
    total.add(0, -(-squares.shift // 2))
    squares.add(0, 2 * total.shift)
    count = int(row[0])
    # Squares from 2**62 on were rounded: together they may have become too little for their sum.
    least = -(-total.total * total.total // count)
    aggregate = Deviation()
    aggregate.restore([count, total.total, total.shift, max(squares.total, least)])
    return aggregate.result()


def _quantile(percent: int, values: Numbers) -> float:
    aggregate = RunningQuantile(percent)
    for value in values:
        aggregate.add(value, 0)
    return aggregate.result()


def _add(total: ExactSum, parts: Sequence[Any]) -> bool:
    """False if a part is beyond every double."""
    joined = 0
    for limb in parts[:_LIMBS]:
        joined = (joined << LIMB_BITS) + int(limb)
    total.add(joined, FINEST)
    rest, wide = float(parts[_LIMBS]), float(parts[_LIMBS + 1])
    if not rest and not wide:
        return True  # most groups are in the limbs alone
    if abs(wide) == INFINITY or wide != wide:
        return False
    for value, scale in ((rest, FINEST), (wide, 0)):
        numerator, denominator = value.as_integer_ratio()
        total.add(numerator, shift_of(denominator) + scale)
    return True
