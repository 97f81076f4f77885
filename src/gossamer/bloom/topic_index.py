"""An index of topic filters: a multiset of them, kept as the elements of a Bloom filter.

The filters themselves and the count of every element stay with the owner, so that removing is
exact and the bits can be laid out anew for more elements; only the bits are for others to read.
"""

import math
from typing import Final

from gossamer.bloom.filter import MAX_BITS, BloomFilter, CountingFilter
from gossamer.bloom.searches import Search

DEFAULT_ERROR_RATE: Final = 0.001
DEFAULT_CAPACITY: Final = 256  # Elements; half a kilobyte, and it grows.
_SHRINK_BELOW: Final = 8  # Far from doubling, so that growing and shrinking do not alternate.


class TopicIndex:
    """Filters come and go; `may_match`, by any search, never misses one.

    The bits of the search are those of `sized_filter(capacity, …)`, and empty.
    """

    def __init__(self, search: Search, capacity: int = DEFAULT_CAPACITY) -> None:
        self.search = search
        self.capacity = capacity
        self.counting = CountingFilter(search.bits)
        self._smallest = capacity
        self._held: dict[str, int] = {}
        self._elements: dict[int, int] = {}
        self._guides: dict[int, int] = {}

    def __len__(self) -> int:
        """How many different filters are held."""
        return len(self._held)

    def __contains__(self, filter: str) -> bool:
        return filter in self._held

    def element_count(self) -> int:
        """n_e: the distinct elements in the Bloom filter."""
        return len(self._elements) + len(self._guides)

    def load(self) -> int:
        """The room that all elements take, the guides by their fewer probes; see `capacity`."""
        plain = self.counting.plain
        guides = len(self._guides) * int(plain.guide_hashes)
        return len(self._elements) + math.ceil(guides / int(plain.hashes))

    def filters(self) -> list[str]:
        return list(self._held)

    def add(self, filter: str) -> bool:
        """Holds a valid filter once more; true if it was not held before."""
        held = self._held.get(filter, 0)
        self._held[filter] = held + 1
        if held:
            return False
        for element in self.search.elements_of(filter):
            if _is_first(self._elements, element):
                self.counting.add(element)
        for guide in self.search.guides_of(filter):
            if _is_first(self._guides, guide):
                self.counting.add_guide(guide)
        self.search.note(filter, 1)
        if self.load() > self.capacity:
            self._grow(self.capacity + 1)
        return True

    def remove(self, filter: str) -> bool:
        """Holds it once less; true if it is gone. A filter that is not held is a `KeyError`."""
        held = self._held.get(filter, 0)
        if held == 0:
            raise KeyError(filter)
        if held > 1:
            self._held[filter] = held - 1
            return False
        del self._held[filter]
        for element in self.search.elements_of(filter):
            if _is_last(self._elements, element):
                self.counting.remove(element)
        for guide in self.search.guides_of(filter):
            if _is_last(self._guides, guide):
                self.counting.remove_guide(guide)
        self.search.note(filter, -1)
        if self._smallest < self.capacity > _SHRINK_BELOW * self.load():
            self._lay_out(self.capacity // 2, int(self.counting.plain.size) // 2)
        return True

    def may_match(self, topic: str) -> bool:
        """Whether a held filter may match the topic name. No means no."""
        return self.search.may_match(topic.encode())

    def queries(self) -> int:
        """The look-ups of all searches so far."""
        return self.search.queries

    def reserve(self, capacity: int) -> None:
        """From now on there is room for so many elements at least, as far as bits may go."""
        self._grow(capacity)
        self._smallest = max(self._smallest, self.capacity)

    def _grow(self, wanted: int) -> None:
        # Sizes differ by exact powers of two, so that one can be stretched to another.
        capacity = self.capacity
        size = int(self.counting.plain.size)
        while capacity < wanted and 2 * size <= MAX_BITS:
            capacity *= 2
            size *= 2
        if capacity > self.capacity:
            self._lay_out(capacity, size)

    def _lay_out(self, capacity: int, size: int) -> None:
        self.capacity = capacity
        self.counting = CountingFilter(BloomFilter(size, self.counting.plain.hashes))
        self.search.bits = self.counting.plain
        for element in self._elements:
            self.counting.add(element)
        for guide in self._guides:
            self.counting.add_guide(guide)


def _is_first(counts: dict[int, int], element: int) -> bool:
    """Counts an element in; true if it was not there."""
    count = counts.get(element, 0)
    counts[element] = count + 1
    return count == 0


def _is_last(counts: dict[int, int], element: int) -> bool:
    """Counts an element out; true if it is there no more."""
    count = counts[element]
    if count > 1:
        counts[element] = count - 1
        return False
    del counts[element]
    return True
