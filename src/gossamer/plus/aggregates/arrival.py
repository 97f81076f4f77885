"""FIRST and LAST: the value that came earliest or latest of those that take part."""

from gossamer.plus.aggregates.base import Aggregate, Saved, number
from gossamer.plus.aggregates.lazy_heap import LazyHeap


class RunningFirst(Aggregate):
    def __init__(self) -> None:
        self.value = 0.0
        self.known = False

    def add(self, value: float, order: int) -> None:
        if not self.known:
            self.value = value
            self.known = True

    def result(self) -> float:
        return self.value

    def save(self) -> Saved:
        return [self.value]

    def restore(self, saved: Saved) -> None:
        self.value = number(saved[0])
        self.known = True


class RunningLast(Aggregate):
    def __init__(self) -> None:
        self.value = 0.0

    def add(self, value: float, order: int) -> None:
        self.value = value

    def result(self) -> float:
        return self.value

    def save(self) -> Saved:
        return [self.value]

    def restore(self, saved: Saved) -> None:
        self.value = number(saved[0])


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
