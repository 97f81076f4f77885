"""One draw of subscriptions: the look-ups that each method makes for a published topic."""

import random
from collections.abc import Callable

from gossamer.bloom.bits import BloomFilter, sized_filter
from gossamer.bloom.exhaustive import ExhaustiveSearch, whole_filter_elements
from gossamer.bloom.hashes import TopicHasher
from gossamer.bloom.hybrid import HybridSearch
from gossamer.bloom.landmarks import CountedLandmarks
from gossamer.bloom.patterned import PatternedSearch, pattern_of
from gossamer.bloom.prefixed import PrefixedSearch, ends, inner_prefixes
from gossamer.bloom.search import Search
from gossamer_lab.bench.bloom_workload import Parameters, Preparation, draw_filters, draw_topic

BF, BFP, PREFIX, HYBRID = "BF", "BFP", "prefix", "hybrid"
METHODS = (BF, BFP, PREFIX, HYBRID)
OTHERS = (BF, BFP, PREFIX)

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
    """The four methods over one set of filters, each on a Bloom filter of its own."""
    hasher = TopicHasher(seed)
    whole = new_filter()
    prefixes = new_filter()
    guided = new_filter()
    landmarks = CountedLandmarks()
    for filter in set(filters):
        for element in whole_filter_elements(hasher, filter):
            whole.add(element)
        for element in ends(hasher, filter):
            prefixes.add(element)
            guided.add(element)
        for prefix in inner_prefixes(hasher, filter):
            prefixes.add(prefix)
            guided.add_guide(prefix)
        landmarks.note(filter, 1)
    patterned = PatternedSearch(hasher, whole, _NO_BUDGET)
    patterned.patterns = sorted({pattern_of(filter) for filter in filters} - {_literal(filters)})
    return {
        BF: ExhaustiveSearch(hasher, whole, _NO_BUDGET),
        BFP: patterned,
        PREFIX: PrefixedSearch(hasher, prefixes, _NO_BUDGET),
        HYBRID: HybridSearch(hasher, guided, landmarks.shown, _NO_BUDGET),
    }


def _literal(filters: list[str]) -> str:
    """The pattern without wildcards, which every search by patterns tries anyway."""
    return "=" * max(filter.count("/") + 1 for filter in filters)
