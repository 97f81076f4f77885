"""Sums without rounding: a double is an integer over a power of two, so their sum is one too.

Nothing is lost however many values go in and out again, which compensated summation cannot promise
for removals. The integer stays small: as wide as the span between the largest value and the finest
fraction seen, 2,100 bits at the very worst.
"""

from operator import truediv

from gossamer.plus.values import INFINITY


class ExactSum:
    """The sum is `total / 2**shift`."""

    __slots__ = ("shift", "total")

    def __init__(self) -> None:
        self.total = 0
        self.shift = 0

    def add(self, numerator: int, shift: int) -> None:
        """Adds `numerator / 2**shift`."""
        if shift > self.shift:
            self.total <<= shift - self.shift
            self.shift = shift
        self.total += numerator << (self.shift - shift)


def shift_of(denominator: int) -> int:
    """The exponent of a power of two."""
    return denominator.bit_length() - 1


def ratio(numerator: int, denominator: int) -> float:
    """Correctly rounded; infinite where no double is large enough."""
    try:
        # Not `/`: compiled, that rounds both integers to doubles first.
        return float(truediv(numerator, denominator))
    except OverflowError:
        return INFINITY
