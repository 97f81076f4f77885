"""Bloom summaries: a neighbour holds a few bits for everything that is wanted behind this link.

What a neighbour is told is the union of this broker's own filters and of the summaries of all the
other neighbours. Unions are of bits, so nobody needs to know anybody else's filters. Sizes of bit
arrays differ by powers of two only; a smaller one is stretched, which can add needless matches and
never loses one.

Unions fill up. So every broker lays out its own bits for all the elements that it hears of, and at
least as large as its neighbours do: the largest size spreads through the mesh, and the unions thin
out. Until they have, a union that is too full is told as "anything", which loses nothing either.
So is the union with a neighbour that has not spoken since this broker started: it may want all.
"""

import math

from gossamer.bloom.filter import MAX_BITS, elements_of
from gossamer.bloom.hashes import TopicHasher
from gossamer.bloom.hybrid import HybridIndex
from gossamer.bloom.summary import (
    MAX_SATURATION,
    RemoteSummary,
    SummaryWriter,
    WantedSummary,
    wanted_of,
)
from gossamer.mesh.control_messages import SUMMARY, control_packet
from gossamer.mesh.interest.filter_advertiser import Advertiser
from gossamer.topics.cover import Cover, CoverChange


class Summaries:
    """What is wanted on this broker and behind each of its links, as bits."""

    def __init__(self, seed: bytes) -> None:
        self.hasher = TopicHasher(seed)
        self.own = HybridIndex(self.hasher)
        self._cover = Cover()
        self._silent: dict[str, None] = {}  # neighbours that have not spoken yet
        self.remote: dict[str, RemoteSummary] = {}  # of those that have
        self.changes = 0

    def add(self, filter: str) -> None:
        self._apply(self._cover.add(filter))

    def remove(self, filter: str) -> None:
        self._apply(self._cover.remove(filter))

    def expect(self, name: str) -> None:
        """A neighbour is known, but not what it wants."""
        self.remote.pop(name, None)
        self._silent[name] = None
        self.changes += 1

    def heard(self, name: str, summary: RemoteSummary) -> None:
        self._silent.pop(name, None)
        self.remote[name] = summary
        self._make_room()
        self.changes += 1

    def forget(self, name: str) -> None:
        self._silent.pop(name, None)
        self.remote.pop(name, None)
        self.changes += 1

    def restart(self, filters: list[str]) -> None:
        """These are this broker's own now; what neighbours have told stays."""
        self.own = HybridIndex(self.hasher)
        self._cover = Cover()
        for filter in filters:
            self.add(filter)
        if self.remote:
            self._make_room()
        self.changes += 1

    def union_without(self, name: str) -> WantedSummary:
        """Everything but one neighbour's own."""
        own = wanted_of(self.own)
        union = own.bits
        size = int(union.size)  # `_make_room` keeps it the largest.
        landmarks = own.landmarks
        elements = own.elements
        anything = any(other != name for other in self._silent)
        for other, summary in self.remote.items():
            if other == name:
                continue
            elements += summary.elements()
            bits = summary.bits()
            theirs = summary.landmarks()
            if (
                bits is None
                or theirs is None
                or size % int(bits.size)
                or bits.hashes != union.hashes
            ):
                anything = True
            else:
                union = union.union(bits.stretched(size))
                landmarks = landmarks.union(theirs)
        anything = anything or union.saturation() > MAX_SATURATION
        return WantedSummary(union, landmarks, elements, anything)

    def _make_room(self) -> None:
        elements = self.own.load()
        for summary in self.remote.values():
            elements += summary.elements()
        own = self.own
        if elements > own.capacity:
            elements = min(elements, self._distinct())
        largest = max(summary.size for summary in self.remote.values())
        as_large = own.capacity * largest // int(own.counting.plain.size)
        own.reserve(max(elements, as_large))

    def _distinct(self) -> int:
        """How many elements there are by the look of the bits: many brokers want the same."""
        union = self.union_without("").bits
        ones = union.ones()
        if ones > MAX_SATURATION * int(union.size):
            return MAX_BITS
        return math.ceil(elements_of(int(union.size), int(union.hashes), ones))

    def _apply(self, change: CoverChange) -> None:
        for filter in change.entered:
            self.own.add(filter)
        for filter in change.left:
            self.own.remove(filter)
        if change.entered or change.left:
            self.changes += 1


class SummaryAdvertiser(Advertiser):
    """Keeps one neighbour's copy of the union true, by deltas."""

    def __init__(self, summaries: Summaries, name: str) -> None:
        super().__init__()
        self.is_paced = True
        self._summaries = summaries
        self._name = name
        self._seen = -1
        self._writer = SummaryWriter(summaries.hasher)

    def changes(self) -> list[bytes]:
        if self._writer.told is None or self._seen == self._summaries.changes:
            return []
        self._seen = self._summaries.changes
        wanted = self._summaries.union_without(self._name)
        if self._writer.knows(wanted):
            return []
        self.interests += 1
        return [control_packet(SUMMARY, self._writer.delta(wanted))]

    def everything(self) -> list[bytes]:
        self._seen = self._summaries.changes
        wanted = self._summaries.union_without(self._name)
        self.interests += 1
        return [control_packet(SUMMARY, self._writer.full(wanted))]

    def told(self) -> int:
        told = self._writer.told
        return 0 if told is None else told.bits.ones()
