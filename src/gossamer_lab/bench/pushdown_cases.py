"""What `gossamer bench pushdown` measures: one subscription a case, and what sensors publish."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, NamedTuple

from gossamer.wire.properties import Properties

# Of all that is published, in percent: what a rule lets through, or lies in an area.
SHARES: Final = (0, 1, 10, 50, 100)
CENTRE: Final = (43.72, 10.40)
METRES_A_DEGREE: Final = 111_194.9
# Sensors stand within so many metres of the centre.
FIELD_METRES: Final = 10_000.0
# Steps between sensors, as parts of the field and as angles, that never meet.
_STEP: Final = 0.754877666
_GOLDEN_ANGLE: Final = 2.399963


class Reading(NamedTuple):
    topic: str
    payload: str
    properties: Properties | None


@dataclass(frozen=True)
class PushdownCase:
    """One subscription, and what sensors publish meanwhile."""

    name: str
    filter: str
    reading: Callable[[int], Reading]  # the publication of this number
    published: int
    area: tuple[tuple[str, str], ...] = ()
    rate: float = 0.0  # publications a second; 0 for as many as go
    configuration: str = ""  # of all brokers
    window_seconds: int = 0
    sensors: int = 100  # each stays at its broker


def cases_of(quick: bool) -> Iterator[PushdownCase]:
    yield from _rules(1_500 if quick else 15_000)
    yield from _areas(1_500 if quick else 15_000)
    yield from _means(2 if quick else 10)
    yield from _windows(*((5, 100) if quick else (60, 1_000)))


def _rules(published: int) -> Iterator[PushdownCase]:
    for share in SHARES:
        filter = f"$GT;{99 - share}/+/temp"
        yield PushdownCase(f"rule, {share} % pass", filter, _valued(100), published)


def _areas(published: int) -> Iterator[PushdownCase]:
    for share in SHARES:
        radius = FIELD_METRES * math.sqrt(share / 100) * 1.001
        latitude, longitude = CENTRE
        if not share:
            radius, latitude = 1.0, latitude + 1.0  # where nobody is
        area = f"1;m;1;{latitude};{longitude};{radius:.1f}"
        yield PushdownCase(
            *(f"area, {share} % inside", "+/temp", _placed, published),
            area=(("gpl_circleStatic", area),),
        )


def _means(seconds: int) -> Iterator[PushdownCase]:
    """A result for each publication, whatever the rate."""
    for rate in (10, 100, 1_000):
        yield PushdownCase(
            f"mean, {rate:,} a second",
            *("$AVG/+/temp", _valued(100), seconds * rate),
            rate=rate,
        )


def _windows(seconds: int, sensors: int) -> Iterator[PushdownCase]:
    """Each sensor publishes once a second, and all of it before the window ends."""
    for name, filter in (
        ("window over topics", "$SUM$BENCHAVG/+/temp"),
        ("window by topic", "$BENCHAVG/+/temp"),
    ):
        yield PushdownCase(
            f"{name}, {seconds} s",
            *(filter, _valued(sensors), seconds * sensors),
            rate=sensors * seconds / (seconds - 0.5),
            configuration=f'\n[plus.windows]\nBENCH = "{seconds} s"\n',
            window_seconds=seconds,
            sensors=sensors,
        )


def _valued(sensors: int) -> Callable[[int], Reading]:
    """Values from 0 to 99, each as often as any other, of so many sensors in turn."""
    return lambda number: Reading(f"s{number % sensors}/temp", str(number * 37 % 100), None)


def _placed(number: int) -> Reading:
    """Spread evenly over a disc, by the golden angle."""
    distance = FIELD_METRES * math.sqrt(number * _STEP % 1.0)
    angle = number * _GOLDEN_ANGLE
    latitude = CENTRE[0] + distance * math.cos(angle) / METRES_A_DEGREE
    scale = METRES_A_DEGREE * math.cos(math.radians(CENTRE[0]))
    longitude = CENTRE[1] + distance * math.sin(angle) / scale
    properties = Properties()
    properties.user = [("gpl_current_pos", f"{latitude:.7f};{longitude:.7f}")]
    return Reading(f"s{number % 100}/temp", str(number % 100), properties)
