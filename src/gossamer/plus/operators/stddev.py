"""`$STDDEV`: the population standard deviation, from exact sums of values and of their squares."""

import math
from typing import Final

from gossamer.plus.operators.aggregate import MOST_COUNT, Aggregate, Saved, bounded, integer
from gossamer.plus.operators.exact_sum import (
    SQUARES_BITS,
    SQUARES_SHIFT,
    SUM_BITS,
    SUM_SHIFT,
    ExactSum,
    parts_of,
    ratio,
)
from gossamer.plus.operators.kinds import AggregateKind
from gossamer.plus.values import write_number

# So many bits under the root give 64 of it, eleven more than a double keeps.
ROOT_BITS: Final = 128


class Deviation(Aggregate):
    """One value has the deviation 0."""

    def __init__(self) -> None:
        self.count = 0
        self.sum = ExactSum()
        self.squares = ExactSum()

    def add(self, value: float, order: int) -> None:
        numerator, shift = parts_of(value)
        self.sum.add(numerator, shift)
        self.squares.add(numerator * numerator, 2 * shift)
        self.count += 1

    def remove(self, value: float, order: int) -> None:
        numerator, shift = parts_of(value)
        self.sum.add(-numerator, shift)
        self.squares.add(-numerator * numerator, 2 * shift)
        self.count -= 1

    def result(self) -> float:
        # n·Σx² − (Σx)² over n², all at the scale 2**(2·shift); squares.shift is twice sum.shift.
        spread = self.count * self.squares.total - self.sum.total * self.sum.total
        return root(spread, self.count * self.count << self.squares.shift)

    def save(self) -> Saved:
        return [self.count, self.sum.total, self.sum.shift, self.squares.total]

    def restore(self, saved: Saved) -> None:
        self.count = bounded(saved[0], 1, MOST_COUNT)
        shift = integer(saved[2])
        self.sum.refill(integer(saved[1]), shift, SUM_BITS, SUM_SHIFT)
        self.squares.refill(integer(saved[3]), 2 * shift, SQUARES_BITS, SQUARES_SHIFT)
        if self.count * self.squares.total < self.sum.total * self.sum.total:
            raise ValueError("squares that are too small for their sum")

    def merge(self, other: Aggregate) -> None:
        assert isinstance(other, Deviation)
        self.count += other.count
        self.sum.add(other.sum.total, other.sum.shift)
        self.squares.add(other.squares.total, other.squares.shift)


def root(numerator: int, denominator: int) -> float:
    """The square root of a ratio that may be far beyond what a double can hold."""
    missing_bits = ROOT_BITS - (numerator.bit_length() - denominator.bit_length())
    scale = max(0, missing_bits // 2 + 1)
    return ratio(math.isqrt((numerator << 2 * scale) // denominator), 1 << scale)


STDDEV = AggregateKind(
    "STDDEV", "population standard deviation", Deviation, Deviation, write_number
)
