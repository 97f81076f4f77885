"""A region: areas folded in order, each added to what came before or taken away from it.

So the last area that contains a point decides whether the region does.
"""

import math

from gossamer.geo.earth import Point
from gossamer.geo.shape import Ball, Shape


class Region:
    """`shapes[i]` is added if `adds[i]`, else taken away. `plain` if nothing is taken away."""

    __slots__ = ("adds", "plain", "shapes")

    def __init__(self, shapes: list[Shape], adds: list[bool]) -> None:
        self.shapes = shapes
        self.adds = adds
        self.plain = all(adds)

    def contains(self, point: Point) -> bool:
        shapes = self.shapes
        for i in range(len(shapes) - 1, -1, -1):
            if shapes[i].contains(point):
                return self.adds[i]
        return False

    def clearance(self, point: Point) -> float:
        """Never overstates how far the region's edge is; positive outside, negative inside."""
        away = math.inf
        for i in range(len(self.shapes)):
            one = self.shapes[i].clearance(point)
            away = min(away, one) if self.adds[i] else max(away, -one)
        return away

    def weight(self) -> int:
        """The points that one question about it looks at."""
        return sum([shape.weight() for shape in self.shapes])

    def added(self) -> list[Shape]:
        return [shape for i, shape in enumerate(self.shapes) if self.adds[i]]

    def balls(self) -> list[Ball]:
        """Together they cover the region; empty if it is."""
        return [ball for shape in self.added() for ball in shape.balls()]
