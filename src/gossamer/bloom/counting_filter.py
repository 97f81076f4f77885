"""A counting Bloom filter: members can leave again, and what changed can be told.

Every bit has a counter of one byte. A counter that reaches its top stays there, because nobody
knows any more how many members stand behind it: an error of a bit too many, never one too few.
"""

from typing import Final

from mypy_extensions import i64

from gossamer.bloom.bits import BloomFilter

TOP: Final = 255


class CountingFilter:
    """The counters, beside the plain filter of which every bit says that its counter is not 0."""

    def __init__(self, plain: BloomFilter) -> None:
        self.plain = plain
        self.flipped: set[int] = set()
        self._counts = bytearray(int(plain.size))

    def add(self, element: i64) -> None:
        self._count_up(self.plain.positions(element, self.plain.hashes))

    def add_guide(self, element: i64) -> None:
        self._count_up(self.plain.positions(element, self.plain.guide_hashes))

    def remove(self, element: i64) -> None:
        """Takes out a member. A stranger whose bits are not all set is refused, without change."""
        self._count_down(self.plain.positions(element, self.plain.hashes))

    def remove_guide(self, element: i64) -> None:
        self._count_down(self.plain.positions(element, self.plain.guide_hashes))

    def contains(self, element: i64) -> bool:
        return self.plain.contains(element)

    def take_flips(self) -> list[int]:
        """The bits that differ from what they were at the last call, in order."""
        flips = sorted(self.flipped)
        self.flipped = set()
        return flips

    def _count_up(self, positions: list[int]) -> None:
        counts = self._counts
        for position in positions:
            count = counts[position]
            if count == 0:
                self._flip(position)
            if count < TOP:
                counts[position] = count + 1

    def _count_down(self, positions: list[int]) -> None:
        counts = self._counts
        for position in positions:
            if counts[position] == 0:
                raise KeyError("the element is not in the counting filter")
        for position in positions:
            count = counts[position]
            if 0 < count < TOP:
                counts[position] = count - 1
                if count == 1:
                    self._flip(position)

    def _flip(self, position: int) -> None:
        self.plain.flip(position)
        if position in self.flipped:
            self.flipped.remove(position)
        else:
            self.flipped.add(position)
