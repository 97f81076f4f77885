"""Sums without rounding, by Spark's own integers: what `plus.aggregates.exact` is to the broker.

A double is cut into five limbs of 32 bits, and each limb is summed as an integer. They reach from
2**62 down to 2**-96. What is smaller (`rest`) or larger (`wide`) is summed as doubles, as any Spark
query does: the rest has 53 bits of its own below the limbs, so readings of 0.001 and more lose
nothing at all.
"""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

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
