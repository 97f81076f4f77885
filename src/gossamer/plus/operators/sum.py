"""`$SUM`: an exact sum, rounded once, when the result is read."""

from gossamer.plus.operators.aggregate import MOST_COUNT, Aggregate, Saved, bounded, integer
from gossamer.plus.operators.exact_sum import SUM_BITS, SUM_SHIFT, ExactSum, parts_of, ratio
from gossamer.plus.operators.kinds import AggregateKind
from gossamer.plus.values import write_number


class Sum(Aggregate):
    def __init__(self) -> None:
        self.count = 0
        self.sum = ExactSum()

    def add(self, value: float, order: int) -> None:
        numerator, shift = parts_of(value)
        self.sum.add(numerator, shift)
        self.count += 1

    def remove(self, value: float, order: int) -> None:
        numerator, shift = parts_of(value)
        self.sum.add(-numerator, shift)
        self.count -= 1

    def result(self) -> float:
        return ratio(self.sum.total, 1 << self.sum.shift)

    def save(self) -> Saved:
        return [self.count, self.sum.total, self.sum.shift]

    def restore(self, saved: Saved) -> None:
        self.count = bounded(saved[0], 1, MOST_COUNT)
        self.sum.refill(integer(saved[1]), integer(saved[2]), SUM_BITS, SUM_SHIFT)

    def merge(self, other: Aggregate) -> None:
        assert isinstance(other, Sum)
        self.count += other.count
        self.sum.add(other.sum.total, other.sum.shift)


SUM = AggregateKind("SUM", "sum", Sum, Sum, write_number)
