"""`$MEDIAN`: the middle value, or the mean of the middle two."""

from gossamer.plus.operators.kinds import AggregateKind
from gossamer.plus.operators.quantile import MovingQuantile, RunningQuantile
from gossamer.plus.values import write_number

MEDIAN = AggregateKind(
    "MEDIAN", "median", lambda: RunningQuantile(50), lambda: MovingQuantile(50), write_number
)
