"""A circle: all that lies within a distance of its centre, along the surface, 1 cm to 15,000 km."""

import math

from gossamer.geo.earth import Point, chord2, distance, longest_chord, shortest_chord
from gossamer.geo.shape import Ball, Shape


class Circle(Shape):
    __slots__ = ("inner2", "outer2", "radius")

    def __init__(self, centre: Point, radius: float) -> None:
        super().__init__(centre)
        self.radius = radius
        inner = shortest_chord(radius)
        outer = longest_chord(radius)
        self.inner2 = inner * inner
        self.outer2 = outer * outer

    def contains(self, point: Point) -> bool:
        square = chord2(point, self.centre)
        if square > self.outer2:
            return False
        if square < self.inner2:
            return True
        return distance(point, self.centre) <= self.radius

    def clearance(self, point: Point) -> float:
        return distance(point, self.centre) - self.radius

    def move(self, centre: Point) -> None:
        self.centre = centre

    def balls(self) -> list[Ball]:
        return [Ball(self.centre, self.radius)]

    def sure_chord(self) -> float:
        return math.sqrt(self.inner2)
