"""`$FIRST`: the value that came earliest of those that take part."""

from gossamer.plus.operators.aggregate import Aggregate, ChosenValue, LazyHeap, Saved
from gossamer.plus.operators.kinds import AggregateKind
from gossamer.plus.values import write_number


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
