"""Numbers for people: short, with units."""

from typing import Final

STEPS: Final = ((1e9, "G"), (1e6, "M"), (1e3, "k"))
A_MINUTE, AN_HOUR, A_DAY = 60, 3600, 86400


def short(value: float) -> str:
    """`950`, `12.3 k`, `4.5 M`."""
    for size, letter in STEPS:
        if abs(value) >= size:
            return f"{value / size:.1f} {letter}"
    return f"{value:.0f}" if value == int(value) or abs(value) >= 10 else f"{value:.1f}"


def size(value: float) -> str:
    """`950 B`, `12.3 kB`."""
    text = short(value)
    return f"{text}B" if text[-1].isalpha() else f"{text} B"


def span(seconds: float) -> str:
    """`42 s`, `5 min`, `3 h 20 min`, `4 d 6 h`."""
    whole = int(seconds)
    if whole < A_MINUTE:
        return f"{whole} s"
    if whole < AN_HOUR:
        return f"{whole // A_MINUTE} min"
    if whole < A_DAY:
        return f"{whole // AN_HOUR} h {whole % AN_HOUR // A_MINUTE} min"
    return f"{whole // A_DAY} d {whole % A_DAY // AN_HOUR} h"
