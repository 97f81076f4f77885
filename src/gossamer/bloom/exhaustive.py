"""BF, the naive search: every wildcard variant of the topic is looked up."""

from gossamer.bloom.bits import sized_filter
from gossamer.bloom.hashes import TopicHasher
from gossamer.bloom.index import DEFAULT_CAPACITY, DEFAULT_ERROR_RATE, TopicIndex
from gossamer.bloom.search import QUERY_BUDGET, Search, is_reserved


def whole_filter_elements(hasher: TopicHasher, filter: str) -> list[int]:
    """The filter as one element, and another for `p` if it is `p/#`, which matches that too."""
    prefix: int = hasher.root
    parent: int = prefix
    for level in hasher.filter_levels(filter):
        parent = prefix
        prefix = hasher.extend(prefix, level)
    found: list[int] = [hasher.extend(prefix, hasher.end)]
    if filter.endswith("/#"):
        found.append(hasher.extend(parent, hasher.end))
    return found


class ExhaustiveSearch(Search):
    """2ⁿ⁺¹-1 look-ups for a topic of n levels that nothing matches, the widest variants first."""

    def may_match(self, topic: bytes) -> bool:
        self.begin()
        hasher = self.hasher
        prefixes: list[int] = [hasher.root]
        wildcards = not is_reserved(topic)
        for level in hasher.levels(topic):
            longer: list[int] = []
            if wildcards:
                for prefix in prefixes:
                    if self._is_filter(hasher.extend(prefix, hasher.hash)):
                        return True
                longer = [hasher.extend(prefix, hasher.plus) for prefix in prefixes]
            longer.extend([hasher.extend(prefix, level) for prefix in prefixes])
            prefixes = longer
            wildcards = True
        return any(self._is_filter(prefix) for prefix in prefixes)

    def _is_filter(self, prefix: int) -> bool:
        return self.query(self.hasher.extend(prefix, self.hasher.end))


class ExhaustiveIndex(TopicIndex):
    """Filters for the exhaustive search."""

    def __init__(
        self,
        hasher: TopicHasher,
        capacity: int = DEFAULT_CAPACITY,
        error_rate: float = DEFAULT_ERROR_RATE,
        budget: int = QUERY_BUDGET,
    ) -> None:
        bits = sized_filter(capacity, error_rate)
        super().__init__(ExhaustiveSearch(hasher, bits, budget), capacity, error_rate)

    def elements_of(self, filter: str) -> list[int]:
        return whole_filter_elements(self.search.hasher, filter)
