"""Filters as sets of topics: does one include another, and what do two have in common?

Both are linear in the levels. Truth is the set of valid topic names a filter matches, whatever
their length. Two spellings of one set exist: `#` is `+/#` because every topic has a level, and
`/#` is `/+/#` because the topic before its `/` would be empty. A *pattern* is a filter taken apart
so that both disappear: its levels, the two short spellings written out, closed by `#` or by `END`.
"""

from typing import Final

END: Final = "\0"  # Closes the pattern of a filter without `#`; no topic can contain it.

_SPELT_OUT: Final = {"#": ["+", "#"], "/#": ["", "+", "#"]}
_SHORTENED: Final = {"+/#": "#", "/+/#": "/#"}


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


def meet(a: str, b: str) -> str | None:
    """None if no topic matches both."""
    if a[0] != b[0] and (a[0] == "$" or b[0] == "$"):
        return None  # [MQTT-4.7.2-1]
    in_a = pattern(a)
    in_b = pattern(b)
    levels: list[str] = []
    at = 0
    while True:
        x = in_a[at]
        y = in_b[at]
        if x == "#" or y == "#":
            levels.extend(in_b[at:] if x == "#" else in_a[at:])
            break
        if x == END or y == END:
            if x != y:
                return None
            levels.append(END)
            break
        if x == "+":
            levels.append(y)
        elif y == "+" or x == y:
            levels.append(x)
        else:
            return None
        at += 1
    if levels[-1] == END:
        levels.pop()
    return "/".join(levels)
