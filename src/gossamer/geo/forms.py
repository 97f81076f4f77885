"""The area entries of GLP that stand alone: `id;unit;or;` and then what the form of the key asks.

One row a key. A reader makes the shape of a static area, or the sizes of a dynamic one.
"""

from collections.abc import Callable
from typing import Final

from gossamer.geo.areas import Area
from gossamer.geo.circle import Circle
from gossamer.geo.errors import ShapeError
from gossamer.geo.fields import read_flag, read_length, read_number, read_point, read_unit
from gossamer.geo.geojson import read_geojson
from gossamer.geo.polygon import Polygon
from gossamer.geo.rectangle import Rectangle
from gossamer.geo.rings import NO_LIMIT
from gossamer.geo.shape import Shape

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


class Form:
    """What an entry looks like; `kind` is the shape that an id stays bound to."""

    def __init__(
        self, kind: str, names: tuple[str, ...], make: Callable[[list[str], float, int], Made]
    ) -> None:
        self.kind = kind
        self.names = names
        self.make = make


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
