"""What one broker tells another about the filters it wants, and keeps telling as they change.

A `SummaryWriter` is the advertiser's side of one direction of a link; a `RemoteSummary` is the
listener's. `full` makes the first message and `delta` all later ones; the listener gives each to
`apply`. A `Summary` is the advertiser's side where the filters of one index are all that is wanted.
"""

import math
from dataclasses import dataclass
from typing import Final

from gossamer.bloom.filter import BloomFilter, positions_in
from gossamer.bloom.hashes import TopicHasher
from gossamer.bloom.hybrid import HybridIndex, HybridSearch
from gossamer.bloom.landmarks import Landmarks
from gossamer.bloom.summary_codec import (
    ANYTHING,
    DELTA,
    FULL_BITS,
    SummaryError,
    Update,
    decode,
    encode,
)
from gossamer.bloom.topic_index import DEFAULT_CAPACITY

# A filter that holds what it was sized for is half set. Far above that it attracts everything,
# by a fault or by intention, so it is refused.
MAX_SATURATION: Final = 0.65

_FLIP_BITS: Final = 16  # What a flipped bit takes in a delta; in a complete message a bit takes 1.


@dataclass(frozen=True, slots=True, eq=False)
class WantedSummary:
    """What is to be told, and never changes: `anything` may be wanted if the bits are too full."""

    bits: BloomFilter
    landmarks: Landmarks
    elements: int
    anything: bool = False


class SummaryWriter:
    """Writes messages for one listener; `told` is what it knows after the last, None before."""

    def __init__(self, hasher: TopicHasher) -> None:
        self.told: WantedSummary | None = None
        self.version = 0
        self._hasher = hasher
        self._digest = 0

    def knows(self, wanted: WantedSummary) -> bool:
        """Whether the listener needs no message."""
        told = self.told
        if told is None or told.bits.size != wanted.bits.size or told.anything != wanted.anything:
            return False
        return told.anything or (
            told.bits.cells == wanted.bits.cells and told.landmarks.is_same(wanted.landmarks)
        )

    def full(self, wanted: WantedSummary) -> bytes:
        """Everything: for a listener that knows nothing, or lost its place."""
        positions = wanted.bits.set_positions()
        self._digest = digest_of(self._hasher, positions)
        if wanted.anything:
            return self._message(ANYTHING, wanted, positions)
        return self._message(FULL_BITS, wanted, positions)

    def delta(self, wanted: WantedSummary) -> bytes:
        """What changed since the last message; everything, if that is smaller or all moved."""
        told = self.told
        if told is None or told.bits.size != wanted.bits.size or told.anything or wanted.anything:
            return self.full(wanted)
        flips = positions_in(told.bits.difference(wanted.bits))
        if len(flips) * _FLIP_BITS > int(wanted.bits.size):
            return self.full(wanted)
        self._digest ^= digest_of(self._hasher, flips)
        return self._message(DELTA, wanted, flips)

    def _message(self, kind: int, wanted: WantedSummary, positions: list[int]) -> bytes:
        bits = wanted.bits
        base = self.version
        self.version += 1
        self.told = wanted
        return encode(
            Update(
                kind,
                self._hasher.seed_id,
                bits.size,
                bits.hashes,
                wanted.elements,
                self.version,
                wanted.landmarks,
                self._digest,
                base,
                positions,
                bytes(bits.cells),
            )
        )


class Summary:
    """The filters that are wanted, and what the listener knows of them."""

    def __init__(self, hasher: TopicHasher, capacity: int = DEFAULT_CAPACITY) -> None:
        self.index = HybridIndex(hasher, capacity)
        self.writer = SummaryWriter(hasher)

    def add(self, filter: str) -> bool:
        """Wants a valid filter once more; true if it was not wanted before."""
        return self.index.add(filter)

    def remove(self, filter: str) -> bool:
        """Wants it once less; true if it is gone. One that is not wanted is a `KeyError`."""
        return self.index.remove(filter)

    def full(self) -> bytes:
        return self.writer.full(wanted_of(self.index))

    def delta(self) -> bytes:
        return self.writer.delta(wanted_of(self.index))


