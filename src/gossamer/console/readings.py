"""A broker's `/metrics` as plain numbers, and how fast they grow."""

from collections import deque
from typing import Final

from prometheus_client.parser import text_string_to_metric_families

PREFIX: Final = "gossamer_"
HISTORY: Final = 240  # points of a chart

Readings = dict[str, float]


def read_metrics(text: str) -> Readings:
    """By name without the prefix; a metric with labels is its sum over them."""
    found: Readings = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            if sample.name.startswith(PREFIX) and not sample.name.endswith("_created"):
                name = sample.name.removeprefix(PREFIX)
                found[name] = found.get(name, 0.0) + sample.value
    return found


class MetricRates:
    """How fast the counters of one broker grew, at each reading, for the last few minutes."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.history: dict[str, deque[float]] = {name: deque(maxlen=HISTORY) for name in names}
        self.times: deque[float] = deque(maxlen=HISTORY)
        self._before: Readings = {}
        self._at = 0.0

    def add(self, readings: Readings, now: float) -> None:
        """A counter that fell (the broker was started again) counts from zero."""
        elapsed = now - self._at
        if self._before and elapsed > 0.0:
            self.times.append(now)
            for name, history in self.history.items():
                value, before = readings.get(name, 0.0), self._before.get(name, 0.0)
                history.append((value - before if value >= before else value) / elapsed)
        self._before = readings
        self._at = now

    def latest(self, name: str) -> float:
        history = self.history[name]
        return history[-1] if history else 0.0
