"""Sums without rounding, by Spark's own integers, as `plus/operators/exact_sum.py` has them.

A double is cut into five limbs of 32 bits, and each limb is summed as an integer. They reach from
2**62 down to 2**-96. What is smaller (`rest`) or larger (`wide`) is summed as doubles, as any Spark
query does: the rest has 53 bits of its own below the limbs, so readings of 0.001 and more lose
nothing at all.

The sums become the double that the broker would send by the broker's own code: once for each
result, never for a message. That runs on the executors, on whole Arrow batches.
"""

from collections.abc import Callable, Iterator
from typing import Final

import pandas as pd
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import pandas_udf

from gossamer.plus.operators.aggregate import Aggregate
from gossamer.plus.operators.avg import Average
from gossamer.plus.operators.exact_sum import ExactSum, ratio, shift_of
from gossamer.plus.operators.median import MEDIAN
from gossamer.plus.operators.p95 import P95
from gossamer.plus.operators.stddev import Deviation
from gossamer.plus.operators.sum import Sum
from gossamer.plus.values import INFINITY

LIMB_BITS: Final = 32
FRACTIONS: Final = 3  # limbs behind the point
FINEST: Final = LIMB_BITS * FRACTIONS
_LIMB: Final = float(1 << LIMB_BITS)
_LOW_BITS: Final = (1 << LIMB_BITS) - 1
_WIDE: Final = float(1 << 62)  # beyond it a cast to 64 bits may fail

# Two factors of 26 bits each: the product of two of them is exact (Veltkamp's splitting).
_SPLITTER: Final = float((1 << 27) + 1)
# Beyond it the splitting overflows; the square of so large a number is a wide one anyway.
_LARGEST_SPLIT: Final = float(1 << 500)


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
    """The columns that `sums` made, in the order in which `rounding` reads them."""
    names = [f"{value}_{at}" for at in range(2 + FRACTIONS)]
    return [F.col(name) for name in [*names, f"{value}_rest", f"{value}_wide"]]


def with_square(frame: DataFrame, value: str, square: str, error: str) -> DataFrame:
    """The square as two doubles whose sum is exact: the product, and what its rounding lost."""
    number = F.col(value)
    splits = F.abs(number) < _LARGEST_SPLIT
    scaled = F.when(splits, number * _SPLITTER).otherwise(0.0)
    frame = frame.withColumns({f"{value}_scaled": scaled, square: number * number})
    scaled = F.col(f"{value}_scaled")
    frame = frame.withColumn(f"{value}_upper", scaled - (scaled - number))
    upper = F.col(f"{value}_upper")
    lower = number - upper
    lost = ((upper * upper - F.col(square)) + upper * lower * 2.0) + lower * lower
    return frame.withColumn(error, F.when(splits, lost).otherwise(0.0))


_LIMBS: Final = 2 + FRACTIONS
_PARTS: Final = _LIMBS + 2


def rounded_sum(value: str) -> Column:
    return _vector(_sums)(F.struct("count", *parts_of(value)))


def rounded_average(value: str) -> Column:
    return _vector(_averages)(F.struct("count", *parts_of(value)))


def rounded_deviation(value: str, square: str, error: str) -> Column:
    parts = [*parts_of(value), *parts_of(square), *parts_of(error)]
    return _vector(_deviations)(F.struct("count", *parts))


def estimated_median(low: Column, high: Column) -> Column:
    return _vector(_medians)(low, high)


def estimated_p95(rank: Column) -> Column:
    return _vector(_p95s)(rank)


def _vector(function: Callable[..., pd.Series]) -> Callable[..., Column]:
    """Made where it is used: what kind of session there is, is not known when modules load."""
    made: Callable[..., Column] = pandas_udf(function, "double")  # type: ignore[call-overload]
    return made


def _sums(parts: pd.DataFrame) -> pd.Series:
    return _column(_total(row, Sum(), 1) for row in _rows(parts))


def _averages(parts: pd.DataFrame) -> pd.Series:
    return _column(_total(row, Average(), int(row[0])) for row in _rows(parts))


def _deviations(parts: pd.DataFrame) -> pd.Series:
    return _results(_deviation(row) for row in _rows(parts))


def _medians(low: pd.Series, high: pd.Series) -> pd.Series:
    return _results(_of_values(MEDIAN.running(), pair) for pair in zip(low, high, strict=True))


def _p95s(rank: pd.Series) -> pd.Series:
    return _results(_of_values(P95.running(), (value,)) for value in rank)


def _rows(parts: pd.DataFrame) -> Iterator[list[int | float]]:
    columns = [parts[name].tolist() for name in parts.columns]
    for row in zip(*columns, strict=True):
        yield list(row)


def _results(aggregates: Iterator[Aggregate | None]) -> pd.Series:
    return _column(None if one is None else one.result() for one in aggregates)


def _column(values: Iterator[float | None]) -> pd.Series:
    # What no double can hold is left out, as the broker skips it.
    kept = [None if value is None or abs(value) == INFINITY else value for value in values]
    return pd.Series(kept, dtype="float64")


def _total(row: list[int | float], aggregate: Sum, divisor: int) -> float | None:
    """Most groups are in the limbs alone: then one division is all that the broker does."""
    if row[1 + _LIMBS] or row[2 + _LIMBS]:
        restored = _restored(aggregate, row)
        return None if restored is None else restored.result()
    return ratio(_joined(row[1 : 1 + _LIMBS]), divisor << FINEST)


def _restored(aggregate: Sum, row: list[int | float]) -> Aggregate | None:
    total = ExactSum()
    if not _add(total, row[1:]):
        return None
    aggregate.restore([int(row[0]), total.total, total.shift])
    return aggregate


def _deviation(row: list[int | float]) -> Aggregate | None:
    total, squares = ExactSum(), ExactSum()
    first, second = 1 + _PARTS, 1 + 2 * _PARTS
    known = _add(total, row[1:first])
    if not known or not _add(squares, row[first:second]) or not _add(squares, row[second:]):
        return None
    # The squares are read at twice the scale of the sum.
    total.add(0, -(-squares.shift // 2))
    squares.add(0, 2 * total.shift)
    aggregate = Deviation()
    aggregate.restore([int(row[0]), total.total, total.shift, squares.total])
    return aggregate


def _add(total: ExactSum, parts: list[int | float]) -> bool:
    """False if a part is beyond every double."""
    total.add(_joined(parts[:_LIMBS]), FINEST)
    rest, wide = float(parts[_LIMBS]), float(parts[_LIMBS + 1])
    if abs(wide) == INFINITY or wide != wide:
        return False
    for value, scale in ((rest, FINEST), (wide, 0)):
        numerator, denominator = value.as_integer_ratio()
        total.add(numerator, shift_of(denominator) + scale)
    return True


def _joined(limbs: list[int | float]) -> int:
    found = 0
    for limb in limbs:
        found = (found << LIMB_BITS) + int(limb)
    return found


def _of_values(aggregate: Aggregate, values: tuple[float, ...]) -> Aggregate:
    """The sketch knows a value by its bucket alone: the middle ones stand for all."""
    for order, value in enumerate(values):
        aggregate.add(value, order)
    return aggregate
