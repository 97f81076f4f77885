"""Bloom summaries: a neighbour holds a few bits for everything that is wanted behind this link.

What a neighbour is told is the union of this broker's own filters and of the summaries of all the
other neighbours. Unions are of bits, so nobody needs to know anybody else's filters. Sizes of bit
arrays differ by powers of two only; a smaller one is stretched, which can add needless matches and
never loses one.
"""

from typing import Final

from gossamer.bloom.bits import BloomFilter, positions_in
from gossamer.bloom.hashing import TopicHasher
from gossamer.bloom.hybrid import HybridIndex
from gossamer.bloom.landmarks import KINDS
from gossamer.bloom.summary import RemoteSummary, digest_of
from gossamer.bloom.wire import DELTA, FULL_BITS, Update, encode_delta, encode_full
from gossamer.mesh.control import SUMMARY, control_packet
from gossamer.mesh.teller import Teller
from gossamer.topics.cover import Change, Cover

# A flipped bit costs about two bytes in a delta; past this part of the bits, all are sent.
_FLIP_BITS: Final = 16


class Summaries:
    """What is wanted on this broker and behind each of its links, as bits."""

    def __init__(self, seed: bytes) -> None:
        self.hasher = TopicHasher(seed)
        self.own = HybridIndex(self.hasher)
        self._cover = Cover()
        self.remote: dict[str, RemoteSummary] = {}  # by neighbour, once it has spoken
        self.changes = 0

    def add(self, filter: str) -> None:
        self._apply(self._cover.add(filter))

    def remove(self, filter: str) -> None:
        self._apply(self._cover.remove(filter))

    def heard(self, name: str, summary: RemoteSummary) -> None:
        self.remote[name] = summary
        self.changes += 1

    def forget(self, name: str) -> None:
        if self.remote.pop(name, None) is not None:
            self.changes += 1

    def union_without(self, name: str) -> tuple[BloomFilter, list[int]]:
        """The bits and landmarks of everything but one neighbour's own."""
        arrays = [self.own.counting.plain]
        words = self.own.landmarks.words()
        for other, summary in self.remote.items():
            if other == name or summary.bits() is None:
                continue
            bits = summary.bits()
            assert bits is not None
            arrays.append(bits)
            theirs = summary.landmark_words()
            words = [words[kind] | theirs[kind] for kind in range(KINDS)]
        size = max(int(bits.size) for bits in arrays)
        union = BloomFilter(size, arrays[0].hashes)  # of its own: the arrays go on changing
        for bits in arrays:
            union = union.union(bits.stretched(size))
        return union, words

    def _apply(self, change: Change) -> None:
        for filter in change.entered:
            self.own.add(filter)
        for filter in change.left:
            self.own.remove(filter)
        if change.entered or change.left:
            self.changes += 1


class SummaryTeller(Teller):
    """Keeps one neighbour's copy of the union true, by deltas."""

    def __init__(self, summaries: Summaries, name: str) -> None:
        self._summaries = summaries
        self._name = name
        self._seen = -1
        self._told: BloomFilter | None = None
        self._landmarks: list[int] = []
        self._digest = 0
        self._version = 0

    def changes(self) -> list[bytes]:
        if self._told is None or self._seen == self._summaries.changes:
            return []
        self._seen = self._summaries.changes
        bits, landmarks = self._summaries.union_without(self._name)
        told = self._told
        if bits.size != told.size:
            return self._all(bits, landmarks)
        flips = positions_in(told.difference(bits))
        if not flips and landmarks == self._landmarks:
            return []
        if len(flips) * _FLIP_BITS > int(bits.size):
            return self._all(bits, landmarks)
        self._digest ^= digest_of(self._summaries.hasher, flips)
        self._version += 1
        update = self._update(DELTA, bits, landmarks, self._version - 1, flips)
        return [control_packet(SUMMARY, encode_delta(update))]

    def everything(self) -> list[bytes]:
        self._seen = self._summaries.changes
        bits, landmarks = self._summaries.union_without(self._name)
        return self._all(bits, landmarks)

    def told(self) -> int:
        return 0 if self._told is None else self._told.ones()

    def _all(self, bits: BloomFilter, landmarks: list[int]) -> list[bytes]:
        positions = bits.set_positions()
        self._digest = digest_of(self._summaries.hasher, positions)
        self._version += 1
        update = self._update(FULL_BITS, bits, landmarks, 0, positions)
        return [control_packet(SUMMARY, encode_full(update, bits.cells))]

    def _update(
        self, kind: int, bits: BloomFilter, landmarks: list[int], base: int, flips: list[int]
    ) -> Update:
        self._told = bits
        self._landmarks = landmarks
        return Update(
            kind,
            self._summaries.hasher.seed_id,
            bits.size,
            bits.hashes,
            self._version,
            landmarks,
            self._digest,
            base,
            flips,
        )
