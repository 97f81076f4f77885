"""The aggregate functions in one ordered table, and how to make one."""

from collections.abc import Callable
from typing import Final

from gossamer.plus.aggregates.arrival import MovingFirst, MovingLast, RunningFirst, RunningLast
from gossamer.plus.aggregates.base import Aggregate
from gossamer.plus.aggregates.count import Count
from gossamer.plus.aggregates.deviation import Deviation
from gossamer.plus.aggregates.extremes import (
    MovingMaximum,
    MovingMinimum,
    RunningMaximum,
    RunningMinimum,
)
from gossamer.plus.aggregates.quantiles import MovingMedian, MovingP95, RunningMedian, RunningP95
from gossamer.plus.aggregates.totals import Average, Sum
from gossamer.plus.values import write_count, write_number


class FunctionKind:
    """One function: over time (`running`) and over topics (`moving`)."""

    def __init__(
        self,
        keyword: str,
        description: str,
        running: Callable[[], Aggregate],
        moving: Callable[[], Aggregate],
        write: Callable[[float], bytes] = write_number,
    ) -> None:
        self.keyword = keyword
        self.description = description
        self.running = running
        self.moving = moving
        self.write = write


FUNCTIONS: Final = (
    FunctionKind("COUNT", "number of values", Count, Count, write_count),
    FunctionKind("SUM", "sum", Sum, Sum),
    FunctionKind("AVG", "mean", Average, Average),
    FunctionKind("MIN", "least value", RunningMinimum, MovingMinimum),
    FunctionKind("MAX", "greatest value", RunningMaximum, MovingMaximum),
    FunctionKind("STDDEV", "population standard deviation", Deviation, Deviation),
    FunctionKind("MEDIAN", "median", RunningMedian, MovingMedian),
    FunctionKind("P95", "95th percentile", RunningP95, MovingP95),
    FunctionKind("FIRST", "earliest value", RunningFirst, MovingFirst),
    FunctionKind("LAST", "latest value", RunningLast, MovingLast),
)
FUNCTIONS_BY_KEYWORD: Final = {kind.keyword: kind for kind in FUNCTIONS}
