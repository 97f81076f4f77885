"""FIRST and LAST: the value that came earliest or latest of those that take part."""

from gossamer.plus.aggregates.base import Aggregate, Saved
from gossamer.plus.aggregates.chosen import ChosenValue
from gossamer.plus.aggregates.lazy_heap import LazyHeap


class RunningFirst(ChosenValue):
    def __init__(self) -> None:
        super().__init__()
        self.known = False

    def add(self, value: float, order: int) -> None:
        if not self.known:
            self.value = value
            self.known = True

    def restore(self, saved: Saved) -> None:
        super().restore(saved)
        self.known = True


class RunningLast(ChosenValue):
    def add(self, value: float, order: int) -> None:
        self.value = value


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


class MovingLast(MovingFirst):
    def add(self, value: float, order: int) -> None:
        self.values[order] = value
        self.heap.push(-float(order), order)
