"""An average over seeds, and how far to trust it: the 95 % confidence interval of the mean."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import fmean, stdev
from typing import Final

# Student's t for 95 %, by degrees of freedom; beyond the last the normal distribution is near.
_T: Final = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
_NORMAL: Final = 1.96


@dataclass(frozen=True)
class Band:
    mean: float
    half: float  # of the interval's width; 0 where there is one value only

    @property
    def low(self) -> float:
        return self.mean - self.half

    @property
    def high(self) -> float:
        return self.mean + self.half


def band(values: Sequence[float]) -> Band:
    count = len(values)
    if count < 2:
        return Band(fmean(values), 0.0)
    freedom = count - 1
    t = _T[freedom - 1] if freedom <= len(_T) else _NORMAL
    return Band(fmean(values), t * stdev(values) / sqrt(count))
