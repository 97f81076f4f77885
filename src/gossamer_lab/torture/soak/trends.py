"""Whether a measure stays level: its slope after the warm-up, and how much of it is allowed.

In the first part of a run tables, caches and the interpreter's own memory fill to their bounds;
that is growth with an end, and is not judged. After it a straight line is laid through the samples
(the median of the slopes between all pairs, which a peak now and then does not bend). What the line
rises over the judged time, the drift, must stay below an allowance that covers what is left of that
filling and the sawtooth of files that are written and removed. A leak grows with the run and passes
any allowance; an allowance does not grow with the run.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median
from typing import Final

# Of the run; and never more than fifteen minutes, in which every cache has long been filled.
WARM_UP_SHARE: Final = 0.4
MOST_WARM_UP_SECONDS: Final = 900.0
# Samples are joined to so many medians: pairs of them are compared, and their number is squared.
MOST_POINTS: Final = 120
# With fewer a line says nothing.
LEAST_POINTS: Final = 5
_HOUR: Final = 3600.0


@dataclass(frozen=True)
class Measure:
    """A rise is allowed up to `most`, and up to `share` of the level besides."""

    name: str
    unit: str
    most: float
    share: float


@dataclass(frozen=True)
class Trend:
    subject: str
    measure: Measure
    level: float  # the median of what is judged
    slope: float  # an hour
    drift: float  # over what is judged
    allowed: float
    seconds: float  # that are judged

    @property
    def is_level(self) -> bool:
        return self.drift <= self.allowed


Samples = Sequence[tuple[float, float]]  # seconds since the start, value


def warm_up(seconds: float) -> float:
    """How much of a run of so many seconds is not judged."""
    return min(WARM_UP_SHARE * seconds, MOST_WARM_UP_SECONDS)


def trend(subject: str, measure: Measure, samples: Samples, begin: float) -> Trend | None:
    """Of the samples from `begin` on; None where there are too few."""
    points = _joined([sample for sample in samples if sample[0] >= begin])
    if len(points) < LEAST_POINTS:
        return None
    seconds = points[-1][0] - points[0][0]
    level = median(value for _, value in points)
    slope = median(
        (value - earlier_value) / (at - earlier)
        for number, (at, value) in enumerate(points)
        for earlier, earlier_value in points[:number]
        if at > earlier
    )
    allowed = measure.most + measure.share * level
    return Trend(subject, measure, level, slope * _HOUR, slope * seconds, allowed, seconds)


def _joined(samples: Samples) -> Samples:
    """At most so many points, each the median of its neighbours."""
    size = -(-len(samples) // MOST_POINTS) or 1
    groups = [samples[start : start + size] for start in range(0, len(samples), size)]
    return [
        (median(at for at, _ in group), median(value for _, value in group)) for group in groups
    ]
