"""Bloom filters over hashes: a bit array in which a member is never missed.

An element can also be a *guide*: one that only steers a search, so that mistaking a stranger for it
costs a look-up and no wrong answer. It gets fewer probes, and takes up that much less room. In a
counting filter members can leave again.

In the equations, b is the number of bits, k of hashes, n_e of distinct elements, p_fp the false
positive rate.
"""

import math
from typing import Final

from mypy_extensions import i64

from gossamer.bloom.hashes import LANE, LANE_BITS

MAX_BITS: Final = 1 << 28  # 32 MiB, 18 million elements at 0.001; a wire header can ask no more.
MAX_HASHES: Final = 32  # The best number for one error in four thousand million.
COUNTER_TOP: Final = 255

# By cell: which of its bits are set, and the two cells in which each of them is there twice.
_SET_BITS: Final = [[bit for bit in range(8) if cell >> bit & 1] for cell in range(256)]
_DOUBLED: Final = [sum(3 << 2 * bit for bit in bits).to_bytes(2, "little") for bits in _SET_BITS]


class BloomFilter:
    """`size` bits, `hashes` probes an element, by double hashing with the two lanes of its hash."""

    def __init__(self, size: int, hashes: int) -> None:
        if not 0 < size <= MAX_BITS:
            raise ValueError(f"a Bloom filter has 1 to {MAX_BITS} bits, not {size}")
        if not 0 < hashes <= MAX_HASHES:
            raise ValueError(f"a Bloom filter has 1 to {MAX_HASHES} hashes, not {hashes}")
        self.size: i64 = size
        self.hashes: i64 = hashes
        self.guide_hashes: i64 = guide_hashes_for(hashes)
        # One of the two holds the bits, the other is empty: compiled code reads `bytes` natively,
        # and a `bytearray` at half the speed. Searches are many and changes come in groups.
        self._written = bytearray((size + 7) // 8)
        self._read = b""
        self._is_read = False

    @property
    def cells(self) -> bytes | bytearray:
        """The bits, eight in a cell, the lowest first."""
        return self._read if self._is_read else self._written

    def _to_write(self) -> bytearray:
        if self._is_read:
            self._written = bytearray(self._read)
            self._read = b""
            self._is_read = False
        return self._written

    def _to_read(self) -> bytes:
        if not self._is_read:
            self._read = bytes(self._written)
            self._written = bytearray()
            self._is_read = True
        return self._read

    def add(self, element: i64) -> None:
        cells = self._to_write()
        for position in self.positions(element, self.hashes):
            cells[position >> 3] |= 1 << (position & 7)

    def add_guide(self, element: i64) -> None:
        cells = self._to_write()
        for position in self.positions(element, self.guide_hashes):
            cells[position >> 3] |= 1 << (position & 7)

    def contains(self, element: i64) -> bool:
        """Whether the element may be a member. No means no."""
        return self._all_set(element, self.hashes)

    def contains_guide(self, element: i64) -> bool:
        """The same for a guide, with a few more errors."""
        return self._all_set(element, self.guide_hashes)

    def positions(self, element: i64, probes: i64) -> list[int]:
        """The bits of an element, in the order of its probes; a bit may come twice."""
        found: list[int] = []
        at = element >> LANE_BITS
        step = (element & LANE) | 1
        for _ in range(probes):
            found.append(at * self.size >> LANE_BITS)
            at = (at + step) & LANE
        return found

    def _all_set(self, element: i64, probes: i64) -> bool:
        read = self._to_read()
        size = self.size
        at = element >> LANE_BITS
        step = (element & LANE) | 1
        while probes > 0:
            position = at * size >> LANE_BITS
            cell: i64 = read[position >> 3]
            if not cell >> (position & 7) & 1:
                return False
            at = (at + step) & LANE
            probes -= 1
        return True

    def flip(self, position: int) -> None:
        self._to_write()[position >> 3] ^= 1 << (position & 7)

    def is_set(self, position: int) -> bool:
        return bool(self.cells[position >> 3] >> (position & 7) & 1)

    def ones(self) -> int:
        return int.from_bytes(self.cells, "little").bit_count()

    def set_positions(self) -> list[int]:
        """Every bit that is set, in order."""
        return positions_in(self.cells)

    def saturation(self) -> float:
        """The part of the bits that are set: one half when as many are in as it was sized for."""
        return self.ones() / int(self.size)

    def estimated_elements(self) -> float:
        return elements_of(self.size, self.hashes, self.ones())

    def union(self, other: "BloomFilter") -> "BloomFilter":
        """The filter of the members of either."""
        self._check_same_shape(other)
        union = BloomFilter(self.size, self.hashes)
        union.load(self._as_number() | other._as_number())
        return union

    def difference(self, other: "BloomFilter") -> bytes:
        """The bits in which two filters of one shape differ, as an array like `cells`."""
        self._check_same_shape(other)
        return (self._as_number() ^ other._as_number()).to_bytes(len(self.cells), "little")

    def stretched(self, size: int) -> "BloomFilter":
        """The same members in `size` bits, a power of two times as many; itself if as many.

        A probe falls into the half of a bit that the finer scale gives it, so both are set.
        """
        factor = size // int(self.size)
        if factor == 1:
            return self
        wide = BloomFilter(size, self.hashes)
        cells = bytes(self.cells)
        while factor > 1:
            cells = b"".join([_DOUBLED[cell] for cell in cells])
            factor //= 2
        wide.take(cells[: len(wide.cells)])
        return wide

    def load(self, number: int) -> None:
        """Take the bits of a number, bit 0 first, for those of the filter."""
        self.take(number.to_bytes(len(self.cells), "little"))

    def take(self, cells: bytes) -> None:
        """Take an array like `cells`, of the same length, for that of the filter."""
        self._read = cells
        self._written = bytearray()
        self._is_read = True

    def _as_number(self) -> int:
        return int.from_bytes(self.cells, "little")

    def _check_same_shape(self, other: "BloomFilter") -> None:
        if self.size != other.size or self.hashes != other.hashes:
            raise ValueError(
                f"filters of {self.size} bits × {self.hashes} hashes and "
                f"{other.size} × {other.hashes} cannot be compared"
            )


class CountingFilter:
    """A counter of one byte for every bit of the plain filter, which is set while it is not 0.

    A counter that reaches its top stays there, because nobody knows any more how many members
    stand behind it: an error of a bit too many, never one too few.
    """

    def __init__(self, plain: BloomFilter) -> None:
        self.plain = plain
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

    def _count_up(self, positions: list[int]) -> None:
        counts = self._counts
        for position in positions:
            count = counts[position]
            if count == 0:
                self.plain.flip(position)
            if count < COUNTER_TOP:
                counts[position] = count + 1

    def _count_down(self, positions: list[int]) -> None:
        counts = self._counts
        for position in positions:
            if counts[position] == 0:
                raise KeyError("the element is not in the counting filter")
        for position in positions:
            count = counts[position]
            if 0 < count < COUNTER_TOP:
                counts[position] = count - 1
                if count == 1:
                    self.plain.flip(position)


def sized_filter(elements: int, error_rate: float) -> BloomFilter:
    """An empty filter for so many distinct elements at this false positive rate."""
    size = bits_for(elements, error_rate)
    return BloomFilter(size, hashes_for(size, elements))


def positions_in(cells: bytes | bytearray) -> list[int]:
    """The set bits of a bit array, in order."""
    found: list[int] = []
    for at in range(len(cells)):
        cell = cells[at]
        if cell:
            first = at << 3
            for bit in _SET_BITS[cell]:
                found.append(first + bit)
    return found


def bits_for(elements: int, error_rate: float) -> int:
    """b = -n_e ln(p_fp) / (ln 2)²"""
    if elements < 1:
        raise ValueError(f"a Bloom filter is sized for at least 1 element, not {elements}")
    if not 0.0 < error_rate < 1.0:
        raise ValueError(f"a false positive rate must be between 0 and 1, not {error_rate}")
    bits = math.ceil(-elements * math.log(error_rate) / math.log(2.0) ** 2)
    if bits > MAX_BITS:
        raise ValueError(f"{elements} elements at {error_rate} take more than {MAX_BITS} bits")
    return bits


def hashes_for(bits: int, elements: int) -> int:
    """k = (b / n_e) ln 2, a whole number"""
    return min(MAX_HASHES, max(1, round(bits / elements * math.log(2.0))))


def guide_hashes_for(hashes: int) -> int:
    """The probes of a guide: at 0.001 seven of ten, so that less than one in a hundred misleads."""
    return (7 * hashes + 9) // 10


def elements_of(bits: int, hashes: int, ones: int) -> float:
    """How many distinct elements have probably set this many bits; infinite when all are set."""
    if ones >= bits:
        return math.inf
    return -bits / hashes * math.log(1.0 - ones / bits)
