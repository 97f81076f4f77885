"""`$MIN`: a running one keeps one value, a moving one a heap of those that take part."""

from gossamer.plus.operators.aggregate import Aggregate, ChosenValue, LazyHeap
from gossamer.plus.operators.kinds import AggregateKind
from gossamer.plus.values import INFINITY, write_number


class RunningMinimum(ChosenValue):
    def __init__(self) -> None:
        super().__init__(INFINITY)

    def add(self, value: float, order: int) -> None:
        if value < self.value:
            self.value = value

    def merge(self, other: Aggregate) -> None:
        assert isinstance(other, RunningMinimum)
        self.value = min(self.value, other.value)


class MovingMinimum(Aggregate):
    def __init__(self) -> None:
        self.heap = LazyHeap()

    def add(self, value: float, order: int) -> None:
        self.heap.push(value, order)

    def remove(self, value: float, order: int) -> None:
        self.heap.forget(order)

    def result(self) -> float:
        return self.heap.least()[0]


MIN = AggregateKind("MIN", "least value", RunningMinimum, MovingMinimum, write_number)
