"""Numbers for people: short, with units, or the last ones of a topic as a sparkline."""

from collections.abc import Sequence
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


WIDTH: Final = 100.0
HEIGHT: Final = 24.0
MARGIN: Final = 2.0


def points(numbers: Sequence[float]) -> str:
    """`x,y x,y …` within WIDTH × HEIGHT; a line in the middle if all are equal."""
    if len(numbers) < 2:
        return ""
    low, high = min(numbers), max(numbers)
    spread = high - low
    room = HEIGHT - 2 * MARGIN
    step = WIDTH / (len(numbers) - 1)
    return " ".join(
        f"{place * step:.1f},{_down(number, low, spread, room):.1f}"
        for place, number in enumerate(numbers)
    )


def _down(number: float, low: float, spread: float, room: float) -> float:
    part = (number - low) / spread if spread > 0.0 else 0.5
    return MARGIN + room * (1.0 - part)
