"""Where each symbol of many patterns occurs, and so which of them cover or are covered.

Each position of the pattern asked about leaves some patterns as possible. The positions that leave
fewest are intersected first, until so few are left that the caller may as well test them: symbols
shared by half of 100,000 patterns cost microseconds.
"""

from gossamer.topics.containment import END
from gossamer.topics.number_set import NumberSet, numbers_of


class _Choice:
    """The patterns that one position leaves: those in any of a few sets."""

    __slots__ = ("sets", "size")

    def __init__(self, sets: list[NumberSet]) -> None:
        self.sets = sets
        self.size = 0
        for one in sets:
            self.size += one.size


class Postings:
    """For every position the symbols that occur there, each with the numbers of its patterns."""

    def __init__(self) -> None:
        self._positions: list[dict[str, NumberSet]] = []
        self._everything = NumberSet()

    def add(self, number: int, pattern: list[str]) -> None:
        positions = self._positions
        while len(positions) < len(pattern):
            positions.append({})
        for at, symbol in enumerate(pattern):
            here = positions[at]
            numbers = here.get(symbol)
            if numbers is None:
                numbers = here[symbol] = NumberSet()
            numbers.add(number)
        self._everything.add(number)

    def discard(self, number: int, pattern: list[str]) -> None:
        for at, symbol in enumerate(pattern):
            here = self._positions[at]
            numbers = here[symbol]
            numbers.discard(number)
            if numbers.size == 0:
                del here[symbol]
        self._everything.discard(number)

    def covered(self, wide: list[str], few: int) -> list[int]:
        """The patterns that `wide` covers; others may be among them if they are but a few."""
        choices: list[_Choice] = []
        for at, symbol in enumerate(wide):
            if symbol != "+" and symbol != "#":
                numbers = self._at(at, symbol)
                if numbers is None:
                    return []
                choices.append(_Choice([numbers]))
        if not choices:
            choices.append(_Choice([self._everything]))
        shorter: list[NumberSet] = []
        if wide[-1] == "#":
            for depth in range(min(len(wide) - 1, len(self._positions))):
                for closing in ("#", END):
                    numbers = self._at(depth, closing)
                    if numbers is not None:
                        shorter.append(numbers)
        return _intersection(choices, shorter, self._everything.size, few)

    def covering(self, narrow: list[str], few: int) -> list[int]:
        """The patterns that cover `narrow`; others may be among them if they are but a few."""
        choices: list[_Choice] = []
        closed: list[NumberSet] = []  # Those with a `#` so far, to which the rest is all the same.
        for at, symbol in enumerate(narrow):
            sets = closed.copy()
            for accepted in _accepted_by(symbol):
                numbers = self._at(at, accepted)
                if numbers is not None:
                    sets.append(numbers)
                    if accepted == "#":
                        closed.append(numbers)
            choices.append(_Choice(sets))
        return _intersection(choices, [], self._everything.size, few)

    def _at(self, position: int, symbol: str) -> NumberSet | None:
        if position >= len(self._positions):
            return None
        return self._positions[position].get(symbol)


def _accepted_by(symbol: str) -> tuple[str, ...]:
    """What a pattern that covers another may have where the other has this symbol."""
    if symbol == "#":
        return ("#",)
    if symbol in ("+", END):
        return ("#", symbol)
    return ("#", "+", symbol)


def _intersection(
    choices: list[_Choice], without: list[NumberSet], total: int, few: int
) -> list[int]:
    """The numbers, of so many in total, in every choice and not in `without`, or a few more."""
    choices.sort(key=_size_of)
    if choices[0].size <= few:
        return [number for one in choices[0].sets for number in one.numbers()]
    left = _union(choices[0].sets).copy()
    expected = float(choices[0].size)  # Counting costs as much as intersecting: only when it pays.
    for choice in choices[1:]:
        union = _union(choice.sets)
        del left[len(union) :]
        some = False
        for place, chunk in enumerate(left):
            if chunk:
                chunk &= union[place]
                left[place] = chunk
                if chunk:
                    some = True
        if not some:
            return []
        expected *= choice.size / total
        if expected <= few and _count(left) <= few:
            return numbers_of(left)
    for one in without:
        for place, chunk in enumerate(one.chunks()):
            if place < len(left):
                left[place] &= ~chunk
    return numbers_of(left)


def _union(sets: list[NumberSet]) -> list[int]:
    """The chunks of all the sets together; not to be changed."""
    if len(sets) == 1:
        return sets[0].chunks()
    union = sets[0].chunks().copy()
    for one in sets[1:]:
        chunks = one.chunks()
        while len(union) < len(chunks):
            union.append(0)
        for place, chunk in enumerate(chunks):
            union[place] |= chunk
    return union


def _count(chunks: list[int]) -> int:
    count = 0
    for chunk in chunks:
        count += chunk.bit_count()
    return count


def _size_of(choice: _Choice) -> int:
    return choice.size
