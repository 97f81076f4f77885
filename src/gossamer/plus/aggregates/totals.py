"""SUM and AVG: exact sums, rounded once, when the result is read."""

from gossamer.plus.aggregates.base import Aggregate, Saved, integer, ratio
from gossamer.plus.aggregates.exact import ExactSum, shift_of


class Sum(Aggregate):
    def __init__(self) -> None:
        self.count = 0
        self.sum = ExactSum()

    def add(self, value: float, order: int) -> None:
        numerator, denominator = value.as_integer_ratio()
        self.sum.add(numerator, shift_of(denominator))
        self.count += 1

    def remove(self, value: float, order: int) -> None:
        numerator, denominator = value.as_integer_ratio()
        self.sum.add(-numerator, shift_of(denominator))
        self.count -= 1

    def result(self) -> float:
        return ratio(self.sum.total, 1 << self.sum.shift)

    def save(self) -> Saved:
        return [self.count, self.sum.total, self.sum.shift]

    def restore(self, saved: Saved) -> None:
        self.count = integer(saved[0])
        self.sum.total = integer(saved[1])
        self.sum.shift = integer(saved[2])


class Average(Sum):
    def result(self) -> float:
        return ratio(self.sum.total, self.count << self.sum.shift)
