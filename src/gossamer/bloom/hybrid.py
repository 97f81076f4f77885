"""The hybrid search, ours: the prefix search, told by landmarks which look-ups can be left out.

- Levels at which no filter has a wildcard are passed without a look-up: the next one is at the
  next depth where the search could branch, or at the end.
- `#`, `+` and ends are looked up only at depths where some filter has them.
- What consists of wildcards alone (`#`, `+/#`, `+/+`) is known exactly, and so is how far a run
  of leading `+` goes. These are the branches that every topic takes, and they cost nothing.
- Prefixes are guides: only an end can make the answer wrong, so only ends get every probe.
- Where topics share their prefixes, walking them is dear; if the filters have few patterns of
  wildcards, trying each is cheaper. The search watches what its walks cost, and chooses.
"""

from typing import Final

from mypy_extensions import i64

from gossamer.bloom.filter import BloomFilter, sized_filter
from gossamer.bloom.hashes import TopicHasher
from gossamer.bloom.landmarks import MAPPED_LEVELS, CountedLandmarks, Landmarks, Pattern
from gossamer.bloom.searches import (
    QUERY_BUDGET,
    PrefixedSearch,
    ends,
    inner_prefixes,
    is_reserved,
)
from gossamer.bloom.topic_index import DEFAULT_CAPACITY, DEFAULT_ERROR_RATE, TopicIndex

# The lowest n bits are taken by shifting a word of ones down: shifting a one up is 32 bits wide in
# compiled code.
_WORD_BITS: Final = 62
_WORD: Final[i64] = 0x3FFF_FFFF_FFFF_FFFF

_COST_BITS: Final = 8  # Costs are averaged in 256ths of a look-up …
_COST_MEMORY_BITS: Final = 3  # … over about eight walks.
_WALK_AGAIN: Final = 32  # Searches by patterns before a walk shows whether things have changed.


