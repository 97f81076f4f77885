"""Bloom filters that answer wildcards: four searches, and the summaries that brokers exchange."""

from gossamer.bloom.bits import BloomFilter, sized_filter
from gossamer.bloom.counting_filter import CountingFilter
from gossamer.bloom.errors import SummaryError
from gossamer.bloom.exhaustive import ExhaustiveIndex
from gossamer.bloom.hashes import TopicHasher
from gossamer.bloom.hybrid import HybridIndex
from gossamer.bloom.patterned import PatternedIndex
from gossamer.bloom.prefixed import PrefixedIndex
from gossamer.bloom.summary import RemoteSummary, Summary

__all__ = [
    "BloomFilter",
    "CountingFilter",
    "ExhaustiveIndex",
    "HybridIndex",
    "PatternedIndex",
    "PrefixedIndex",
    "RemoteSummary",
    "Summary",
    "SummaryError",
    "TopicHasher",
    "sized_filter",
]
