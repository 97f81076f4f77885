"""How long to wait before another try: longer each time, and not all at once.

Nothing here reads a clock or sleeps; whoever tries does.
"""

from random import Random
from typing import Final

# Each pause is drawn from this part of its full length up: after an outage everybody tries again.
SHORTEST_PART: Final = 0.5
DOUBLING: Final = 2.0
_MOST_FAILURES: Final = 1_000  # that are counted: a float holds no power beyond


def pause_after(failures: int, first: float, longest: float, growth: float = DOUBLING) -> float:
    """The full pause after so many failures (0 is after the first one)."""
    return min(longest, first * growth ** min(failures, _MOST_FAILURES))


class Backoff:
    """The pauses between tries that go on for ever. Whoever gets through calls `reset`."""

    __slots__ = ("_failures", "_first", "_growth", "_longest", "_random")

    def __init__(
        self,
        first: float,
        longest: float,
        random: Random | None = None,
        growth: float = DOUBLING,
    ) -> None:
        self._first = first
        self._longest = longest
        self._growth = growth  # of each pause over the one before; up to DOUBLING
        self._random = random if random is not None else Random()
        self._failures = 0

    def reset(self) -> None:
        self._failures = 0

    def pause(self) -> float:
        """Seconds until the next try."""
        full = pause_after(self._failures, self._first, self._longest, self._growth)
        self._failures += 1
        return full * self._random.uniform(SHORTEST_PART, 1.0)


class Patience:
    """Pauses between tries that end so many seconds after the first failure."""

    __slots__ = ("_backoff", "_until", "seconds")

    def __init__(self, seconds: float, first: float = 0.1, longest: float = 5.0) -> None:
        self.seconds = seconds
        self._backoff = Backoff(first, longest)
        self._until: float | None = None

    def reset(self) -> None:
        self._backoff.reset()
        self._until = None

    def pause(self, now: float) -> float | None:
        """Seconds until the next try, None if there is none."""
        if self._until is None:
            self._until = now + self.seconds
        pause = self._backoff.pause()
        return pause if now + pause <= self._until else None
