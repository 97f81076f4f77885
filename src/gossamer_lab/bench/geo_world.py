"""A made-up country full of geofences of all shapes, the same for every run of a seed."""

import math
from random import Random

from gossamer.geo.areas import Area, Areas
from gossamer.geo.circle import Circle
from gossamer.geo.earth import Point, destination
from gossamer.geo.interest import Interest
from gossamer.geo.line import Line
from gossamer.geo.polygon import Polygon
from gossamer.geo.rectangle import Rectangle
from gossamer.geo.shape import Shape

# About the size of Germany; a million fences overlap here about three deep.
SOUTH, NORTH = 47.5, 54.5
WEST, EAST = 6.0, 15.0
SMALLEST, LARGEST = 20.0, 2000.0  # metres; sizes are spread evenly over the orders of magnitude

# Out of a hundred fences.
CIRCLES, RECTANGLES, LINES = 70, 15, 10  # the rest are polygons
CORNERS = 6


class GeoWorld:
    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def place(self) -> Point:
        return Point(self.random.uniform(SOUTH, NORTH), self.random.uniform(WEST, EAST))

    def size(self) -> float:
        return math.exp(self.random.uniform(math.log(SMALLEST), math.log(LARGEST)))

    def shape(self) -> Shape:
        draw = self.random.randrange(100)
        centre = self.place()
        size = self.size()
        if draw < CIRCLES:
            return Circle(centre, size)
        if draw < CIRCLES + RECTANGLES:
            return Rectangle(centre, size, size * 2)
        turn = self.random.uniform(0, 2 * math.pi)
        if draw < CIRCLES + RECTANGLES + LINES:
            return Line([centre, destination(centre, turn, size * 2)], size / 4)
        step = 2 * math.pi / CORNERS
        return Polygon([destination(centre, turn + i * step, size) for i in range(CORNERS)])

    def fence(self) -> Interest:
        """A subscription to one area that stays where it is."""
        shape = self.shape()
        return Interest(None, Areas([Area(1, "any", True, shape, (), [])]), None, 0.0)

    def follower(self) -> Interest:
        """A subscription to the surroundings of a client that moves."""
        area = Area(1, "circle", True, None, (self.size(),), [])
        return Interest(None, Areas([area]), self.place(), 0.0)

    def step(self, at: Point) -> Point:
        """Where a vehicle is a second later."""
        lat = at.lat + self.random.uniform(-3e-4, 3e-4)
        lon = at.lon + self.random.uniform(-3e-4, 3e-4)
        return Point(lat, lon)
