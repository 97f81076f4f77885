"""What every aggregate function can do.

A *running* aggregate (a window of time) only takes values in and can be saved. A *moving* one (the
last values of many topics) also gives values back, and is rebuilt from those values at a restart.
"""

from operator import truediv

from gossamer.plus.values import INFINITY

Saved = list[int | float | list[int]]


class Aggregate:
    """`order` is a number that only grows: values with a smaller one came earlier."""

    def add(self, value: float, order: int) -> None:
        raise NotImplementedError

    def remove(self, value: float, order: int) -> None:
        """Takes out what `add` was given with the same arguments. Moving aggregates only."""
        raise NotImplementedError

    def buckets(self) -> int:
        """Of those that grow with what they take in: how many parts they have."""
        return 0

    def result(self) -> float:
        """Asked only while there is a value; infinite if no double can hold it."""
        raise NotImplementedError

    def save(self) -> Saved:
        """Running aggregates only."""
        raise NotImplementedError

    def restore(self, saved: Saved) -> None:
        """Raises ValueError, TypeError or IndexError for what `save` did not make."""
        raise NotImplementedError


def ratio(numerator: int, denominator: int) -> float:
    """Correctly rounded; infinite where no double is large enough."""
    try:
        # Not `/`: compiled, that rounds both integers to doubles first.
        return float(truediv(numerator, denominator))
    except OverflowError:
        return INFINITY


def integer(item: int | float | list[int]) -> int:
    if not isinstance(item, int):
        raise TypeError("expected an integer")
    return item


def number(item: int | float | list[int]) -> float:
    if isinstance(item, list):
        raise TypeError("expected a number")
    return float(item)
