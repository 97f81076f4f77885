"""Everything that an aggregate over time may be asked for, counted at once.

It is for topics of which nobody has said yet what they want to know: the count, the exact sum, the
least and the greatest value of the paper's Table 2, and what the other functions need.
"""

from collections.abc import Callable
from typing import Final

from gossamer.plus.operators.aggregate import Aggregate, Saved
from gossamer.plus.operators.first import RunningFirst
from gossamer.plus.operators.kinds import AggregateKind
from gossamer.plus.operators.last import RunningLast
from gossamer.plus.operators.max import RunningMaximum
from gossamer.plus.operators.min import RunningMinimum
from gossamer.plus.operators.quantile import RunningQuantile
from gossamer.plus.operators.stddev import Deviation
from gossamer.plus.registry import AGGREGATES
from gossamer.plus.values import write_number

# What they take beside the topic, without the buckets of the sketch.
STATISTICS_BYTES: Final = 1_536


class Statistics(Aggregate):
    grows = True

    def __init__(self) -> None:
        self.spread = Deviation()
        self.least = RunningMinimum()
        self.greatest = RunningMaximum()
        self.first = RunningFirst()
        self.last = RunningLast()
        self.sketch = RunningQuantile(50)  # the percentage matters to results only

    def add(self, value: float, order: int) -> None:
        self.spread.add(value, order)
        self.least.add(value, order)
        self.greatest.add(value, order)
        self.first.add(value, order)
        self.last.add(value, order)
        self.sketch.add(value, order)

    def latest_order(self) -> int:
        return self.last.order

    def buckets(self) -> int:
        return self.sketch.buckets()

    def save(self) -> Saved:
        """Each part's own, one after the other."""
        saved: Saved = []
        for part in self._parts():
            saved += part.save()
        return saved

    def restore(self, saved: Saved) -> None:
        start = 0
        for part, size in zip(self._parts(), _SIZES, strict=True):
            part.restore(saved[start : start + size])
            start += size

    def of(self, keyword: str) -> Aggregate | None:
        """The running aggregate of that function, as if it had counted all this; None for one that
        needs something else."""
        read = _SAVED.get(keyword)
        if read is None:
            return None
        aggregate = AGGREGATES[keyword].running()
        aggregate.restore(read(self))
        return aggregate

    def _parts(self) -> list[Aggregate]:
        return [self.spread, self.least, self.greatest, self.first, self.last, self.sketch]


# How many items each part saves.
_SIZES: Final = (4, 1, 1, 2, 2, 3)

# What each function would have saved.
_SAVED: Final[dict[str, Callable[[Statistics], Saved]]] = {
    "COUNT": lambda seen: [seen.spread.count],
    "SUM": lambda seen: seen.spread.save()[:3],
    "AVG": lambda seen: seen.spread.save()[:3],
    "STDDEV": lambda seen: seen.spread.save(),
    "MIN": lambda seen: seen.least.save(),
    "MAX": lambda seen: seen.greatest.save(),
    "FIRST": lambda seen: seen.first.save(),
    "LAST": lambda seen: seen.last.save(),
    "MEDIAN": lambda seen: seen.sketch.save(),
    "P95": lambda seen: seen.sketch.save(),
}

STATISTICS: Final = AggregateKind("STATISTICS", "all of them", Statistics, Statistics, write_number)
