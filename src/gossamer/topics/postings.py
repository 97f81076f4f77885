"""Sets of small numbers, and where each symbol of many patterns occurs.

`Postings` answers "which patterns have this symbol at this position" for several symbols at once by
intersecting bits, so that even symbols shared by half of 100,000 patterns cost microseconds.
"""

from typing import Final

from gossamer.topics.containment import END

BITS_FROM: Final = 1024  # From here on a bit for each number is smaller than a set of them.
BITS_UNTIL: Final = 256  # Well below, so that a set on the edge is not converted back and forth.
_WORD: Final = 48  # Bits looked at one by one once halving has brought them down to so few.


class Posting:
    """A set of numbers that is cheap when it holds one, a few, or a large share of them all."""

    __slots__ = ("_bits", "_few", "_only", "size")

    def __init__(self) -> None:
        self.size = 0
        self._only = -1  # The number, while there is just one.
        self._few: set[int] | None = None
        self._bits: bytearray | None = None

    def add(self, number: int) -> None:
        """Put in a number that is not in."""
        self.size += 1
        bits = self._bits
        few = self._few
        if bits is not None:
            byte = number >> 3
            if byte >= len(bits):
                bits.extend(bytes(byte + 1 - len(bits)))
            bits[byte] |= 1 << (number & 7)
        elif few is not None:
            few.add(number)
            if self.size >= BITS_FROM:
                self._bits = _pack(few)
                self._few = None
        elif self.size == 1:
            self._only = number
        else:
            self._few = {self._only, number}
            self._only = -1

    def discard(self, number: int) -> None:
        """Take out a number that is in."""
        self.size -= 1
        bits = self._bits
        if bits is not None:
            bits[number >> 3] &= ~(1 << (number & 7))
            if self.size <= BITS_UNTIL:
                self._few = set(numbers_of(int.from_bytes(bits, "little")))
                self._bits = None
        elif self._few is not None:
            self._few.discard(number)
        else:
            self._only = -1

    def numbers(self) -> list[int]:
        if self._bits is not None:
            return numbers_of(int.from_bytes(self._bits, "little"))
        if self._few is not None:
            return sorted(self._few)
        return [] if self._only < 0 else [self._only]

    def mask(self) -> int:
        """The numbers as the bits of one."""
        if self._bits is not None:
            return int.from_bytes(self._bits, "little")
        if self._few is not None:
            return int.from_bytes(_pack(self._few), "little")
        return 0 if self._only < 0 else 1 << self._only


def _pack(numbers: set[int]) -> bytearray:
    bits = bytearray((max(numbers, default=0) >> 3) + 1)
    for number in numbers:
        bits[number >> 3] |= 1 << (number & 7)
    return bits


def numbers_of(mask: int) -> list[int]:
    """The positions of the bits set, in order; halving skips the empty stretches."""
    found: list[int] = []
    masks = [mask]
    starts = [0]
    while masks:
        mask = masks.pop()
        start = starts.pop()
        if mask == 0:
            continue
        width = mask.bit_length()
        if width > _WORD:
            half = width >> 1
            masks.append(mask >> half)
            starts.append(start + half)
            masks.append(mask & ((1 << half) - 1))
            starts.append(start)
            continue
        while mask:
            if mask & 1:
                found.append(start)
            mask >>= 1
            start += 1
    return found


class Postings:
    """For every position the symbols that occur there, each with the numbers of its patterns."""

    def __init__(self) -> None:
        self._positions: list[dict[str, Posting]] = []
        self._everything = Posting()

    def add(self, number: int, pattern: list[str]) -> None:
        positions = self._positions
        while len(positions) < len(pattern):
            positions.append({})
        for at, symbol in enumerate(pattern):
            here = positions[at]
            posting = here.get(symbol)
            if posting is None:
                posting = here[symbol] = Posting()
            posting.add(number)
        self._everything.add(number)

    def discard(self, number: int, pattern: list[str]) -> None:
        for at, symbol in enumerate(pattern):
            here = self._positions[at]
            posting = here[symbol]
            posting.discard(number)
            if posting.size == 0:
                del here[symbol]
        self._everything.discard(number)

    def size(self, position: int, symbol: str) -> int:
        """How many patterns have the symbol at the position."""
        posting = self._at(position, symbol)
        return 0 if posting is None else posting.size

    def numbers(self, position: int, symbol: str) -> list[int]:
        posting = self._at(position, symbol)
        return [] if posting is None else posting.numbers()

    def _at(self, position: int, symbol: str) -> Posting | None:
        if position >= len(self._positions):
            return None
        return self._positions[position].get(symbol)

    def narrowest(self, wide: list[str]) -> Posting | None:
        """The smallest posting that holds all patterns that `wide` covers, None if it has none."""
        smallest = self._everything
        for at, symbol in enumerate(wide):
            if symbol != "+" and symbol != "#":
                posting = self._at(at, symbol)
                if posting is None:
                    return None
                if posting.size < smallest.size:
                    smallest = posting
        return smallest

    def covered(self, wide: list[str]) -> list[int]:
        """The numbers of exactly the patterns that `wide` covers."""
        mask = -1
        for at, symbol in enumerate(wide):
            if symbol != "+" and symbol != "#":
                posting = self._at(at, symbol)
                if posting is None:
                    return []
                mask &= posting.mask()
                if mask == 0:
                    return []
        if wide[-1] == "#":
            if mask == -1:
                mask = self._everything.mask()
            for depth in range(min(len(wide) - 1, len(self._positions))):
                for closing in ("#", END):
                    shorter = self._positions[depth].get(closing)
                    if shorter is not None:
                        mask &= ~shorter.mask()
        return numbers_of(mask)
