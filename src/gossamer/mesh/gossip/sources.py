"""What is known of one broker's gossip: the items in force, those that were received, and how fast
it may send more."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gossamer.mesh.gossip.item import GossipItem

if TYPE_CHECKING:
    from gossamer.mesh.link import Link

LASTING_A_SECOND: Final = 20.0  # that one broker may change, after a burst
LASTING_BURST: Final = 60.0
PASSING_A_SECOND: Final = 2_000.0
PASSING_BURST: Final = 10_000.0
# Passing words of one broker that may overtake each other; what is older has been heard.
_WINDOW: Final = 4_096


class GossipSource:
    """One broker, since it was first heard of."""

    __slots__ = ("_highest", "_life", "_passing", "lasting", "passing_rate", "rate", "waiting")

    def __init__(self, now: float) -> None:
        self.lasting: dict[int, GossipItem] = {}  # by kind
        self.rate = TokenBucket(LASTING_A_SECOND, LASTING_BURST, now)
        self.passing_rate = TokenBucket(PASSING_A_SECOND, PASSING_BURST, now)
        self.waiting: dict[int, tuple[GossipItem, Link]] = {}  # damped, by kind
        self._life = 0  # of the passing words heard
        self._highest = 0
        self._passing: set[int] = set()

    def has_heard(self, word: GossipItem) -> bool:
        """Of a passing word: whether it came before, or is too old to tell. A later life begins
        anew: what was heard of the one before is forgotten."""
        if word.life != self._life:
            if word.life < self._life:
                return True
            self._life = word.life
            self._highest = 0
            self._passing = set()
        return word.counter <= self._highest - _WINDOW or word.counter in self._passing

    def heard(self, word: GossipItem) -> None:
        """A passing word, of the life that was asked for last."""
        passing = self._passing
        passing.add(word.counter)
        self._highest = max(self._highest, word.counter)
        if len(passing) > 2 * _WINDOW:
            oldest = self._highest - _WINDOW
            self._passing = {counter for counter in passing if counter > oldest}


class TokenBucket:
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
