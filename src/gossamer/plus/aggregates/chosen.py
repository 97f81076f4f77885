"""Running aggregates that choose: the result is one of the values, and all there is to save."""

from gossamer.plus.aggregates.base import Aggregate, Saved, number


class ChosenValue(Aggregate):
    def __init__(self, value: float = 0.0) -> None:
        self.value = value

    def result(self) -> float:
        return self.value

    def save(self) -> Saved:
        return [self.value]

    def restore(self, saved: Saved) -> None:
        self.value = number(saved[0])
