"""`$P95`: the smallest value that at least 95 % of them do not exceed."""

from typing import Final

from gossamer.plus.operators.kinds import AggregateKind
from gossamer.plus.operators.quantile import MovingQuantile, RunningQuantile
from gossamer.plus.values import write_number


def _running() -> RunningQuantile:
    return RunningQuantile(95)


def _moving() -> MovingQuantile:
    return MovingQuantile(95)


P95: Final = AggregateKind("P95", "95th percentile", _running, _moving, write_number)
