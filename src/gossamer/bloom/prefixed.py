"""The prefix search of Banno and Watanabe: the topic tree, walked through the Bloom filter.

Every prefix of a filter is an element, its last one with an end token. A search follows the
prefixes that exist, `#` first, then `+`, then the level itself, and comes back for the branches it
left: the printed algorithm does not, and would miss `a/b/c` beside `a/+/x`.
"""

from mypy_extensions import i64

from gossamer.bloom.bits import sized_filter
from gossamer.bloom.hashes import TopicHasher
from gossamer.bloom.index import DEFAULT_CAPACITY, DEFAULT_ERROR_RATE, TopicIndex
from gossamer.bloom.search import QUERY_BUDGET, Search, is_reserved


def inner_prefixes(hasher: TopicHasher, filter: str) -> list[int]:
    """The prefixes of a filter that are shorter than itself."""
    levels = hasher.filter_levels(filter)
    found: list[int] = []
    prefix: int = hasher.root
    for at in range(len(levels) - 1):
        prefix = hasher.extend(prefix, levels[at])
        found.append(prefix)
    return found


def ends(hasher: TopicHasher, filter: str) -> list[int]:
    """What ends a search: the whole filter, and if it is `p/#` also `p`, which it matches too."""
    levels = hasher.filter_levels(filter)
    prefix: int = hasher.root
    for at in range(len(levels) - 1):
        prefix = hasher.extend(prefix, levels[at])
    whole: int = hasher.extend(prefix, levels[-1])
    if not filter.endswith("#"):
        return [hasher.extend(whole, hasher.end)]
    return [whole] if len(levels) == 1 else [whole, hasher.extend(prefix, hasher.end)]


class PrefixedSearch(Search):
    """Three look-ups at each prefix that exists."""

    def may_match(self, topic: bytes) -> bool:
        self.begin()
        return self.walk(self.hasher.levels(topic), is_reserved(topic))

    def walk(self, levels: list[int], reserved: bool) -> bool:
        """Depth first, without recursion: a topic may have more levels than the stack bears."""
        hasher = self.hasher
        last = len(levels) - 1
        untried: list[tuple[int, int]] = []  # Prefixes whose next level is yet to be followed.
        prefix: int = hasher.root
        at = 0
        while True:
            if at or not reserved:
                if self.query(hasher.extend(prefix, hasher.hash)):
                    return True
                longer: int = hasher.extend(prefix, hasher.plus)
                if self.exists(longer, at == last):
                    if at == last:
                        return True
                    untried.append((prefix, at))
                    prefix = longer
                    at += 1
                    continue
            longer = hasher.extend(prefix, levels[at])
            while not self.exists(longer, at == last):
                if not untried:
                    return False
                prefix, at = untried.pop()
                longer = hasher.extend(prefix, levels[at])
            if at == last:
                return True
            prefix = longer
            at += 1

    def exists(self, prefix: i64, whole: bool) -> bool:
        """Whether a prefix, or a whole filter, is there."""
        return self.query(self.hasher.extend(prefix, self.hasher.end) if whole else prefix)


class PrefixedIndex(TopicIndex):
    """Filters for the prefix search."""

    def __init__(
        self,
        hasher: TopicHasher,
        capacity: int = DEFAULT_CAPACITY,
        error_rate: float = DEFAULT_ERROR_RATE,
        budget: int = QUERY_BUDGET,
    ) -> None:
        bits = sized_filter(capacity, error_rate)
        super().__init__(PrefixedSearch(hasher, bits, budget), capacity, error_rate)

    def elements_of(self, filter: str) -> list[int]:
        hasher = self.search.hasher
        return inner_prefixes(hasher, filter) + ends(hasher, filter)
