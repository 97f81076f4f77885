"""What a search is: topic names asked of the bits of a Bloom filter, every look-up counted.

A search needs the bits, the hasher they were made with and, for some, a few words beside them. It
does not care whether they are kept here or came from another broker.
"""

from typing import Final, final

from mypy_extensions import i64

from gossamer.bloom.bits import BloomFilter
from gossamer.bloom.hashes import TopicHasher

QUERY_BUDGET: Final = 256  # Twenty times an ordinary search; past it the answer is yes.

_DOLLAR: Final = 0x24


class Search:
    """`queries` counts the look-ups of all searches so far; each may make at most `budget`."""

    def __init__(self, hasher: TopicHasher, bits: BloomFilter, budget: int = QUERY_BUDGET) -> None:
        self.hasher = hasher
        self.bits = bits
        self.budget: i64 = budget
        self.queries: i64 = 0
        self._limit: i64 = 0

    def may_match(self, topic: bytes) -> bool:
        """Whether a filter may match this topic name (UTF-8). No means no."""
        raise NotImplementedError

    @final
    def begin(self) -> None:
        self._limit = self.queries + self.budget

    @final
    def query(self, element: i64) -> bool:
        """One counted look-up; yes, uncounted, once the budget of the search is spent."""
        if self.queries >= self._limit:
            return True
        self.queries += 1
        return self.bits.contains(element)

    @final
    def query_guide(self, element: i64) -> bool:
        """The same for a guide."""
        if self.queries >= self._limit:
            return True
        self.queries += 1
        return self.bits.contains_guide(element)


def is_reserved(topic: bytes) -> bool:
    """Whether the topic begins with `$`: then no wildcard matches its first level."""
    return len(topic) > 0 and topic[0] == _DOLLAR  # [MQTT-4.7.2-1]
