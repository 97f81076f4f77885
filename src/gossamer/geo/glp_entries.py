"""The area entries of GLP: `id;unit;or;` and then what the form of the key asks.

One row a key. A reader makes the shape of a static area, or the sizes of a dynamic one. Only lines
take several entries: `gpl_lineStart`, any `gpl_linePoint`s, `gpl_lineEnd` make one area. ValueError
says what is wrong.
"""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from gossamer.geo.areas import Area
from gossamer.geo.circle import Circle
from gossamer.geo.earth import MAX_REACH, Point
from gossamer.geo.geojson import read_geojson
from gossamer.geo.line import Line
from gossamer.geo.polygon import Polygon
from gossamer.geo.rectangle import Rectangle
from gossamer.geo.rings import NO_LIMIT
from gossamer.geo.shape import Shape, ShapeError

UNITS: Final = {"km": 1000.0, "m": 1.0, "dm": 0.1, "cm": 0.01}
MAX_NUMBER: Final = 2**32 - 1
SHOWN: Final = 40  # characters of a stranger's text that a reason string repeats

_DECIMAL: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
_INTEGER: Final = re.compile(r"[0-9]{1,10}")


def shown(text: str) -> str:
    return repr(text if len(text) <= SHOWN else text[:SHOWN] + "…")


def read_decimal(text: str, what: str) -> float:
    if not _is_plain(text) and _DECIMAL.fullmatch(text) is None:
        raise ValueError(f"{what} {shown(text)} is not a number")
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{what} {shown(text)} is out of range")
    return value


def _is_plain(text: str) -> bool:
    """Whether it is a sign, digits and a point among them: most are, and thousands of them may
    come in one packet."""
    digits = text[1:] if text.startswith("-") else text
    return digits.isascii() and digits.replace(".", "", 1).isdigit()


def read_number(text: str) -> int:
    """The id of an area."""
    if _INTEGER.fullmatch(text) is None or int(text) > MAX_NUMBER:
        raise ValueError(f"id {shown(text)} is not an integer from 0 to {MAX_NUMBER}")
    return int(text)


def read_unit(text: str) -> float:
    """Metres in one such unit."""
    unit = UNITS.get(text)
    if unit is None:
        raise ValueError(f"unit {shown(text)} is none of {', '.join(UNITS)}")
    return unit


def read_flag(text: str, what: str) -> bool:
    if text not in ("0", "1"):
        raise ValueError(f"{what} {shown(text)} is neither 0 nor 1")
    return text == "1"


def read_point(lat_text: str, lon_text: str) -> Point:
    lat = read_decimal(lat_text, "latitude")
    lon = read_decimal(lon_text, "longitude")
    if not -90.0 <= lat <= 90.0:
        raise ValueError(f"latitude {shown(lat_text)} is not from -90 to 90")
    if not -180.0 <= lon <= 180.0:
        raise ValueError(f"longitude {shown(lon_text)} is not from -180 to 180")
    return Point(lat, lon)


def read_length(text: str, unit: float, what: str) -> float:
    """In metres; more than nothing, and no more than the earth has room for."""
    value = read_decimal(text, what) * unit
    if value <= 0.0:
        raise ValueError(f"{what} {shown(text)} is not more than 0")
    if value > MAX_REACH:
        raise ValueError(f"{what} {shown(text)} is over {MAX_REACH / 1000:.0f} km")
    return value


# Of a place that a broker keeps; it is a level of topics.
MAX_NAME: Final = 64
_NAME: Final = re.compile(r"[^/+#;$\x00-\x1f\x7f][^/+#;\x00-\x1f\x7f]*")


def check_place_name(name: str) -> None:
    if len(name) > MAX_NAME or _NAME.fullmatch(name) is None:
        raise ValueError(
            f"name {shown(name)} is not 1 to {MAX_NAME} characters without / + # ; and not "
            "beginning with $"
        )


def read_place(key: str, text: str) -> Area:
    """`NAME` or `NAME;or`: a place that the broker keeps. Its shape comes where that is known."""
    name, semicolon, flag = text.partition(";")
    check_place_name(name)
    add = read_flag(flag, "or") if semicolon else True
    return Area(0, "place", add, None, (), [(key, text)], name)


MAX_POINTS: Final = 1000  # of one line or polygon: finding crossing edges may take their square
HEAD: Final = ("id", "unit", "or")


class Head:
    """The fields that every area entry starts with, and the rest."""

    __slots__ = ("add", "number", "rest", "unit")

    def __init__(self, text: str, names: tuple[str, ...]) -> None:
        """`names` are the fields of the rest; a last one that ends in … is all that remains."""
        open_ended = len(names) > 0 and names[-1].endswith("…")
        expected = HEAD + names
        fields = text.split(";", len(expected) - 1 if open_ended else -1)
        if len(fields) != len(expected):
            raise ValueError(f"is not {';'.join(expected)}")
        self.number = read_number(fields[0])
        self.unit = read_unit(fields[1])
        self.add = read_flag(fields[2], "or")
        self.rest = fields[3:]


