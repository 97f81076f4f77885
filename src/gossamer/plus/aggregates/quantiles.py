"""MEDIAN and P95.

Over topics (moving) they are exact, from a sorted list: the values are in memory anyway, and an
insertion into 10,000 of them moves pointers for a microsecond. Over time (running) the values
would grow without bound, so a sketch estimates them within 1 %.

The median of an even number is the mean of the middle two; P95 is the nearest rank, the smallest
value that at least 95 % do not exceed.
"""

from bisect import bisect_left, insort

from gossamer.plus.aggregates.base import Aggregate, Saved, integer
from gossamer.plus.aggregates.sketch import Buckets, Sketch


def ranks(count: int, percent: int) -> tuple[int, int]:
    """The two ranks, from 1, whose mean is the quantile; mostly the same."""
    if percent == 50:
        return (count + 1) // 2, count // 2 + 1
    rank = -(-count * percent // 100)
    return rank, rank


class MovingQuantile(Aggregate):
    def __init__(self, percent: int) -> None:
        self.percent = percent
        self.values: list[float] = []

    def add(self, value: float, order: int) -> None:
        insort(self.values, value)

    def remove(self, value: float, order: int) -> None:
        del self.values[bisect_left(self.values, value)]

    def result(self) -> float:
        low, high = ranks(len(self.values), self.percent)
        return _middle(self.values[low - 1], self.values[high - 1])


class RunningQuantile(Aggregate):
    def __init__(self, percent: int) -> None:
        self.percent = percent
        self.sketch = Sketch()

    def add(self, value: float, order: int) -> None:
        self.sketch.add(value)

    def buckets(self) -> int:
        return len(self.sketch.positive.counts) + len(self.sketch.negative.counts)

    def result(self) -> float:
        low, high = ranks(self.sketch.count(), self.percent)
        return _middle(self.sketch.at(low), self.sketch.at(high))

    def save(self) -> Saved:
        sketch = self.sketch
        return [sketch.zeros, _flat(sketch.positive), _flat(sketch.negative)]

    def restore(self, saved: Saved) -> None:
        self.sketch.zeros = integer(saved[0])
        _refill(self.sketch.positive, saved[1])
        _refill(self.sketch.negative, saved[2])


class MovingMedian(MovingQuantile):
    def __init__(self) -> None:
        super().__init__(50)


class MovingP95(MovingQuantile):
    def __init__(self) -> None:
        super().__init__(95)


class RunningMedian(RunningQuantile):
    def __init__(self) -> None:
        super().__init__(50)


class RunningP95(RunningQuantile):
    def __init__(self) -> None:
        super().__init__(95)


def _middle(low: float, high: float) -> float:
    # Halved first: the sum of two large doubles may overflow.
    return low if low == high else low / 2 + high / 2


def _flat(buckets: Buckets) -> list[int]:
    return [item for pair in buckets.counts.items() for item in pair]


def _refill(buckets: Buckets, flat: int | float | list[int]) -> None:
    if not isinstance(flat, list):
        raise TypeError("expected a list of buckets")
    for at in range(0, len(flat), 2):
        buckets.counts[integer(flat[at])] = integer(flat[at + 1])
    buckets.total = sum(buckets.counts.values())
