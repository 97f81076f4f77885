"""`$P95`: the smallest value that at least 95 % of them do not exceed."""

from gossamer.plus.operators.kinds import AggregateKind
from gossamer.plus.operators.quantile import MovingQuantile, RunningQuantile
from gossamer.plus.values import write_number

P95 = AggregateKind(
    "P95", "95th percentile", lambda: RunningQuantile(95), lambda: MovingQuantile(95), write_number
)