class HybridSearch(PrefixedSearch):
    """Searches the bits of the prefix search with their landmarks."""

    def __init__(self, hasher: TopicHasher, bits: BloomFilter, budget: int = QUERY_BUDGET) -> None:
        super().__init__(hasher, bits, budget)
        # Of filters that are noted here; those of another broker come with its bits.
        self._counted = CountedLandmarks()
        self.landmarks: Landmarks = self._counted.shown
        # Of the search that is under way: the number of levels of the topic, the depth past which
        # nothing can match, and the depths at which the search can branch before that.
        self._depth: i64 = 0
        self._last: i64 = 0
        self._stops: i64 = 0
        # Of the walks so far: their average cost, and the searches since the last one.
        self._walk_cost: i64 = 0
        self._since_walk: i64 = 0

    def may_match(self, topic: bytes) -> bool:
        self.begin()
        marks = self.landmarks
        hasher = self.hasher
        depth = hasher.scan(topic)
        reserved = is_reserved(topic)
        if depth > MAPPED_LEVELS:
            return self.walk(hasher.levels(topic), reserved)
        shallower: i64 = _WORD >> (_WORD_BITS - depth)
        hashes = marks.hash & shallower
        if reserved:
            hashes &= -2
        elif marks.all_plus >> depth & 1 or marks.all_plus_hash & (shallower << 1 | 1):
            return True
        last = depth
        if not marks.end >> depth & 1:
            if hashes == 0:
                return False
            last -= 1
            while not hashes >> last & 1:
                last -= 1
        self._depth = depth
        self._last = last
        self._stops = hashes | (marks.plus & (_WORD >> (_WORD_BITS - last)))
        if marks.listed and self._patterns_are_cheaper(reserved):
            return self._try_patterns(reserved)
        before = self.queries
        if reserved:
            answer = self._follow(1, hasher.extend(hasher.root, hasher.level(0)))
        else:
            answer = self._follow_leading_plus()
        cost = (self.queries - before) << _COST_BITS
        self._walk_cost += (cost - self._walk_cost) >> _COST_MEMORY_BITS
        self._since_walk = 0
        return answer

    def elements_of(self, filter: str) -> list[int]:
        return ends(self.hasher, filter)

    def guides_of(self, filter: str) -> list[int]:
        return inner_prefixes(self.hasher, filter)

    def note(self, filter: str, change: int) -> None:
        self._counted.note(filter, change)

    def exists(self, prefix: i64, whole: bool) -> bool:
        hasher = self.hasher
        if whole:
            return self.query(hasher.extend(prefix, hasher.end))
        return self.query_guide(prefix)

    def _follow_leading_plus(self) -> bool:
        """From the root along `+/+/…`, which needs no look-ups itself: each level beside it."""
        hasher = self.hasher
        lead = self.landmarks.lead
        prefix = hasher.root
        at: i64 = 0
        while at < self._last:
            if not self._stops >> at & 1:
                return self._follow(at, prefix)
            if self._follow(at + 1, hasher.extend(prefix, hasher.level(at))):
                return True
            at += 1
            if lead >> at == 0:
                return False
            prefix = hasher.extend(prefix, hasher.plus)
        return False

    def _follow(self, at: i64, prefix: i64) -> bool:
        """Whether a match begins with these `at` levels: asked where the search next branches."""
        hasher = self.hasher
        while at < self._last and not self._stops >> at & 1:
            prefix = hasher.extend(prefix, hasher.level(at))
            at += 1
        if at == self._depth:
            return self.query(hasher.extend(prefix, hasher.end))
        if at == self._last:
            return self.query(hasher.extend(prefix, hasher.hash))
        return self.query_guide(prefix) and self._branch(at, prefix)

    def _branch(self, at: i64, prefix: i64) -> bool:
        """From a prefix that exists: `#`, then the level itself (the more selective), then `+`."""
        hasher = self.hasher
        marks = self.landmarks
        if marks.hash >> at & 1 and self.query(hasher.extend(prefix, hasher.hash)):
            return True
        if self._follow(at + 1, hasher.extend(prefix, hasher.level(at))):
            return True
        if marks.plus >> at & 1:
            return self._follow(at + 1, hasher.extend(prefix, hasher.plus))
        return False

    def _patterns_are_cheaper(self, reserved: bool) -> bool:
        """Than a walk, by what walks cost of late; asked again from time to time."""
        affordable = self._walk_cost >> _COST_BITS
        if affordable < 2:
            return False
        marks = self.landmarks
        fitting = marks.literal >> self._depth & 1
        for pattern in marks.patterns:
            if self._fits(pattern, reserved):
                fitting += 1
                if fitting > affordable:
                    return False
        self._since_walk += 1
        return self._since_walk < _WALK_AGAIN

    def _try_patterns(self, reserved: bool) -> bool:
        for pattern in self.landmarks.patterns:
            if self._fits(pattern, reserved) and self._has_variant(
                pattern.depth, pattern.pluses, pattern.ends_in_hash
            ):
                return True
        if self.landmarks.literal >> self._depth & 1:
            return self._has_variant(self._depth, 0, False)
        return False

    def _fits(self, pattern: Pattern, reserved: bool) -> bool:
        """Whether a filter of this pattern can match a topic of this many levels."""
        if reserved and pattern.pluses & 1:
            return False
        if pattern.ends_in_hash:
            return pattern.depth <= self._depth
        return pattern.depth == self._depth

    def _has_variant(self, depth: i64, pluses: i64, ends_in_hash: bool) -> bool:
        """Whether the topic with these wildcards is a filter, confirmed by its longest prefix.

        Many variants are tried and most are not there, so one end alone would err that much more.
        """
        hasher = self.hasher
        prefix = hasher.root
        parent = prefix
        at: i64 = 0
        while at < depth:
            parent = prefix
            level = hasher.plus if pluses >> at & 1 else hasher.level(at)
            prefix = hasher.extend(prefix, level)
            at += 1
        if ends_in_hash:
            return self.query(hasher.extend(prefix, hasher.hash)) and self.query_guide(prefix)
        if not self.query(hasher.extend(prefix, hasher.end)):
            return False
        return depth == 1 or self.query_guide(parent)


class HybridIndex(TopicIndex):
    """Filters for the hybrid search, with the landmarks of all of them."""

    def __init__(
        self,
        hasher: TopicHasher,
        capacity: int = DEFAULT_CAPACITY,
        budget: int = QUERY_BUDGET,
    ) -> None:
        search = HybridSearch(hasher, sized_filter(capacity, DEFAULT_ERROR_RATE), budget)
        super().__init__(search, capacity)
        self.landmarks = search.landmarks