Made = tuple[Shape | None, tuple[float, ...]]


def _circle_static(rest: list[str], unit: float, _looks: int) -> Made:
    return Circle(read_point(rest[0], rest[1]), read_length(rest[2], unit, "radius")), ()


def _circle_dynamic(rest: list[str], unit: float, _looks: int) -> Made:
    return None, (read_length(rest[0], unit, "radius"),)


def _rectangle_static(rest: list[str], unit: float, _looks: int) -> Made:
    height = read_length(rest[2], unit, "height")
    width = read_length(rest[3], unit, "width")
    return Rectangle(read_point(rest[0], rest[1]), height, width), ()


def _rectangle_dynamic(rest: list[str], unit: float, _looks: int) -> Made:
    return None, (read_length(rest[0], unit, "height"), read_length(rest[1], unit, "width"))


def _polygon_static(rest: list[str], _unit: float, looks: int) -> Made:
    fields = rest[0].split(";")
    if len(fields) % 2:
        raise ShapeError("a latitude has no longitude")
    if len(fields) > 2 * MAX_POINTS:
        raise ShapeError(f"more than {MAX_POINTS} points")
    corners = [read_point(fields[i], fields[i + 1]) for i in range(0, len(fields), 2)]
    return Polygon(corners, looks), ()


def _geojson(rest: list[str], _unit: float, looks: int) -> Made:
    return read_geojson(rest[0], looks), ()


@dataclass(frozen=True, slots=True)
class Form:
    """What an entry looks like; `kind` is the shape that an id stays bound to."""

    kind: str
    names: tuple[str, ...]
    make: Callable[[list[str], float, int], Made]


FORMS: Final[dict[str, Form]] = {
    "gpl_circleStatic": Form("circle", ("center_lat", "center_lon", "radius"), _circle_static),
    "gpl_circleDynamic": Form("circle", ("radius",), _circle_dynamic),
    "gpl_rectangleStatic": Form(
        "rectangle", ("center_lat", "center_lon", "height", "width"), _rectangle_static
    ),
    "gpl_rectangleDynamic": Form("rectangle", ("height", "width"), _rectangle_dynamic),
    "gpl_polygonStatic": Form("polygon", ("lat;lon;…",), _polygon_static),
    "gpl_geojson": Form("geojson", ("GeoJSON…",), _geojson),
}
LONG: Final = ("gpl_polygonStatic", "gpl_geojson")  # as long as a User Property may be


def read_area(key: str, text: str, looks: int = NO_LIMIT) -> Area:
    """`looks` is how many its border may take. Raises ValueError, saying what is wrong."""
    form = FORMS[key]
    head = Head(text, form.names)
    shape, sizes = form.make(head.rest, head.unit, looks)
    return Area(head.number, form.kind, head.add, shape, sizes, [(key, text)])


START: Final = "gpl_lineStart"
POINT: Final = "gpl_linePoint"
END: Final = "gpl_lineEnd"
LINE_KEYS: Final = (START, POINT, END)


class LineReader:
    """Collects the entries of one line after another."""

    __slots__ = ("add", "entries", "number", "points", "thickness")

    def __init__(self) -> None:
        self.number = 0
        self.add = False
        self.thickness = 0.0
        self.points: list[Point] = []
        self.entries: list[tuple[str, str]] = []

    def is_open(self) -> bool:
        return len(self.points) > 0

    def read(self, key: str, text: str) -> Area | None:
        """The area, once its end is there. Raises ValueError, saying what is wrong."""
        if key == START:
            self._start(text)
        elif not self.points:
            raise ValueError(f"comes before any {START}")
        else:
            head = Head(text, ("point_lat", "point_lon"))
            self.points.append(read_point(head.rest[0], head.rest[1]))
        if len(self.points) > MAX_POINTS:
            raise ValueError(f"more than {MAX_POINTS} points")
        self.entries.append((key, text))
        return self._ended() if key == END else None

    def _start(self, text: str) -> None:
        if self.points:
            raise ValueError(f"comes before the line has a {END}")
        head = Head(text, ("point_lat", "point_lon", "thickness"))
        self.number = head.number
        self.add = head.add
        self.thickness = read_length(head.rest[2], head.unit, "thickness")
        self.points = [read_point(head.rest[0], head.rest[1])]
        self.entries = []

    def _ended(self) -> Area:
        line = Line(self.points, self.thickness)
        self.points = []
        return Area(self.number, "line", self.add, line, (), self.entries)
