"""Bloom filters that answer wildcards: four searches, and the summaries that brokers exchange."""

from gossamer.bloom.filter import BloomFilter, CountingFilter, sized_filter
from gossamer.bloom.hashes import TopicHasher
from gossamer.bloom.hybrid import HybridIndex, HybridSearch
from gossamer.bloom.searches import ExhaustiveSearch, PatternedSearch, PrefixedSearch
from gossamer.bloom.summary import RemoteSummary, Summary
from gossamer.bloom.summary_codec import SummaryError
from gossamer.bloom.topic_index import TopicIndex

__all__ = [
    "BloomFilter",
    "CountingFilter",
    "ExhaustiveSearch",
    "HybridIndex",
    "HybridSearch",
    "PatternedSearch",
    "PrefixedSearch",
    "RemoteSummary",
    "Summary",
    "SummaryError",
    "TopicHasher",
    "TopicIndex",
    "sized_filter",
]
