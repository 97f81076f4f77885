"""`$MAX`: as `$MIN`, of the values with the other sign."""

from gossamer.plus.operators.aggregate import Aggregate, ChosenValue
from gossamer.plus.operators.kinds import AggregateKind
from gossamer.plus.operators.min import MovingMinimum
from gossamer.plus.values import INFINITY, write_number


class RunningMaximum(ChosenValue):
    def __init__(self) -> None:
        super().__init__(-INFINITY)

    def add(self, value: float, order: int) -> None:
        if value > self.value:
            self.value = value

    def merge(self, other: Aggregate) -> None:
        assert isinstance(other, RunningMaximum)
        self.value = max(self.value, other.value)


class MovingMaximum(MovingMinimum):
    def add(self, value: float, order: int) -> None:
        self.heap.push(-value, order)

    def result(self) -> float:
        return -self.heap.least()[0] + 0.0  # a maximum of zero is not -0.0


MAX = AggregateKind("MAX", "greatest value", RunningMaximum, MovingMaximum, write_number)
