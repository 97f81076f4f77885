"""Measures one cell: the look-ups that each method makes for a published topic, on average."""

import random
from dataclasses import dataclass

from gossamer.bench.bloom_workload import draw_filters, draw_topic
from gossamer.bloom.bits import BloomFilter, sized_filter
from gossamer.bloom.exhaustive import ExhaustiveSearch, whole_filter_elements
from gossamer.bloom.hashing import TopicHasher
from gossamer.bloom.hybrid import HybridSearch
from gossamer.bloom.landmarks import CountedLandmarks
from gossamer.bloom.patterned import PatternedSearch, pattern_of
from gossamer.bloom.prefixed import PrefixedSearch, ends, inner_prefixes
from gossamer.bloom.search import Search
from gossamer.experiments.bloom.cells import Cell

BF, BFP, PREFIX, HYBRID = "BF", "BFP", "prefix", "hybrid"
METHODS = (BF, BFP, PREFIX, HYBRID)
OTHERS = (BF, BFP, PREFIX)

# The size that the papers give, 1,437,759 bits. It is ample for every cell, so that the counts are
# those of the methods: a false positive ends a search early and would flatter the long ones.
_ELEMENTS = 100_000
_ERROR_RATE = 0.001

_NO_BUDGET = 1 << 40  # The papers count every query.


@dataclass(frozen=True)
class Effort:
    """How often subscriptions are drawn for a cell, and the topics published to each draw."""

    trials: int = 10
    topics: int = 20


FULL = Effort()
QUICK = Effort(trials=1, topics=4)


def measure(cell: Cell, effort: Effort, seed: int) -> dict[str, float]:
    """The average number of queries of each method. The same seed gives the same numbers."""
    parameters = cell.parameters()
    rng = random.Random(f"{seed} {parameters} {cell.preparation}")
    queries = dict.fromkeys(METHODS, 0)
    for trial in range(effort.trials):
        topics = [draw_topic(rng, parameters.levels) for _ in range(effort.topics)]
        filters = draw_filters(rng, parameters, cell.preparation, topics)
        for method, search in _searches(filters, f"{seed} {trial}".encode()).items():
            for topic in topics:
                search.may_match(topic.encode())
            queries[method] += search.queries
    searches = effort.trials * effort.topics
    return {method: count / searches for method, count in queries.items()}


def _searches(filters: list[str], seed: bytes) -> dict[str, Search]:
    """The four methods over one set of filters."""
    hasher = TopicHasher(seed)
    whole = _bloom()
    prefixes = _bloom()
    guided = _bloom()
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


def _bloom() -> BloomFilter:
    return sized_filter(_ELEMENTS, _ERROR_RATE)
