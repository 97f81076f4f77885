"""One draw of subscriptions: the look-ups that each method makes for a published topic."""

import random
from collections.abc import Callable

from gossamer.bloom.filter import BloomFilter, sized_filter
from gossamer.bloom.hashes import TopicHasher
from gossamer.bloom.hybrid import HybridSearch
from gossamer.bloom.searches import ExhaustiveSearch, PatternedSearch, PrefixedSearch, Search
from gossamer_lab.bench.bloom_workload import Parameters, Preparation, draw_filters, draw_topic

BF, BFP, PREFIX, HYBRID = "BF", "BFP", "prefix", "hybrid"
METHODS = (BF, BFP, PREFIX, HYBRID)

_ELEMENTS = 100_000
_ERROR_RATE = 0.001

_NO_BUDGET = 1 << 40  # The papers count every query.


def average_queries(
    parameters: Parameters, preparation: Preparation, topics: int, seed: int
) -> dict[str, float]:
    """Of each method, over so many published topics. The same seed gives the same numbers."""
    rng = random.Random(f"{seed} {parameters} {preparation}")
    published = [draw_topic(rng, parameters.levels) for _ in range(topics)]
    filters = draw_filters(rng, parameters, preparation, published)
    averages = {}
    for method, search in searches(filters, str(seed).encode(), ample_filter).items():
        for topic in published:
            search.may_match(topic.encode())
        averages[method] = search.queries / topics
    return averages


def ample_filter() -> BloomFilter:
    """The size that the papers give, 1,437,759 bits. It is ample for every cell, so that counts are
    those of the methods: a false positive ends a search early and would flatter the long ones."""
    return sized_filter(_ELEMENTS, _ERROR_RATE)


def searches(
    filters: list[str], seed: bytes, new_filter: Callable[[], BloomFilter]
) -> dict[str, Search]:
    """The four methods over one set of filters; BF and BFP have the same bits."""
    hasher = TopicHasher(seed)
    whole = new_filter()
    methods: dict[str, Search] = {
        BF: ExhaustiveSearch(hasher, whole, _NO_BUDGET),
        BFP: PatternedSearch(hasher, whole, _NO_BUDGET),
        PREFIX: PrefixedSearch(hasher, new_filter(), _NO_BUDGET),
        HYBRID: HybridSearch(hasher, new_filter(), _NO_BUDGET),
    }
    for filter in set(filters):
        for search in methods.values():
            for element in search.elements_of(filter):
                search.bits.add(element)
            for guide in search.guides_of(filter):
                search.bits.add_guide(guide)
            search.note(filter, 1)
    return methods
