"""A polygon given by its corners, with shortest lines between them; no holes.

Of the two areas that a ring divides the earth into, the polygon is the one in the ring's own
hemisphere. Seen from the centre of the earth (the gnomonic projection), its edges are straight.
"""

import math
from typing import Final

from gossamer.geo.earth import Point, chord2, farthest
from gossamer.geo.path import Path, lifted, steps_along
from gossamer.geo.rings import NO_LIMIT, Ring, check_rings, inside
from gossamer.geo.shape import Ball, Shape, ShapeError

HORIZON: Final = math.cos(math.radians(80))  # beyond it the projection runs away to infinity


class Polygon(Shape):
    __slots__ = (
        "covers",
        "east_x",
        "east_y",
        "north_x",
        "north_y",
        "north_z",
        "path",
        "ring",
        "up_x",
        "up_y",
        "up_z",
    )

    def __init__(self, corners: list[Point], looks: int = NO_LIMIT) -> None:
        if len(corners) > 1 and _same(corners[0], corners[-1]):
            corners = corners[:-1]
        if len(corners) < 3:
            raise ShapeError("a ring needs three different points")
        super().__init__(_middle(corners))
        phi = math.radians(self.centre.lat)
        lam = math.radians(self.centre.lon)
        self.up_x = math.cos(phi) * math.cos(lam)
        self.up_y = math.cos(phi) * math.sin(lam)
        self.up_z = math.sin(phi)
        self.east_x = -math.sin(lam)
        self.east_y = math.cos(lam)
        self.north_x = -math.sin(phi) * math.cos(lam)
        self.north_y = -math.sin(phi) * math.sin(lam)
        self.north_z = math.cos(phi)
        check_rings([self._ring(corners)], looks)
        self.path = Path(steps_along([*corners, corners[0]]))
        self.ring = self._ring(self.path.steps[:-1])
        chord = math.sqrt(max([chord2(self.centre, step) for step in self.path.steps]))
        reach = farthest(chord)
        self.covers = [Ball(self.centre, reach * 1.01)]  # edges between steps bulge by less

    def contains(self, point: Point) -> bool:
        if self._height(point) < HORIZON:
            return False
        u, v = self._seen(point)
        return inside(self.ring, u, v)

    def clearance(self, point: Point) -> float:
        away = self.path.distance(point)
        return -away if self.contains(point) else away

    def balls(self) -> list[Ball]:
        return self.covers

    def points(self) -> int:
        return len(self.ring)

    def weight(self) -> int:
        return 2 * len(self.ring)

    def _ring(self, points: list[Point]) -> Ring:
        for point in points:
            if self._height(point) < HORIZON:
                raise ShapeError("it is wider than a hemisphere")
        return [self._seen(point) for point in points]

    def _height(self, point: Point) -> float:
        """The cosine of the angle to the centre."""
        up = self.up_x * point.x + self.up_y * point.y + self.up_z * point.z
        return up / math.sqrt(point.x * point.x + point.y * point.y + point.z * point.z)

    def _seen(self, point: Point) -> tuple[float, float]:
        up = self.up_x * point.x + self.up_y * point.y + self.up_z * point.z
        east = self.east_x * point.x + self.east_y * point.y
        north = self.north_x * point.x + self.north_y * point.y + self.north_z * point.z
        return east / up, north / up


def _same(a: Point, b: Point) -> bool:
    return a.lat == b.lat and a.lon == b.lon


def _middle(corners: list[Point]) -> Point:
    x = math.fsum([corner.x for corner in corners])
    y = math.fsum([corner.y for corner in corners])
    z = math.fsum([corner.z for corner in corners])
    size = math.sqrt(x * x + y * y + z * z)
    if size < len(corners):
        raise ShapeError("it is wider than a hemisphere")
    scale = 6_371_000.0 / size
    return lifted(x * scale, y * scale, z * scale)
