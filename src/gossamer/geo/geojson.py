"""A GeoJSON Polygon or MultiPolygon, holes included, as RFC 7946 reads it.

Edges are straight in longitude and latitude (so an edge between two points of a parallel runs
along it), exactly as written: an area that crosses the antimeridian is cut in two there, or
written on with longitudes beyond 180.
"""

import json
import math
from itertools import pairwise
from typing import Any, Final, NoReturn

from gossamer.geo.earth import Point, distance
from gossamer.geo.path import Path
from gossamer.geo.rings import NO_LIMIT, Ring, check_rings, inside
from gossamer.geo.shape import Ball, Shape, ShapeError

MAX_CORNERS: Final = 1000  # of one area: finding crossing edges may take their square
BORDER_STEPS: Final = 1000  # into which the border is cut to measure distances from it
WALK: Final = 30  # times as long as a look at a step: how long it takes to make one
WHOLE_EARTH: Final = 20_100_000.0  # metres: no two points are further apart
UNDER_POLE: Final = 90 - 1e-12  # the upper edge of a ring is not part of it, but a pole is

Rings = list[Ring]  # an outer ring, then its holes


class GeoJson(Shape):
    __slots__ = ("borders", "bulge", "corners", "covers", "polygons")

    def __init__(self, polygons: list[Rings], looks: int = NO_LIMIT) -> None:
        for rings in polygons:
            check_rings(rings, looks)
        first_lon, first_lat = polygons[0][0][0]
        super().__init__(Point(first_lat, first_lon))
        self.polygons = polygons
        self.borders: list[Path] = []
        self.bulge = 0.0
        self.corners = sum([len(ring) for rings in polygons for ring in rings])
        self.covers = [_cover(rings[0]) for rings in polygons]

    def contains(self, point: Point) -> bool:
        lat = min(point.lat, UNDER_POLE)
        for rings in self.polygons:
            for lon in (point.lon, point.lon - 360.0, point.lon + 360.0):
                if inside(rings[0], lon, lat):
                    if not any(inside(hole, lon, lat) for hole in rings[1:]):
                        return True
                    break
        return False

    def clearance(self, point: Point) -> float:
        if not self.borders:
            self._walk_borders()
        away = min([border.distance(point) for border in self.borders])
        away = max(away - self.bulge, 0.0)
        return -away if self.contains(point) else away

    def _walk_borders(self) -> None:
        closed = [[*ring, ring[0]] for rings in self.polygons for ring in rings]
        total = math.fsum([_span(a, b) for ring in closed for a, b in pairwise(ring)])
        for ring in closed:
            steps = [Point(ring[0][1], ring[0][0])]
            for a, b in pairwise(ring):
                pieces = max(1, math.ceil(_span(a, b) / total * BORDER_STEPS))
                for i in range(1, pieces + 1):
                    steps.append(_along(a, b, i / pieces))
                    middle = _along(a, b, (i - 0.5) / pieces)
                    way = Path(steps[-2:])
                    self.bulge = max(self.bulge, way.distance(middle) * 1.1 + 0.001)
            self.borders.append(Path(steps))

    def balls(self) -> list[Ball]:
        return self.covers

    def points(self) -> int:
        return self.corners

    def weight(self) -> int:
        """Before it was ever asked how far away it is, its border has to be walked."""
        steps = BORDER_STEPS + 4 * self.corners
        return steps if self.borders else WALK * steps


def _span(a: tuple[float, float], b: tuple[float, float]) -> float:
    """About as many degrees as the edge is long."""
    return math.hypot(b[1] - a[1], (b[0] - a[0]) * math.cos(math.radians((a[1] + b[1]) / 2)))


def _along(a: tuple[float, float], b: tuple[float, float], part: float) -> Point:
    return Point(a[1] + (b[1] - a[1]) * part, a[0] + (b[0] - a[0]) * part)


def _cover(ring: Ring) -> Ball:
    west = min([lon for lon, _ in ring])
    east = max([lon for lon, _ in ring])
    south = min([lat for _, lat in ring])
    north = max([lat for _, lat in ring])
    centre = Point((south + north) / 2, (west + east) / 2)
    # Seen from the centre of a box that spans less than half the earth, nothing in it is further
    # away than its corners.
    if east - west >= 180.0:
        return Ball(centre, WHOLE_EARTH)
    corners = [Point(lat, lon) for lat in (south, north) for lon in (west, east)]
    return Ball(centre, max([distance(centre, corner) for corner in corners]) * 1.01)


def read_geojson(text: str, looks: int = NO_LIMIT) -> GeoJson:
    """Raises ShapeError, saying what is wrong, for anything but an area."""
    try:
        value: object = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise ShapeError("not JSON") from None
    if not isinstance(value, dict):
        raise ShapeError("not a GeoJSON object")
    kind = value.get("type")
    coordinates = value.get("coordinates")
    if kind == "Polygon":
        polygons = [_read_polygon(coordinates)]
    elif kind == "MultiPolygon":
        polygons = [_read_polygon(polygon) for polygon in _listed(coordinates, "coordinates")]
    else:
        raise ShapeError("neither a Polygon nor a MultiPolygon")
    if not polygons:
        raise ShapeError("no coordinates")
    if sum(len(ring) for rings in polygons for ring in rings) > MAX_CORNERS:
        raise ShapeError(f"more than {MAX_CORNERS} points")
    return GeoJson(polygons, looks)


def _no_constant(name: str) -> NoReturn:
    raise ValueError(name)


def _read_polygon(value: object) -> Rings:
    rings = [_read_ring(ring) for ring in _listed(value, "a polygon")]
    if not rings:
        raise ShapeError("a polygon has no ring")
    return rings


def _read_ring(value: object) -> Ring:
    ring = [_read_position(position) for position in _listed(value, "a ring")]
    if len(ring) < 4 or ring[0] != ring[-1]:
        raise ShapeError("a ring has fewer than four points or is not closed")
    return ring[:-1]


def _read_position(value: object) -> tuple[float, float]:
    numbers = _listed(value, "a position")
    if len(numbers) < 2:
        raise ShapeError("a position needs a longitude and a latitude")
    lon, lat = _number(numbers[0]), _number(numbers[1])
    if not -360.0 <= lon <= 360.0:
        raise ShapeError(f"longitude {lon:g} is not from -360 to 360")
    if not -90.0 <= lat <= 90.0:
        raise ShapeError(f"latitude {lat:g} is not from -90 to 90")
    return lon, lat


def _listed(value: object, what: str) -> list[object]:
    if not isinstance(value, list):
        raise ShapeError(f"{what} is not a list")
    return value


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ShapeError("a coordinate is not a number")
    try:
        return float(value)
    except OverflowError:
        raise ShapeError("a coordinate is out of range") from None


AREA_TYPES: Final = ("Polygon", "MultiPolygon")
_COLLECTIONS: Final = {"FeatureCollection": "features", "GeometryCollection": "geometries"}


def areas_in(value: Any) -> list[dict[str, Any]]:
    """The Polygons and MultiPolygons of a geometry, a Feature, or a collection of either."""
    if not isinstance(value, dict):
        return []
    kind = value.get("type")
    if kind == "Feature":
        return areas_in(value.get("geometry"))
    if kind in _COLLECTIONS:
        return [area for one in value.get(_COLLECTIONS[kind]) or () for area in areas_in(one)]
    if kind in AREA_TYPES:
        return [{"type": kind, "coordinates": value.get("coordinates")}]
    return []
