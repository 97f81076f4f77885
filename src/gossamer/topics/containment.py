"""Which filter matches every topic that another matches: set inclusion, linear in the levels.

Truth is the set of valid topic names a filter matches, whatever their length. Two spellings of one
set exist: `#` is `+/#` because every topic has a level, and `/#` is `/+/#` because the topic
before its `/` would be empty. A *pattern* is a filter taken apart so that both disappear: its
levels, the two short spellings written out, closed by `#` or by `END`.
"""

from enum import IntEnum
from typing import Final

END: Final = "\0"  # Closes the pattern of a filter without `#`; no topic can contain it.

_SPELT_OUT: Final = {"#": ["+", "#"], "/#": ["", "+", "#"]}
_SHORTENED: Final = {"+/#": "#", "/+/#": "/#"}


class Relation(IntEnum):
    """How the topics of one filter lie to those of another."""

    EQUAL = 0
    CONTAINS = 1
    CONTAINED = 2
    OVERLAPPING = 3
    DISJOINT = 4


def canonical(filter: str) -> str:
    """The one spelling shared by all filters that match the same topics."""
    return _SHORTENED.get(filter, filter)


def pattern(filter: str) -> list[str]:
    """The levels of a valid filter, spelt out and closed: equal filters have equal patterns."""
    if filter.endswith("#"):
        if len(filter) <= 2:
            return _SPELT_OUT[filter].copy()
        return filter.split("/")
    levels = filter.split("/")
    levels.append(END)
    return levels


def contains(wider: str, narrower: str) -> bool:
    """Whether `wider` matches every topic that `narrower` matches (equal ones too)."""
    if narrower.startswith("$") and wider[0] in ("+", "#"):
        return False
    return covers(pattern(wider), pattern(narrower), 0)


def covers(wide: list[str], narrow: list[str], start: int) -> bool:
    """Containment of patterns whose levels before `start` are known to agree, `$` included."""
    at = start
    while True:
        symbol = wide[at]
        if symbol == "#":
            return True
        other = narrow[at]
        if symbol == other:
            if symbol == END:
                return True
        elif symbol != "+" or other == "#" or other == END:
            return False
        at += 1


def relation(a: str, b: str) -> Relation:
    """How the topics that `a` matches lie to those that `b` matches."""
    if a[0] != b[0] and (a[0] == "$" or b[0] == "$"):
        return Relation.DISJOINT
    a_may_contain = True
    b_may_contain = True
    in_a = pattern(a)
    in_b = pattern(b)
    at = 0
    while True:
        x = in_a[at]
        y = in_b[at]
        if x == y:
            if x == "#" or x == END:
                break
        elif x == "#":
            b_may_contain = False
            break
        elif y == "#":
            a_may_contain = False
            break
        elif x == END or y == END:
            return Relation.DISJOINT
        elif x == "+":
            b_may_contain = False
        elif y == "+":
            a_may_contain = False
        else:
            return Relation.DISJOINT
        at += 1
    if a_may_contain and b_may_contain:
        return Relation.EQUAL
    if a_may_contain:
        return Relation.CONTAINS
    return Relation.CONTAINED if b_may_contain else Relation.OVERLAPPING
