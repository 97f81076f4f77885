"""A line with a thickness: all that lies within half the thickness of a path."""

from gossamer.geo.earth import Point, chord2, distance, longest_chord, shortest_chord
from gossamer.geo.path import Path, steps_along
from gossamer.geo.shape import Ball, Shape, ShapeError


class Line(Shape):
    __slots__ = ("covers", "half", "inner2", "outer2", "path")

    def __init__(self, points: list[Point], thickness: float) -> None:
        if len(points) < 2:
            raise ShapeError("a line needs two points")
        super().__init__(points[0])
        self.path = Path(steps_along(points))
        self.half = thickness / 2
        inner = shortest_chord(self.half)
        outer = longest_chord(self.half)
        self.inner2 = inner * inner
        self.outer2 = outer * outer
        self.covers = self.path.balls(self.half)

    def contains(self, point: Point) -> bool:
        foot = self.path.nearest(point)
        square = chord2(point, foot)
        if square > self.outer2:
            return False
        if square < self.inner2:
            return True
        return distance(point, foot) <= self.half

    def clearance(self, point: Point) -> float:
        return self.path.distance(point) - self.half

    def balls(self) -> list[Ball]:
        return self.covers

    def points(self) -> int:
        return len(self.path.steps)

    def weight(self) -> int:
        return len(self.path.steps)
