"""`$MEDIAN`: the middle value, or the mean of the middle two."""

from typing import Final

from gossamer.plus.operators.kinds import AggregateKind
from gossamer.plus.operators.quantile import MovingQuantile, RunningQuantile
from gossamer.plus.values import write_number


def _running() -> RunningQuantile:
    return RunningQuantile(50)


def _moving() -> MovingQuantile:
    return MovingQuantile(50)


MEDIAN: Final = AggregateKind("MEDIAN", "median", _running, _moving, write_number)
