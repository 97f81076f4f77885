"""What is known of one broker's words: those that stand, those that were heard, and how fast."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gossamer.mesh.relay.damping import Bucket
from gossamer.mesh.relay.words import Word

if TYPE_CHECKING:
    from gossamer.mesh.link import Link

LASTING_A_SECOND: Final = 20.0  # that one broker may change, after a burst
LASTING_BURST: Final = 60.0
PASSING_A_SECOND: Final = 2_000.0
PASSING_BURST: Final = 10_000.0
# Passing words of one broker that may overtake each other; what is older has been heard.
_WINDOW: Final = 4_096


class Origin:
    """One broker, since it was first heard of."""

    __slots__ = ("_highest", "_life", "_passing", "lasting", "passing_rate", "rate", "waiting")

    def __init__(self, now: float) -> None:
        self.lasting: dict[int, Word] = {}  # by kind
        self.rate = Bucket(LASTING_A_SECOND, LASTING_BURST, now)
        self.passing_rate = Bucket(PASSING_A_SECOND, PASSING_BURST, now)
        self.waiting: dict[int, tuple[Word, Link]] = {}  # damped, by kind
        self._life = 0  # of the passing words heard
        self._highest = 0
        self._passing: set[int] = set()

    def has_heard(self, word: Word) -> bool:
        """Of a passing word: whether it came before, or is too old to tell. A later life begins
        anew: what was heard of the one before is forgotten."""
        if word.life != self._life:
            if word.life < self._life:
                return True
            self._life = word.life
            self._highest = 0
            self._passing = set()
        return word.counter <= self._highest - _WINDOW or word.counter in self._passing

    def heard(self, word: Word) -> None:
        """A passing word, of the life that was asked for last."""
        passing = self._passing
        passing.add(word.counter)
        self._highest = max(self._highest, word.counter)
        if len(passing) > 2 * _WINDOW:
            oldest = self._highest - _WINDOW
            self._passing = {counter for counter in passing if counter > oldest}
