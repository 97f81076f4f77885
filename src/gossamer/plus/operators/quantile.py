"""Quantiles, for `$MEDIAN` and `$P95`.

Over topics (moving) they are exact, from a sorted list: the values are in memory anyway, and an
insertion into 10,000 of them moves pointers for a microsecond. Over time (running) the values
would grow without bound, so a DDSketch estimates them: a value falls into the bucket of its
logarithm, so that an estimated order statistic is within RELATIVE_ERROR of the true one (Masson,
Rim and Lee, VLDB 2019). At most MAX_BUCKETS are kept for each sign; where the values span more than
17 orders of magnitude, those nearest to zero are merged, and only they lose the promise.

The median of an even number is the mean of the middle two; P95 is the nearest rank, the smallest
value that at least 95 % do not exceed.
"""

import math
from bisect import bisect_left, insort
from typing import Final

from gossamer.plus.operators.aggregate import MOST_COUNT, Aggregate, Saved, bounded

RELATIVE_ERROR: Final = 0.01
MAX_BUCKETS: Final = 2048

_GAMMA: Final = (1 + RELATIVE_ERROR) / (1 - RELATIVE_ERROR)
_LOG_GAMMA: Final = math.log(_GAMMA)
# Beyond the bucket of any double.
_MOST_INDEX: Final = 40_000


class Buckets:
    """Counts of magnitudes by the bucket of their logarithm."""

    __slots__ = ("counts", "total")

    def __init__(self) -> None:
        self.counts: dict[int, int] = {}
        self.total = 0

    def add(self, magnitude: float) -> None:
        index = math.ceil(math.log(magnitude) / _LOG_GAMMA)
        self.counts[index] = self.counts.get(index, 0) + 1
        self.total += 1
        if len(self.counts) > MAX_BUCKETS:
            self._merge_smallest()

    def magnitude(self, rank: int) -> float:
        """The estimate of the `rank`-th smallest magnitude, from 1."""
        seen = 0
        for index in sorted(self.counts):
            seen += self.counts[index]
            if seen >= rank:
                # 2·γ^i / (γ+1), the middle in the relative sense; the factor is applied to the
                # exponent's result last, so that the largest doubles do not overflow on the way.
                return min(math.exp(min(index * _LOG_GAMMA, 709.7)) * (2 / (_GAMMA + 1)), 1.797e308)
        raise ValueError("no such rank")

    def merge(self, other: "Buckets") -> None:
        for index, count in other.counts.items():
            self.counts[index] = self.counts.get(index, 0) + count
        self.total += other.total
        while len(self.counts) > MAX_BUCKETS:
            self._merge_smallest()

    def _merge_smallest(self) -> None:
        # An eighth at once: merging one by one would sort at each new value.
        ordered = sorted(self.counts)
        keep = ordered[MAX_BUCKETS // 8]
        for index in ordered[: MAX_BUCKETS // 8]:
            self.counts[keep] += self.counts.pop(index)


class Sketch:
    """Values of both signs."""

    __slots__ = ("negative", "positive", "zeros")

    def __init__(self) -> None:
        self.negative = Buckets()
        self.positive = Buckets()
        self.zeros = 0

    def add(self, value: float) -> None:
        if value > 0.0:
            self.positive.add(value)
        elif value < 0.0:
            self.negative.add(-value)
        else:
            self.zeros += 1

    def count(self) -> int:
        return self.negative.total + self.zeros + self.positive.total

    def at(self, rank: int) -> float:
        """The estimate of the `rank`-th smallest value, from 1."""
        if rank <= self.negative.total:
            return -self.negative.magnitude(self.negative.total - rank + 1)
        rank -= self.negative.total
        if rank <= self.zeros:
            return 0.0
        return self.positive.magnitude(rank - self.zeros)


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
    grows = True

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
        self.sketch.zeros = bounded(saved[0], 0, MOST_COUNT)
        _refill(self.sketch.positive, saved[1])
        _refill(self.sketch.negative, saved[2])
        if not self.sketch.count():
            raise ValueError("a sketch of nothing")

    def merge(self, other: Aggregate) -> None:
        assert isinstance(other, RunningQuantile)
        self.sketch.zeros += other.sketch.zeros
        self.sketch.positive.merge(other.sketch.positive)
        self.sketch.negative.merge(other.sketch.negative)


def _middle(low: float, high: float) -> float:
    # Halved first: the sum of two large doubles may overflow.
    return low if low == high else low / 2 + high / 2


def _flat(buckets: Buckets) -> list[int]:
    return [item for pair in buckets.counts.items() for item in pair]


def _refill(buckets: Buckets, flat: int | float | list[int]) -> None:
    if not isinstance(flat, list):
        raise TypeError("expected a list of buckets")
    if len(flat) > 2 * MAX_BUCKETS:
        raise ValueError("too many buckets")
    for at in range(0, len(flat), 2):
        index = bounded(flat[at], -_MOST_INDEX, _MOST_INDEX)
        buckets.counts[index] = bounded(flat[at + 1], 1, MOST_COUNT)
    buckets.total = sum(buckets.counts.values())
