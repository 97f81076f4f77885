"""`$COUNT`: how many values."""

from gossamer.plus.operators.aggregate import MOST_COUNT, Aggregate, Saved, bounded
from gossamer.plus.operators.kinds import AggregateKind
from gossamer.plus.values import write_count


class Count(Aggregate):
    def __init__(self) -> None:
        self.count = 0

    def add(self, value: float, order: int) -> None:
        self.count += 1

    def remove(self, value: float, order: int) -> None:
        self.count -= 1

    def result(self) -> float:
        return float(self.count)

    def save(self) -> Saved:
        return [self.count]

    def restore(self, saved: Saved) -> None:
        self.count = bounded(saved[0], 1, MOST_COUNT)

    def merge(self, other: Aggregate) -> None:
        assert isinstance(other, Count)
        self.count += other.count


COUNT = AggregateKind("COUNT", "number of values", Count, Count, write_count)
