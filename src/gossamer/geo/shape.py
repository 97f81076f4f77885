"""Shapes on the ellipsoid, and regions made of them.

Every shape answers: is a point in it, how far is its edge, which balls cover it. A ball is all
that lies within `reach` metres of a point along the surface. `clearance` never overstates: a ball
of that reach around the point does not touch the edge. So the sign and size of one number tell
whether a whole ball is inside, outside, or undecided.

A region is areas folded in order, each added to what came before or taken away from it. So the last
area that contains a point decides whether the region does.
"""

import math

from gossamer.geo.earth import Point


class ShapeError(ValueError):
    """The numbers do not describe an area; the text says why."""


class Ball:
    __slots__ = ("centre", "reach")

    def __init__(self, centre: Point, reach: float) -> None:
        self.centre = centre
        self.reach = reach


class Shape:
    """A closed area on the ellipsoid; `centre` is a point in or near it."""

    __slots__ = ("centre",)

    def __init__(self, centre: Point) -> None:
        self.centre = centre

    def contains(self, point: Point) -> bool:
        raise NotImplementedError

    def clearance(self, point: Point) -> float:
        """At least this many metres from the edge: positive outside, negative inside."""
        raise NotImplementedError

    def measures(self) -> bool:
        """Whether `clearance`, outside, is the distance itself and not only a lower bound."""
        return True

    def balls(self) -> list[Ball]:
        """Together they cover the shape; never empty."""
        raise NotImplementedError

    def points(self) -> int:
        """That it is kept by; what a client may send is limited by their sum."""
        return 1

    def weight(self) -> int:
        """The points that one question about it looks at."""
        return 1

    def sure_chord(self) -> float:
        """Every point whose chord to `centre` is shorter is inside; negative if none surely is."""
        return -1.0

    def move(self, centre: Point) -> None:
        """Put the same shape around another centre; only for those that GLP lets move."""
        raise NotImplementedError


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
