"""Quantiles of a stream in bounded memory: a DDSketch.

A value falls into the bucket of its logarithm, so an estimated order statistic is within
RELATIVE_ERROR of the true one (Masson, Rim and Lee, VLDB 2019). At most MAX_BUCKETS are kept for
each sign; where the values span more than 17 orders of magnitude, those nearest to zero are
merged, and only they lose the promise.
"""

import math
from typing import Final

RELATIVE_ERROR: Final = 0.01
MAX_BUCKETS: Final = 2048

_GAMMA: Final = (1 + RELATIVE_ERROR) / (1 - RELATIVE_ERROR)
_LOG_GAMMA: Final = math.log(_GAMMA)


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
