"""What every aggregate function can do, and what several of them are made of.

A *running* aggregate (a window of time) only takes values in, can be saved, and can take in what
another one was given: brokers count parts of one window. A *moving* one (the last values of many
topics) also gives values back, and is rebuilt from those values at a restart.
"""

from heapq import heapify, heappop, heappush
from typing import Final

Saved = list[int | float | list[int]]

# Microseconds of the year 9999; and more values than anybody will ever count.
MOST_ORDER: Final = 253_402_300_800_000_000
MOST_COUNT: Final = 1 << 62


class Aggregate:
    """`order` is a number that only grows: values with a smaller one came earlier."""

    grows = False  # with what it takes in, by buckets

    def add(self, value: float, order: int) -> None:
        raise NotImplementedError

    def remove(self, value: float, order: int) -> None:
        """Takes out what `add` was given with the same arguments. Moving aggregates only."""
        raise NotImplementedError

    def buckets(self) -> int:
        """Of those that grow with what they take in: how many parts they have."""
        return 0

    def latest_order(self) -> int:
        """Of those that are chosen by when they came: when the latest did, or -1."""
        return -1

    def result(self) -> float:
        """Asked only while there is a value; infinite if no double can hold it."""
        raise NotImplementedError

    def save(self) -> Saved:
        """Running aggregates only."""
        raise NotImplementedError

    def restore(self, saved: Saved) -> None:
        """Raises ValueError, TypeError or IndexError for what `save` did not make: it may come from
        another broker."""
        raise NotImplementedError

    def merge(self, other: "Aggregate") -> None:
        """Running aggregates only: as if this one had been given what `other`, of the same
        function, was given."""
        raise NotImplementedError


class ChosenValue(Aggregate):
    """Running: the result is one of the values, and all there is to save."""

    def __init__(self, value: float = 0.0) -> None:
        self.value = value

    def result(self) -> float:
        return self.value

    def save(self) -> Saved:
        return [self.value]

    def restore(self, saved: Saved) -> None:
        self.value = finite(saved[0])


class DatedValue(ChosenValue):
    """One that is chosen by when it came; the order is negative until there is one."""

    def __init__(self) -> None:
        super().__init__()
        self.order = -1

    def latest_order(self) -> int:
        return self.order

    def save(self) -> Saved:
        return [self.value, self.order]

    def restore(self, saved: Saved) -> None:
        super().restore(saved)
        # Earlier versions did not save when it came.
        self.order = bounded(saved[1], 0, MOST_ORDER) if len(saved) > 1 else 0


def bounded(item: int | float | list[int], least: int, most: int) -> int:
    found = integer(item)
    if not least <= found <= most:
        raise ValueError("a number out of its range")
    return found


def finite(item: int | float | list[int]) -> float:
    found = number(item)
    if found - found != 0.0:
        raise ValueError("expected a finite number")
    return found


def integer(item: int | float | list[int]) -> int:
    if not isinstance(item, int):
        raise TypeError("expected an integer")
    return item


def number(item: int | float | list[int]) -> float:
    if isinstance(item, list):
        raise TypeError("expected a number")
    return float(item)


class LazyHeap:
    """Gives its least key; removed ones go when they come to the top, or are half of all.

    Keys stand with the number that identifies them.
    """

    __slots__ = ("_gone", "_heap")

    def __init__(self) -> None:
        self._heap: list[tuple[float, int]] = []
        self._gone: set[int] = set()

    def push(self, key: float, number: int) -> None:
        """A number that was removed may come back, with the key that it had."""
        if number in self._gone:
            self._gone.discard(number)  # it was not found out that it went
            return
        heappush(self._heap, (key, number))

    def forget(self, number: int) -> None:
        gone = self._gone
        gone.add(number)
        if 2 * len(gone) > len(self._heap):
            self._heap = [item for item in self._heap if item[1] not in gone]
            heapify(self._heap)
            gone.clear()

    def least(self) -> tuple[float, int]:
        """Raises IndexError when it is empty."""
        while self._heap[0][1] in self._gone:
            self._gone.discard(heappop(self._heap)[1])
        return self._heap[0]
