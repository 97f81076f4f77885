"""A sparkline: the last numbers of a topic as the points of an SVG polyline."""

from collections.abc import Sequence
from typing import Final

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
