"""What one broker tells another about the filters it wants, and keeps telling as they change.

A `Summary` is the advertiser's side of one direction of a link; a `RemoteSummary` is the
listener's. `full` makes the first message and `delta` all later ones; the listener gives each to
`apply`.
"""

import math
from typing import Final

from gossamer.bloom.bits import BloomFilter
from gossamer.bloom.errors import SummaryError
from gossamer.bloom.hashes import TopicHasher
from gossamer.bloom.hybrid import HybridIndex, HybridSearch
from gossamer.bloom.index import DEFAULT_CAPACITY, DEFAULT_ERROR_RATE
from gossamer.bloom.landmarks import Landmarks
from gossamer.bloom.search import QUERY_BUDGET
from gossamer.bloom.wire import (
    ANYTHING,
    DELTA,
    FULL_BITS,
    Update,
    decode,
    encode_delta,
    encode_full,
)

# A filter that holds what it was sized for is half set. Far above that it attracts everything,
# by a fault or by intention, so it is refused.
MAX_SATURATION: Final = 0.65

_FLIP_BITS: Final = 16  # What a flipped bit takes in a delta; in a complete message a bit takes 1.


class Summary:
    """The filters that are wanted, and what the listener knows of them."""

    def __init__(
        self,
        hasher: TopicHasher,
        capacity: int = DEFAULT_CAPACITY,
        error_rate: float = DEFAULT_ERROR_RATE,
        budget: int = QUERY_BUDGET,
    ) -> None:
        self.index = HybridIndex(hasher, capacity, error_rate, budget)
        self.version = 0
        self._hasher = hasher
        self._digest = 0
        self._told_layout = -1

    def __len__(self) -> int:
        return len(self.index)

    def add(self, filter: str) -> bool:
        """Wants a valid filter once more; true if it was not wanted before."""
        return self.index.add(filter)

    def remove(self, filter: str) -> bool:
        """Wants it once less; true if it is gone. One that is not wanted is a `KeyError`."""
        return self.index.remove(filter)

    def may_match(self, topic: str) -> bool:
        return self.index.may_match(topic)

    def full(self) -> bytes:
        """Everything: for a listener that knows nothing, or lost its place."""
        self.index.counting.take_flips()
        self._told_layout = self.index.layout
        plain = self.index.counting.plain
        bits = plain.set_positions()
        self._digest = digest_of(self._hasher, bits)
        self.version += 1
        return encode_full(self._update(0, bits), plain.cells)

    def delta(self) -> bytes:
        """What changed since the last message; everything, if that is smaller or all moved."""
        counting = self.index.counting
        many = len(counting.flipped) * _FLIP_BITS > int(counting.plain.size)
        if many or self._told_layout != self.index.layout:
            return self.full()
        flips = counting.take_flips()
        self._digest ^= digest_of(self._hasher, flips)
        self.version += 1
        return encode_delta(self._update(self.version - 1, flips))

    def _update(self, base: int, bits: list[int]) -> Update:
        plain = self.index.counting.plain
        return Update(
            FULL_BITS,
            self._hasher.seed_id,
            plain.size,
            plain.hashes,
            self.index.load(),
            self.version,
            self.index.landmarks,
            self._digest,
            base,
            bits,
        )


class RemoteSummary:
    """What a neighbour wants, as far as it told. Before it told anything, it may want all."""

    def __init__(self, hasher: TopicHasher, budget: int = QUERY_BUDGET) -> None:
        self.version = 0
        self.size = 0  # Of the advertiser's bits, whether they were told or not.
        self._elements = 0
        self._hasher = hasher
        self._budget = budget
        self._digest = 0
        self._ones = 0
        self._search: HybridSearch | None = None

    def may_match(self, topic: str) -> bool:
        """Whether the neighbour may want this topic. No means no."""
        search = self._search
        return search is None or search.may_match(topic.encode())

    def may_match_bytes(self, topic: bytes) -> bool:
        """The same for a topic that is encoded already."""
        search = self._search
        return search is None or search.may_match(topic)

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

    def forget(self) -> None:
        """The neighbour is out of step: until it tells everything anew it may want all."""
        self._search = None
        self.version = 0

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

    def merge(self, other: "RemoteSummary") -> "RemoteSummary":
        """What either neighbour wants, of summaries of one size and one seed."""
        mine = self._search
        theirs = other._search
        merged = RemoteSummary(self._hasher, self._budget)
        if mine is None or theirs is None:
            return merged
        if mine.hasher.seed_id != theirs.hasher.seed_id:
            raise ValueError("summaries of two seeds cannot be merged")
        landmarks = mine.landmarks.union(theirs.landmarks)
        bits = mine.bits.union(theirs.bits)
        merged._ones = bits.ones()
        merged._elements = self._elements + other._elements
        merged.size = self.size
        merged._search = HybridSearch(self._hasher, bits, landmarks, self._budget)
        return merged

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
        self._search = HybridSearch(self._hasher, bits, update.landmarks, self._budget)
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
