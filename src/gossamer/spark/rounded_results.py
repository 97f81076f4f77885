"""Where a result is rounded, by the broker's own code: once for each result, never for a message.

Spark adds up integers (`sums`); here they become the double that the broker would send. The
functions run on the executors, on whole Arrow batches.
"""

from collections.abc import Callable, Iterator
from typing import Final

import pandas as pd
from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import DoubleType

from gossamer.plus.aggregates.base import Aggregate, ratio
from gossamer.plus.aggregates.deviation import Deviation
from gossamer.plus.aggregates.exact import ExactSum, shift_of
from gossamer.plus.aggregates.quantiles import RunningMedian, RunningP95
from gossamer.plus.aggregates.totals import Average, Sum
from gossamer.plus.values import INFINITY
from gossamer.spark.sums import FINEST, FRACTIONS, LIMB_BITS, parts_of
from gossamer.spark.vectors import vectorised

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
    return vectorised(function, DoubleType())


def _sums(parts: pd.DataFrame) -> pd.Series:
    return _column(_total(row, Sum(), 1) for row in _rows(parts))


def _averages(parts: pd.DataFrame) -> pd.Series:
    return _column(_total(row, Average(), int(row[0])) for row in _rows(parts))


def _deviations(parts: pd.DataFrame) -> pd.Series:
    return _results(_deviation(row) for row in _rows(parts))


def _medians(low: pd.Series, high: pd.Series) -> pd.Series:
    return _results(_of_values(RunningMedian(), pair) for pair in zip(low, high, strict=True))


def _p95s(rank: pd.Series) -> pd.Series:
    return _results(_of_values(RunningP95(), (value,)) for value in rank)


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
