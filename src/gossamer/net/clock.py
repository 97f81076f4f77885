"""The broker's time: it goes on as the monotonic clock does, whatever is done to the wall clock.

It reads like seconds of the wall clock, and began as that, so that what was stored in it long ago
still has its meaning; but a wall clock that is set forward or back does not move it. So
keep-alives, expiries, delays and rates take as long as was agreed. What must be told in the time of
the world (windows, archives, `plus_ttl`) adds `offset`.
"""

import time
from collections.abc import Callable
from typing import Final

from gossamer.broker.loop_turns import Stopwatch

# Two readings are not taken at once; less than this apart they are the same clock.
SAME: Final = 0.05


class Clock(Stopwatch):
    """`start` is the broker's time now: the wall clock's by default, or what a store says."""

    def __init__(
        self,
        start: float | None = None,
        wall: Callable[[], float] = time.time,
        monotonic: Callable[[], float] = time.perf_counter,
    ) -> None:
        self._wall = wall
        self.monotonic = monotonic
        self._base = (wall() if start is None else start) - monotonic()
        self.offset = 0.0  # what the wall clock shows more than this one
        self.look()

    def now(self) -> float:
        return self.monotonic() + self._base

    def read(self) -> float:
        """Of the monotonic clock: for how long something takes, and for `at`."""
        return self.monotonic()

    def at(self, reading: float) -> float:
        """The broker's time at that reading: one look at the clock is enough for both."""
        return reading + self._base

    def look(self) -> float:
        """By how much the wall clock was set since the last look: 0.0 if it was not."""
        offset = self._wall() - self.now()
        step = offset - self.offset
        if abs(step) < SAME:
            return 0.0
        self.offset = 0.0 if abs(offset) < SAME else offset
        return step
