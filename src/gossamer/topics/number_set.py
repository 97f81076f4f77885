"""Sets of small numbers: cheap for one, for a few, and for a large share of them all.

Large ones are bits in chunks. A change touches one chunk; intersecting sets of 50,000 numbers
takes microseconds.
"""

from collections.abc import Iterable
from typing import Final

CHUNK: Final = 12  # A chunk has 2**12 bits: small to copy for a change, and few to intersect.
IN_CHUNK: Final = (1 << CHUNK) - 1
BITS_FROM: Final = 256  # From here on bits are smaller than a set of integers.
BITS_UNTIL: Final = 64  # Well below, so that a set on the edge is not converted back and forth.
_ONE_BY_ONE: Final = 48  # Bits looked at singly once halving has brought them down to so few.


class NumberSet:
    """A set of numbers from 0 up."""

    __slots__ = ("_chunks", "_few", "_only", "size")

    def __init__(self) -> None:
        self.size = 0
        self._only = -1  # The number, while there is just one.
        self._few: set[int] | None = None
        self._chunks: list[int] | None = None

    def add(self, number: int) -> None:
        """Put in a number that is not in."""
        self.size += 1
        chunks = self._chunks
        few = self._few
        if chunks is not None:
            while len(chunks) <= number >> CHUNK:
                chunks.append(0)
            chunks[number >> CHUNK] |= 1 << (number & IN_CHUNK)
        elif few is not None:
            few.add(number)
            if self.size >= BITS_FROM:
                self._chunks = _pack(few)
                self._few = None
        elif self.size == 1:
            self._only = number
        else:
            self._few = {self._only, number}
            self._only = -1

    def discard(self, number: int) -> None:
        """Take out a number that is in."""
        self.size -= 1
        chunks = self._chunks
        few = self._few
        if chunks is not None:
            chunks[number >> CHUNK] ^= 1 << (number & IN_CHUNK)
            if self.size <= BITS_UNTIL:
                self._few = set(numbers_of(chunks))
                self._chunks = None
        elif few is not None:
            few.discard(number)
            if self.size == 1:
                self._only = few.pop()
                self._few = None
        else:
            self._only = -1

    def numbers(self) -> list[int]:
        """The numbers in order."""
        if self._chunks is not None:
            return numbers_of(self._chunks)
        if self._few is not None:
            return sorted(self._few)
        return [] if self._only < 0 else [self._only]

    def chunks(self) -> list[int]:
        """The numbers as bits; not to be changed. Chunks beyond the last are empty."""
        if self._chunks is not None:
            return self._chunks
        return _pack(self.numbers())


def _pack(numbers: Iterable[int]) -> list[int]:
    chunks: list[int] = []
    for number in numbers:
        while len(chunks) <= number >> CHUNK:
            chunks.append(0)
        chunks[number >> CHUNK] |= 1 << (number & IN_CHUNK)
    return chunks


def numbers_of(chunks: list[int]) -> list[int]:
    """The numbers whose bits are set, in order."""
    found: list[int] = []
    for place, chunk in enumerate(chunks):
        if chunk:
            _append_bits(found, chunk, place << CHUNK)
    return found


def _append_bits(found: list[int], chunk: int, first: int) -> None:
    """Halving skips the stretches without a bit."""
    parts = [chunk]
    starts = [first]
    while parts:
        bits = parts.pop()
        start = starts.pop()
        width = bits.bit_length()
        if width > _ONE_BY_ONE:
            half = width >> 1
            parts.append(bits >> half)
            starts.append(start + half)
            parts.append(bits & ((1 << half) - 1))
            starts.append(start)
            continue
        while bits:
            if bits & 1:
                found.append(start)
            bits >>= 1
            start += 1
