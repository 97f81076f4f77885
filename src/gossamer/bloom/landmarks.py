"""Landmarks: a few words beside the bits that say where wildcards and ends can be at all.

Six sets of depths, each one machine word in which bit d stands for depth d. They are exact unions
over the filters, so what they rule out needs no look-up, and they never cost a false negative.
"""

from typing import Final

from mypy_extensions import i64

from gossamer.bloom.hashing import SCANNED_LEVELS

MAPPED_LEVELS: Final = SCANNED_LEVELS  # Deeper topics are searched without landmarks.

PLUS: Final = 0  # A filter has `+` at level d.
HASH: Final = 1  # A filter has `#` at level d.
END: Final = 2  # A filter has d levels, or `#` after d levels.
LEAD: Final = 3  # A filter begins with d times `+`, not more.
ALL_PLUS: Final = 4  # The filter of d times `+` exists (or `#` after them).
ALL_PLUS_HASH: Final = 5  # The filter of d times `+` and then `#` exists.
KINDS: Final = 6


class Landmarks:
    """The six sets, as a search reads them."""

    def __init__(self) -> None:
        self.plus: i64 = 0
        self.hash: i64 = 0
        self.end: i64 = 0
        self.lead: i64 = 0
        self.all_plus: i64 = 0
        self.all_plus_hash: i64 = 0

    def words(self) -> list[int]:
        return [
            self.plus,
            self.hash,
            self.end,
            self.lead,
            self.all_plus,
            self.all_plus_hash,
        ]

    def load(self, words: list[int]) -> None:
        self.plus = words[PLUS]
        self.hash = words[HASH]
        self.end = words[END]
        self.lead = words[LEAD]
        self.all_plus = words[ALL_PLUS]
        self.all_plus_hash = words[ALL_PLUS_HASH]


def marks_of(filter: str) -> list[tuple[int, int]]:
    """The (set, depth) pairs that one filter puts on the map."""
    levels = filter.split("/")
    ends_in_hash = levels[-1] == "#"
    if ends_in_hash:
        levels.pop()
    depth = len(levels)
    lead = 0
    while lead < depth and levels[lead] == "+":
        lead += 1
    marks = [(PLUS, at) for at in range(depth) if levels[at] == "+"]
    marks.append((LEAD, min(lead, MAPPED_LEVELS)))
    marks.append((END, depth))
    if ends_in_hash:
        marks.append((HASH, depth))
    if lead == depth:
        marks.append((ALL_PLUS, depth))
        if ends_in_hash:
            marks.append((ALL_PLUS_HASH, depth))
    return [mark for mark in marks if mark[1] <= MAPPED_LEVELS]


class CountedLandmarks:
    """The owner's side: how many filters stand behind each mark, so that marks can go again."""

    def __init__(self) -> None:
        self.shown = Landmarks()
        self._counts: dict[tuple[int, int], int] = {}

    def note(self, filter: str, change: int) -> None:
        words = self.shown.words()
        for mark in marks_of(filter):
            count = self._counts.get(mark, 0) + change
            kind, depth = mark
            if count:
                self._counts[mark] = count
                words[kind] |= 1 << depth
            else:
                del self._counts[mark]
                words[kind] &= ~(1 << depth)
        self.shown.load(words)