def wanted_of(index: HybridIndex) -> WantedSummary:
    """What the filters of an index want, as copies: the index goes on changing."""
    bits = index.counting.plain
    landmarks = index.landmarks
    return WantedSummary(bits.union(bits), landmarks.union(landmarks), index.load())


class RemoteSummary:
    """What a neighbour wants, as far as it told. Before it told anything, it may want all."""

    def __init__(self, hasher: TopicHasher) -> None:
        self.version = 0
        self.size = 0  # Of the advertiser's bits, whether they were told or not.
        self._elements = 0
        self._hasher = hasher
        self._digest = 0
        self._ones = 0
        self._search: HybridSearch | None = None

    def may_match(self, topic: str) -> bool:
        """Whether the neighbour may want this topic. No means no."""
        search = self._search
        return search is None or search.may_match(topic.encode())

    def queries(self) -> int:
        """The look-ups of all searches since the last complete message."""
        search = self._search
        return 0 if search is None else search.queries

    def size_in_bytes(self) -> int:
        """The bits that are kept for the neighbour."""
        search = self._search
        return 0 if search is None else len(search.bits.cells)

    def bits(self) -> BloomFilter | None:
        """What the neighbour told; None before it did, and if it may want anything."""
        search = self._search
        return None if search is None else search.bits

    def landmarks(self) -> Landmarks | None:
        """What the neighbour told beside the bits."""
        search = self._search
        return None if search is None else search.landmarks

    def elements(self) -> int:
        """How many elements the bits are for: as told, or fewer by the look of the bits.

        A union counts what two of its parts share twice; one that was stretched looks too full.
        """
        search = self._search
        if search is None:
            return self._elements
        return min(self._elements, math.ceil(search.bits.estimated_elements()))

    def saturation(self) -> float:
        search = self._search
        return 0.0 if search is None else self._ones / int(search.bits.size)

    def apply(self, data: bytes) -> None:
        """Takes a message in; `SummaryError`, and no change at all, if it cannot be right."""
        update = decode(data)
        if update.seed_id != self._hasher.seed_id:
            raise SummaryError("the summary was made with another deployment's seed")
        if update.kind == DELTA:
            self._apply_delta(update)
        elif update.kind == ANYTHING:
            self._search = None
            self._took(update, 0)
        else:
            self._apply_full(update)

    def _apply_full(self, update: Update) -> None:
        _check_saturation(len(update.bits), update.size)
        if digest_of(self._hasher, update.bits) != update.digest:
            raise SummaryError("the bits of the summary do not match its digest")
        bits = BloomFilter(update.size, update.hashes)
        if update.cells:
            bits.take(update.cells)
        else:
            for position in update.bits:
                bits.flip(position)
        self._search = HybridSearch(self._hasher, bits)
        self._search.landmarks = update.landmarks
        self._took(update, len(update.bits))

    def _apply_delta(self, update: Update) -> None:
        search = self._search
        if search is None or update.base != self.version:
            raise SummaryError(
                f"the summary continues version {update.base}, and {self.version} is known"
            )
        bits = search.bits
        if update.size != bits.size or update.hashes != bits.hashes:
            raise SummaryError("the summary update is for another size")
        if self._digest ^ digest_of(self._hasher, update.bits) != update.digest:
            raise SummaryError("the summary update does not follow the known state")
        ones = self._ones
        for position in update.bits:
            ones += -1 if bits.is_set(position) else 1
        _check_saturation(ones, update.size)
        for position in update.bits:
            bits.flip(position)
        search.landmarks = update.landmarks
        self._took(update, ones)

    def _took(self, update: Update, ones: int) -> None:
        self.version = update.version
        self.size = update.size
        self._elements = update.elements
        self._digest = update.digest
        self._ones = ones


def digest_of(hasher: TopicHasher, positions: list[int]) -> int:
    """A sum over positions: in any order, and a position twice is as if it were not there."""
    digest = 0
    for position in positions:
        digest ^= hasher.extend(hasher.end, position + 1)
    return digest


def _check_saturation(ones: int, size: int) -> None:
    if ones > MAX_SATURATION * size:
        raise SummaryError(f"the summary is saturated: {ones} of its {size} bits are set")
