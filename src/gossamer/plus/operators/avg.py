"""`$AVG`: the mean, from an exact sum."""

from gossamer.plus.operators.exact_sum import ratio
from gossamer.plus.operators.kinds import AggregateKind
from gossamer.plus.operators.sum import Sum
from gossamer.plus.values import write_number


class Average(Sum):
    def result(self) -> float:
        return ratio(self.sum.total, self.count << self.sum.shift)


AVG = AggregateKind("AVG", "mean", Average, Average, write_number)
