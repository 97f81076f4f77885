"""Landmarks: a few words beside the bits that say where wildcards and ends can be at all.

Seven sets of depths, each one machine word in which bit d stands for depth d; and, while they are
few, the patterns in which the filters have their wildcards. They are exact unions over the
filters, so what they rule out needs no look-up, and they never cost a false negative.
"""

from typing import Final

from mypy_extensions import i64

from gossamer.bloom.hashes import SCANNED_LEVELS

MAPPED_LEVELS: Final = SCANNED_LEVELS  # Deeper topics are searched without landmarks.
MAX_PATTERNS: Final = 16  # More would be longer than what they spare; then none is listed.

PLUS: Final = 0  # A filter has `+` at level d.
HASH: Final = 1  # A filter has `#` at level d.
END: Final = 2  # A filter has d levels, or `#` after d levels.
LITERAL: Final = 3  # A filter without wildcards has d levels.
LEAD: Final = 4  # A filter begins with d times `+`, not more.
ALL_PLUS: Final = 5  # The filter of d times `+` exists (or `#` after them).
ALL_PLUS_HASH: Final = 6  # The filter of d times `+` and then `#` exists.
KINDS: Final = 7

_DEPTH_BITS: Final = 6
_DEPTH: Final = 0x3F


class Pattern:
    """Where filters have their wildcards: `depth` levels before the end or `#`, `+` at `pluses`.

    Its code is one number, for the wire and for counting.
    """

    def __init__(self, code: int) -> None:
        self.depth: i64 = code & _DEPTH
        self.ends_in_hash = bool(code >> _DEPTH_BITS & 1)
        self.pluses: i64 = code >> (_DEPTH_BITS + 1)


def is_pattern_code(code: int) -> bool:
    depth = code & _DEPTH
    return 0 < depth <= MAPPED_LEVELS and code >> (_DEPTH_BITS + 1 + depth) == 0


def _narrowness(code: int) -> tuple[bool, int, int, int]:
    """An order in which the patterns that match most topics come first."""
    depth = code & _DEPTH
    ends_in_hash = bool(code >> _DEPTH_BITS & 1)
    pluses = (code >> (_DEPTH_BITS + 1)).bit_count()
    return (not ends_in_hash, depth - pluses, depth, code)


class Landmarks:
    """The sets and patterns, as a search reads them."""

    def __init__(self) -> None:
        self.plus: i64 = 0
        self.hash: i64 = 0
        self.end: i64 = 0
        self.literal: i64 = 0
        self.lead: i64 = 0
        self.all_plus: i64 = 0
        self.all_plus_hash: i64 = 0
        self.listed = True  # Whether `patterns` are all there are.
        self.patterns: list[Pattern] = []
        self.codes: list[int] = []

    def words(self) -> list[int]:
        return [
            self.plus,
            self.hash,
            self.end,
            self.literal,
            self.lead,
            self.all_plus,
            self.all_plus_hash,
        ]

    def load(self, words: list[int]) -> None:
        self.plus = words[PLUS]
        self.hash = words[HASH]
        self.end = words[END]
        self.literal = words[LITERAL]
        self.lead = words[LEAD]
        self.all_plus = words[ALL_PLUS]
        self.all_plus_hash = words[ALL_PLUS_HASH]

    def list_patterns(self, codes: list[int]) -> None:
        """These are all the patterns; if they are too many, none is listed."""
        self.listed = len(codes) <= MAX_PATTERNS
        self.codes = sorted(codes, key=_narrowness) if self.listed else []
        self.patterns = [Pattern(code) for code in self.codes]

    def unlist_patterns(self) -> None:
        self.listed = False
        self.codes = []
        self.patterns = []

    def is_same(self, other: "Landmarks") -> bool:
        return (
            self.words() == other.words()
            and self.listed == other.listed
            and self.codes == other.codes
        )

    def union(self, other: "Landmarks") -> "Landmarks":
        union = Landmarks()
        pairs = zip(self.words(), other.words(), strict=True)
        union.load([one | another for one, another in pairs])
        if self.listed and other.listed:
            union.list_patterns(list({*self.codes, *other.codes}))
        else:
            union.unlist_patterns()
        return union


class FilterMarks:
    """What one filter puts on the map: (set, depth) pairs, and the code of its pattern.

    The code is 0 for a filter that needs none: without wildcards or of nothing else, or so deep
    that only topics without landmarks reach it.
    """

    def __init__(self, filter: str) -> None:
        levels = filter.split("/")
        ends_in_hash = levels[-1] == "#"
        if ends_in_hash:
            levels.pop()
        depth = len(levels)
        lead = 0
        while lead < depth and levels[lead] == "+":
            lead += 1
        pluses = [at for at in range(depth) if levels[at] == "+"]
        pairs = [(PLUS, at) for at in pluses]
        pairs.append((LEAD, min(lead, MAPPED_LEVELS)))
        pairs.append((END, depth))
        if ends_in_hash:
            pairs.append((HASH, depth))
        self.code = 0
        if lead == depth:
            pairs.append((ALL_PLUS, depth))
            if ends_in_hash:
                pairs.append((ALL_PLUS_HASH, depth))
        elif not pluses and not ends_in_hash:
            pairs.append((LITERAL, depth))
        elif depth <= MAPPED_LEVELS:
            self.code = depth | int(ends_in_hash) << _DEPTH_BITS
            for at in pluses:
                self.code |= 1 << (_DEPTH_BITS + 1 + at)
        self.pairs = [pair for pair in pairs if pair[1] <= MAPPED_LEVELS]


class CountedLandmarks:
    """The owner's side: how many filters stand behind each mark, so that marks can go again."""

    def __init__(self) -> None:
        self.shown = Landmarks()
        self._counts: dict[tuple[int, int], int] = {}
        self._patterns: dict[int, int] = {}

    def note(self, filter: str, change: int) -> None:
        """A filter is new (+1) or gone (-1)."""
        marks = FilterMarks(filter)
        words = self.shown.words()
        for pair in marks.pairs:
            count = self._counts.get(pair, 0) + change
            kind, depth = pair
            if count:
                self._counts[pair] = count
                words[kind] |= 1 << depth
            else:
                del self._counts[pair]
                words[kind] &= ~(1 << depth)
        self.shown.load(words)
        if marks.code:
            self._note_pattern(marks.code, change)

    def _note_pattern(self, code: int, change: int) -> None:
        before = len(self._patterns)
        count = self._patterns.get(code, 0) + change
        if count:
            self._patterns[code] = count
        else:
            del self._patterns[code]
        if len(self._patterns) == before:
            return
        if len(self._patterns) <= MAX_PATTERNS:
            self.shown.list_patterns(list(self._patterns))
        elif before == MAX_PATTERNS:
            self.shown.unlist_patterns()
