"""`$FIRST`: the value that came earliest of those that take part."""

from gossamer.plus.operators.aggregate import Aggregate, DatedValue, LazyHeap
from gossamer.plus.operators.kinds import AggregateKind
from gossamer.plus.values import write_number


class RunningFirst(DatedValue):
    def add(self, value: float, order: int) -> None:
        if self.order < 0 or order < self.order:
            self.value = value
            self.order = order

    def merge(self, other: Aggregate) -> None:
        """Of what came at the same time at two brokers, the least."""
        assert isinstance(other, RunningFirst)
        if self.order < 0 or (other.order, other.value) < (self.order, self.value):
            self.value = other.value
            self.order = other.order


class MovingFirst(Aggregate):
    def __init__(self) -> None:
        self.heap = LazyHeap()
        self.values: dict[int, float] = {}

    def add(self, value: float, order: int) -> None:
        self.values[order] = value
        self.heap.push(float(order), order)

    def remove(self, value: float, order: int) -> None:
        del self.values[order]
        self.heap.forget(order)

    def result(self) -> float:
        return self.values[self.heap.least()[1]]


FIRST = AggregateKind("FIRST", "earliest value", RunningFirst, MovingFirst, write_number)
