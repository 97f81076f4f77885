"""MIN and MAX: a running one keeps one value, a moving one a heap of those that take part."""

from gossamer.plus.aggregates.base import Aggregate
from gossamer.plus.aggregates.chosen import ChosenValue
from gossamer.plus.aggregates.lazy_heap import LazyHeap
from gossamer.plus.values import INFINITY


class RunningMinimum(ChosenValue):
    def __init__(self) -> None:
        super().__init__(INFINITY)

    def add(self, value: float, order: int) -> None:
        if value < self.value:
            self.value = value


class RunningMaximum(ChosenValue):
    def __init__(self) -> None:
        super().__init__(-INFINITY)

    def add(self, value: float, order: int) -> None:
        if value > self.value:
            self.value = value


class MovingMinimum(Aggregate):
    def __init__(self) -> None:
        self.heap = LazyHeap()

    def add(self, value: float, order: int) -> None:
        self.heap.push(value, order)

    def remove(self, value: float, order: int) -> None:
        self.heap.forget(order)

    def result(self) -> float:
        return self.heap.least()[0]


class MovingMaximum(Aggregate):
    def __init__(self) -> None:
        self.heap = LazyHeap()

    def add(self, value: float, order: int) -> None:
        self.heap.push(-value, order)

    def remove(self, value: float, order: int) -> None:
        self.heap.forget(order)

    def result(self) -> float:
        return -self.heap.least()[0] + 0.0  # a maximum of zero is not -0.0
