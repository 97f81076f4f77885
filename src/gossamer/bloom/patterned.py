"""BFP, the search of Naaman and Chen et al.: the wildcard patterns in use stand beside the bits.

A pattern says at which levels a filter has its wildcards: `a/+/c` is `=+=` and `a/+/#` is `=+#`.
Only the variants of the topic that some pattern in use makes are looked up.
"""

from bisect import insort

from gossamer.bloom.bits import BloomFilter, sized_filter
from gossamer.bloom.exhaustive import whole_filter_elements
from gossamer.bloom.hashes import TopicHasher
from gossamer.bloom.index import DEFAULT_CAPACITY, DEFAULT_ERROR_RATE, TopicIndex
from gossamer.bloom.search import QUERY_BUDGET, Search, is_reserved


def pattern_of(filter: str) -> str:
    return "".join([level if level in ("+", "#") else "=" for level in filter.split("/")])


class PatternedSearch(Search):
    """One look-up for each wildcard pattern that fits the topic, and one for the topic itself."""

    def __init__(self, hasher: TopicHasher, bits: BloomFilter, budget: int = QUERY_BUDGET) -> None:
        super().__init__(hasher, bits, budget)
        # In order: `#` sorts before `+` before `=`, so those that match most topics come first.
        self.patterns: list[str] = []

    def may_match(self, topic: bytes) -> bool:
        self.begin()
        levels = self.hasher.levels(topic)
        depth = len(levels)
        reserved = is_reserved(topic)
        for pattern in self.patterns:
            if reserved and pattern[0] != "=":
                continue
            length = len(pattern)
            fits = depth >= length - 1 if pattern.endswith("#") else depth == length
            if fits and self._has_variant(pattern, levels):
                return True
        return self._has_variant("=" * depth, levels)

    def _has_variant(self, pattern: str, levels: list[int]) -> bool:
        hasher = self.hasher
        prefix: int = hasher.root
        for at in range(len(pattern)):
            wildcard = pattern[at]
            if wildcard == "+":
                prefix = hasher.extend(prefix, hasher.plus)
            elif wildcard == "#":
                prefix = hasher.extend(prefix, hasher.hash)
            else:
                prefix = hasher.extend(prefix, levels[at])
        return self.query(hasher.extend(prefix, hasher.end))


class PatternedIndex(TopicIndex):
    """Filters for the search by patterns."""

    def __init__(
        self,
        hasher: TopicHasher,
        capacity: int = DEFAULT_CAPACITY,
        error_rate: float = DEFAULT_ERROR_RATE,
        budget: int = QUERY_BUDGET,
    ) -> None:
        self._patterned = PatternedSearch(hasher, sized_filter(capacity, error_rate), budget)
        self._counts: dict[str, int] = {}
        super().__init__(self._patterned, capacity, error_rate)

    def elements_of(self, filter: str) -> list[int]:
        # The pattern of `p/#` is also tried on `p`, so `p` needs no element of its own.
        return whole_filter_elements(self.search.hasher, filter)[:1]

    def note(self, filter: str, change: int) -> None:
        pattern = pattern_of(filter)
        if "+" not in pattern and "#" not in pattern:
            return
        count = self._counts.get(pattern, 0) + change
        if count == 0:
            del self._counts[pattern]
            self._patterned.patterns.remove(pattern)
        else:
            self._counts[pattern] = count
            if count == 1 and change == 1:
                insort(self._patterned.patterns, pattern)
