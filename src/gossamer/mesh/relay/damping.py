"""Bounds for what others do too often: a bucket of permissions, and a log that stays short."""

from logging import Logger
from typing import Final

# The same complaint about the same neighbour is written down this often.
_REPEAT_SECONDS: Final = 60.0
_MOST_COMPLAINTS: Final = 1_000  # remembered; past it the memory starts anew


class Bucket:
    """So many a second over time, and a burst of more at once."""

    __slots__ = ("_burst", "_left", "_rate", "_seen")

    def __init__(self, rate: float, burst: float, now: float) -> None:
        self._rate = rate
        self._burst = burst
        self._left = burst
        self._seen = now

    def take(self, now: float) -> bool:
        """Whether one more is allowed; a clock that was set back refills nothing."""
        if now > self._seen:
            self._left = min(self._burst, self._left + (now - self._seen) * self._rate)
        self._seen = now
        if self._left < 1.0:
            return False
        self._left -= 1.0
        return True


class Complaints:
    """Warnings with a neighbour's name, each once a minute at most."""

    __slots__ = ("_last", "_logger", "total")

    def __init__(self, logger: Logger) -> None:
        self._logger = logger
        self._last: dict[str, float] = {}
        self.total = 0

    def say(self, neighbour: str, what: str, now: float) -> None:
        self.total += 1
        key = f"{neighbour}\0{what}"
        last = self._last.get(key)
        if last is not None and abs(now - last) < _REPEAT_SECONDS:
            return
        if len(self._last) >= _MOST_COMPLAINTS:
            self._last.clear()
        self._last[key] = now
        self._logger.warning("by the link to %s: %s", neighbour, what)
