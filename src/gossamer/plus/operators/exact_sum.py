"""Sums without rounding: a double is an integer over a power of two, so their sum is one too.

Nothing is lost however many values go in and out again, which compensated summation cannot promise
for removals. The integer stays small: as wide as the span between the largest value and the finest
fraction seen, 2,100 bits at the very worst.
"""

from operator import truediv
from typing import Final

from gossamer.plus.values import INFINITY


class _Ratio:
    """One number as an integer over a power of two."""

    __slots__ = ("numerator", "shift", "value")

    def __init__(self) -> None:
        self.value = 0.0
        self.numerator = 0
        self.shift = 0


# Several operators read one publication, and give back the value before it: two numbers, again and
# again.
_LATEST: Final = [_Ratio(), _Ratio()]


def parts_of(value: float) -> tuple[int, int]:
    """The numerator, and the exponent of the power of two that it stands over."""
    for known in _LATEST:
        if value == known.value:
            return known.numerator, known.shift
    oldest = _LATEST[1]
    _LATEST[1] = _LATEST[0]
    _LATEST[0] = oldest
    numerator, denominator = value.as_integer_ratio()
    oldest.value = value
    oldest.numerator = numerator
    oldest.shift = shift_of(denominator)
    return numerator, oldest.shift


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

    def refill(self, total: int, shift: int, most_bits: int, most_shift: int) -> None:
        """With a sum that was saved: of that many binary digits before the point, and of no more
        behind it. ValueError for what no doubles add up to."""
        if not 0 <= shift <= most_shift or total.bit_length() > most_bits + shift:
            raise ValueError("no sum of doubles")
        self.total = total
        self.shift = shift


# Of doubles, and of their squares: digits before the point, for as many as can be counted, and
# behind it.
SUM_BITS: Final = 1024 + 62
SUM_SHIFT: Final = 1074
SQUARES_BITS: Final = 2 * 1024 + 62
SQUARES_SHIFT: Final = 2 * SUM_SHIFT


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
