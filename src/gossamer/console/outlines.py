"""The areas of GLP as outlines to draw: rings of latitude and longitude.

Entries come from subscriptions that a broker took, so they are well-formed; an area that follows a
client is drawn where that client is.
"""

import json
import math
from collections.abc import Callable
from typing import Final

from gossamer.geo.earth import Point, destination
from gossamer.geo.fields import read_unit

CIRCLE_CORNERS: Final = 48
MOST_CORNERS: Final = 400  # of one ring; more cannot be told apart on a screen

Ring = list[tuple[float, float]]
Entry = tuple[str, str]


def rings_of(entries: list[Entry], position: tuple[float, float] | None) -> list[Ring]:
    """One ring or more an area; areas that are taken away are drawn like the others."""
    rings: list[Ring] = []
    line: Ring = []
    for key, text in entries:
        fields = text.split(";")
        if key in READERS:
            try:
                rings += READERS[key](fields, position)
            except (ValueError, IndexError, KeyError, TypeError):
                continue
        elif key in ("gpl_lineStart", "gpl_linePoint", "gpl_lineEnd"):
            line.append((float(fields[3]), float(fields[4])))
            if key == "gpl_lineEnd":
                rings.append(line + line[::-1])
                line = []
    return [_thinned(ring) for ring in rings if len(ring) > 1]


def circle(lat: float, lon: float, metres: float) -> Ring:
    centre = Point(lat, lon)
    turns = [2 * math.pi * corner / CIRCLE_CORNERS for corner in range(CIRCLE_CORNERS)]
    return [_pair(destination(centre, turn, metres)) for turn in turns]


def rectangle(lat: float, lon: float, height: float, width: float) -> Ring:
    reach = math.hypot(height, width) / 2
    turn = math.atan2(width, height)
    centre = Point(lat, lon)
    turns = (turn, math.pi - turn, math.pi + turn, -turn)
    return [_pair(destination(centre, one, reach)) for one in turns]


def _pair(point: Point) -> tuple[float, float]:
    return point.lat, point.lon


def _circle_static(fields: list[str], _: tuple[float, float] | None) -> list[Ring]:
    unit = read_unit(fields[1])
    return [circle(float(fields[3]), float(fields[4]), float(fields[5]) * unit)]


def _circle_dynamic(fields: list[str], position: tuple[float, float] | None) -> list[Ring]:
    if position is None:
        return []
    return [circle(*position, float(fields[3]) * read_unit(fields[1]))]


def _rectangle_static(fields: list[str], _: tuple[float, float] | None) -> list[Ring]:
    unit = read_unit(fields[1])
    lat, lon, height, width = (float(text) for text in fields[3:7])
    return [rectangle(lat, lon, height * unit, width * unit)]


def _rectangle_dynamic(fields: list[str], position: tuple[float, float] | None) -> list[Ring]:
    if position is None:
        return []
    unit = read_unit(fields[1])
    return [rectangle(*position, float(fields[3]) * unit, float(fields[4]) * unit)]


def _polygon(fields: list[str], _: tuple[float, float] | None) -> list[Ring]:
    numbers = [float(text) for text in fields[3:]]
    return [list(zip(numbers[::2], numbers[1::2], strict=True))]


def _geojson(fields: list[str], _: tuple[float, float] | None) -> list[Ring]:
    value = json.loads(";".join(fields[3:]))
    polygons = value["coordinates"] if value["type"] == "MultiPolygon" else [value["coordinates"]]
    return [[(place[1], place[0]) for place in ring] for polygon in polygons for ring in polygon]


READERS: Final[dict[str, Callable[[list[str], tuple[float, float] | None], list[Ring]]]] = {
    "gpl_circleStatic": _circle_static,
    "gpl_circleDynamic": _circle_dynamic,
    "gpl_rectangleStatic": _rectangle_static,
    "gpl_rectangleDynamic": _rectangle_dynamic,
    "gpl_polygonStatic": _polygon,
    "gpl_geojson": _geojson,
}


def _thinned(ring: Ring) -> Ring:
    step = 1 + len(ring) // MOST_CORNERS
    return ring[::step]
