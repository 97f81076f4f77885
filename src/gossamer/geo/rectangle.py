"""A north-up rectangle: measured from its centre along the surface, by distance and direction.

A point `s` metres from the centre in the direction `a` is `s·cos a` north and `s·sin a` east of
it (the azimuthal equidistant projection). Nothing in that depends on where the centre lies.
"""

import math
from typing import Final

from gossamer.geo.earth import B, Point, course, shortest_chord
from gossamer.geo.shape import Ball, Shape

# The chord, seen from the centre's horizon, differs from the projection by less than
# s³/4R² (s³/6R² on a sphere; the rest pays for the ellipsoid) up to this distance.
LOCAL: Final = 2_000_000.0
BEND: Final = 1 / (4 * B * B)


class Rectangle(Shape):
    __slots__ = (
        "east_x",
        "east_y",
        "half_height",
        "half_width",
        "north_x",
        "north_y",
        "north_z",
    )

    def __init__(self, centre: Point, height: float, width: float) -> None:
        super().__init__(centre)
        self.half_height = height / 2
        self.half_width = width / 2
        self.move(centre)

    def move(self, centre: Point) -> None:
        self.centre = centre
        phi = math.radians(centre.lat)
        lam = math.radians(centre.lon)
        self.east_x = -math.sin(lam)
        self.east_y = math.cos(lam)
        self.north_x = -math.sin(phi) * math.cos(lam)
        self.north_y = -math.sin(phi) * math.sin(lam)
        self.north_z = math.cos(phi)

    def contains(self, point: Point) -> bool:
        dx = point.x - self.centre.x
        dy = point.y - self.centre.y
        dz = point.z - self.centre.z
        square = dx * dx + dy * dy + dz * dz
        if square < LOCAL * LOCAL:
            slack = square * math.sqrt(square) * BEND + 1e-6
            east = abs(self.east_x * dx + self.east_y * dy)
            north = abs(self.north_x * dx + self.north_y * dy + self.north_z * dz)
            if east > self.half_width + slack or north > self.half_height + slack:
                return False
            if east < self.half_width - slack and north < self.half_height - slack:
                return True
        way = course(self.centre, point)
        return (
            abs(way.distance * math.sin(way.azimuth)) <= self.half_width
            and abs(way.distance * math.cos(way.azimuth)) <= self.half_height
        )

    def clearance(self, point: Point) -> float:
        way = course(self.centre, point)
        over_east = abs(way.distance * math.sin(way.azimuth)) - self.half_width
        over_north = abs(way.distance * math.cos(way.azimuth)) - self.half_height
        if over_east <= 0.0 and over_north <= 0.0:
            flat = max(over_east, over_north)
        else:
            flat = math.hypot(max(over_east, 0.0), max(over_north, 0.0))
        return flat / self._stretch(way.distance)

    def measures(self) -> bool:
        return False

    def _stretch(self, away: float) -> float:
        """By how much the projection overstates distances between here and the edge, at most."""
        angle = max(away, self.reach()) / B
        if angle > 3.0:
            return math.inf
        return angle / math.sin(angle) * 1.01 if angle > 0.001 else 1.01

    def reach(self) -> float:
        return math.hypot(self.half_height, self.half_width)

    def balls(self) -> list[Ball]:
        return [Ball(self.centre, self.reach())]

    def sure_chord(self) -> float:
        return shortest_chord(min(self.half_height, self.half_width))
