"""`$LAST`: the value that came latest of those that take part."""

from gossamer.plus.operators.aggregate import Aggregate, DatedValue
from gossamer.plus.operators.first import MovingFirst
from gossamer.plus.operators.kinds import AggregateKind
from gossamer.plus.values import write_number


class RunningLast(DatedValue):
    def add(self, value: float, order: int) -> None:
        if order >= self.order:
            self.value = value
            self.order = order

    def merge(self, other: Aggregate) -> None:
        """Of what came at the same time at two brokers, the greatest."""
        assert isinstance(other, RunningLast)
        if (other.order, other.value) > (self.order, self.value):
            self.value = other.value
            self.order = other.order


class MovingLast(MovingFirst):
    def add(self, value: float, order: int) -> None:
        self.values[order] = value
        self.heap.push(-float(order), order)


LAST = AggregateKind("LAST", "latest value", RunningLast, MovingLast, write_number)
