"""Random areas, and messages that are somewhere: as a broker gets them, and as archived rows."""

import json
import random
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

from gossamer.geo.glp import POSITION

User = list[tuple[str, str]]
Row = tuple[datetime, str, bytes, float | None, float | None, str | None]

SCHEMA = "time timestamp, topic string, payload binary, lat double, lon double, glp string"
BEGIN = datetime(2031, 5, 24, tzinfo=UTC)
# Where cells are odd: the antimeridian, a pole, the corner of many cells, a city.
TOWNS = ((0.0, 179.999), (89.99, 40.0), (0.0, 0.0), (43.72, 10.4))
SIZES = (20.0, 500.0, 8_000.0, 300_000.0)  # metres


def area(draw: random.Random, number: int, adds: int = 1) -> User:
    lat, lon = _near(draw, draw.choice(TOWNS), 5_000.0)
    size = draw.choice(SIZES)
    head = f"{number};m;{adds}"
    match draw.randrange(5):
        case 0 | 1:
            return [("gpl_circleStatic", f"{head};{lat!r};{lon!r};{size}")]
        case 2:
            return [("gpl_rectangleStatic", f"{head};{lat!r};{lon!r};{size};{size * 2}")]
        case 3:
            to_lat, to_lon = _near(draw, (lat, lon), size)
            return [
                ("gpl_lineStart", f"{head};{lat!r};{lon!r};{size / 4}"),
                ("gpl_lineEnd", f"{head};{to_lat!r};{to_lon!r}"),
            ]
        case _:
            reach = min(size, 100_000.0) / 111_000.0
            south = min(lat, 89.0 - reach)
            corners = [[lon, south], [lon + reach, south], [lon, south + reach], [lon, south]]
            geometry = json.dumps({"type": "Polygon", "coordinates": [corners]})
            return [("gpl_geojson", f"{head};{geometry}")]


def _near(draw: random.Random, town: tuple[float, float], metres: float) -> tuple[float, float]:
    lat = max(-90.0, min(90.0, town[0] + draw.uniform(-metres, metres) / 111_000.0))
    lon = town[1] + draw.uniform(-metres, metres) / 111_000.0
    return lat, (lon + 180.0) % 360.0 - 180.0


def fence(draw: random.Random) -> User:
    """A few areas, sometimes with a hole, sometimes around the subscriber or only its position."""
    kind = draw.random()
    lat, lon = _near(draw, draw.choice(TOWNS), 100.0)
    here = (POSITION, f"{lat!r};{lon!r}")
    if kind < 0.1:
        return [here]
    if kind < 0.2:
        return [("gpl_circleDynamic", "7;km;1;3"), here]
    if kind < 0.25:
        return [("gpl_circleDynamic", "7;km;1;3")]
    entries = area(draw, 1)
    if kind < 0.6:
        entries += area(draw, 2)
    if kind < 0.4:
        entries += area(draw, 3, adds=0)
    return entries


def located_messages(draw: random.Random, count: int) -> Iterator[tuple[User, Row]]:
    """Most at a position, some about areas, some that say nothing."""
    for number in range(count):
        lat, lon = _near(draw, draw.choice(TOWNS), draw.choice((1.0, 3_000.0, 200_000.0)))
        user: User = []
        kind = draw.random()
        if kind < 0.8:
            user.append((POSITION, f"{lat!r};{lon!r}"))
        if kind > 0.6 and kind < 0.9:
            user += area(draw, 1)
        yield user, row_of(number, user)


def row_of(number: int, user: User) -> Row:
    time = BEGIN + timedelta(seconds=number)
    at: dict[str, Any] = dict(user)
    lat, lon = (float(text) for text in at[POSITION].split(";")) if POSITION in at else (None, None)
    glp = json.dumps(user) if user else None
    return time, f"t/{number}", str(number).encode(), lat, lon, glp
