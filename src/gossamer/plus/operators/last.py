"""`$LAST`: the value that came latest of those that take part."""

from gossamer.plus.operators.aggregate import ChosenValue
from gossamer.plus.operators.first import MovingFirst
from gossamer.plus.operators.kinds import AggregateKind
from gossamer.plus.values import write_number


class RunningLast(ChosenValue):
    def add(self, value: float, order: int) -> None:
        self.value = value


class MovingLast(MovingFirst):
    def add(self, value: float, order: int) -> None:
        self.values[order] = value
        self.heap.push(-float(order), order)


LAST = AggregateKind("LAST", "latest value", RunningLast, MovingLast, write_number)
