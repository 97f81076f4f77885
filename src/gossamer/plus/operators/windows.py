"""Windows of time: they tumble on the clock, in UTC or in a time zone, or slide, or end with a gap.

Their names and lengths tell them apart, so that those every broker has are together in this file,
and the configuration adds others.
"""

import math
import re
from typing import Final

from gossamer.plus.operators.kinds import OperatorKind
from gossamer.plus.time_zones import TimeZone

_NAME = re.compile(r"[A-Z][A-Z0-9]*")

# Shorter windows than this would fire more results than most sensors publish values.
MIN_SECONDS: Final = 1.0
# Longer ones than a year of 366 days outlive any state that a broker should hold in memory.
MAX_SECONDS: Final = 366 * 86_400.0
# Hops in the length of a window that slides: all their counts are put together at each.
MAX_HOPS: Final = 128


class Window(OperatorKind):
    """Its keyword in front of an aggregate's makes that one over time: `DAILY`, `DAILYAVG`."""

    tumbles = True  # one ends where the next begins

    def __init__(self, name: str, seconds: float, zone: TimeZone | None = None) -> None:
        if not _NAME.fullmatch(name):
            raise ValueError(
                f"window {name!r}: a name is upper-case letters and digits, a letter first"
            )
        if not MIN_SECONDS <= seconds <= MAX_SECONDS:
            raise ValueError(
                f"window {name}: {seconds!r} seconds; allowed are "
                f"{MIN_SECONDS:.0f} to {MAX_SECONDS:.0f}"
            )
        where = "" if zone is None else f" of {zone.name}"
        super().__init__(name, f"windows of {seconds:g} seconds{where}")
        self.seconds = seconds
        self.zone = zone

    def is_plain(self) -> bool:
        """Whether its windows are the multiples of a length in UTC: those can be numbered, and what
        several brokers counted in them put together."""
        return self.tumbles and self.zone is None

    def start(self, now: float) -> float:
        """When the window that contains `now` began."""
        if self.zone is not None:
            return self.zone.start(now, self.seconds)
        return math.floor(now / self.seconds) * self.seconds

    def end(self, start: float) -> float:
        """Of the window that began then."""
        if self.zone is not None:
            return self.zone.end(start, self.seconds)
        return start + self.seconds


class SlidingWindow(Window):
    """One ends at each hop."""

    tumbles = False

    def __init__(self, name: str, seconds: float, hop: float, zone: TimeZone | None = None) -> None:
        super().__init__(name, seconds, zone)
        hops = seconds / hop if hop >= MIN_SECONDS else 0.0
        if not 1.0 < hops <= MAX_HOPS or hops != int(hops):
            raise ValueError(
                f"window {name}: a hop of {hop:g} seconds; a length is 2 to {MAX_HOPS} whole hops "
                f"of {MIN_SECONDS:.0f} second at least"
            )
        self.pane = Window(name, hop, zone)
        self.description = f"{self.description}, one each {hop:g} seconds"


class SessionWindow(Window):
    """Each topic's ends when nothing has come for `seconds`."""

    tumbles = False

    def __init__(self, name: str, gap: float) -> None:
        super().__init__(name, gap)
        self.description = f"windows that {gap:g} seconds without a value end"


DAILY: Final = Window("DAILY", 86_400.0)
HOURLY: Final = Window("HOURLY", 3_600.0)
QUARTERHOURLY: Final = Window("QUARTERHOURLY", 900.0)
