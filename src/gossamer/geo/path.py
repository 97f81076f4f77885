"""A path of shortest lines from point to point: how far is it from a given point?

Each leg is cut into steps so short that the chord of a step, lifted to the surface, is within a
few millimetres of the true geodesic.
"""

import math
from typing import Final

from gossamer.geo.earth import MAX_REACH, A, B, Point, chord2, course, destination, distance
from gossamer.geo.shape import Ball, ShapeError

STEP: Final = 50_000.0  # metres: a geodesic leaves its chord's plane by 3 mm over this
SHORT: Final = 0.999 * STEP  # a chord: the way along the surface is less than a step
MAX_LENGTH: Final = (
    40_000_000.0  # once round the earth; bounds the steps that strangers make us keep
)
BALLS: Final = 32  # of consecutive steps; keeps a long path from covering half the earth
FOOT: Final = 1e-6  # relative: by how much the nearest point found is not quite the nearest


def steps_along(corners: list[Point]) -> list[Point]:
    """The corners, with points put in between wherever two are more than a step apart."""
    steps = [corners[0]]
    length = 0.0
    for i in range(1, len(corners)):
        chord = chord2(corners[i - 1], corners[i])
        if chord < SHORT * SHORT:
            length += math.sqrt(chord)
            steps.append(corners[i])
            continue
        way = course(corners[i - 1], corners[i])
        length += way.distance
        if way.distance > MAX_REACH:
            raise ShapeError(f"from one point to the next is over {MAX_REACH / 1000:.0f} km")
        if length > MAX_LENGTH:
            raise ShapeError(f"it is longer than {MAX_LENGTH / 1000:.0f} km")
        pieces = math.ceil(way.distance / STEP)
        for piece in range(1, pieces):
            part = way.distance * piece / pieces
            steps.append(destination(corners[i - 1], way.azimuth, part))
        steps.append(corners[i])
    return steps


class Path:
    """`steps` are joined in order; two that follow each other are at most a step apart."""

    __slots__ = ("steps",)

    def __init__(self, steps: list[Point]) -> None:
        self.steps = steps

    def distance(self, point: Point) -> float:
        """Never more than the true one."""
        return distance(point, self.nearest(point)) * (1 - FOOT)

    def nearest(self, point: Point) -> Point:
        """The point of the path that is nearest in a straight line."""
        steps = self.steps
        best = math.inf
        at_x = steps[0].x
        at_y = steps[0].y
        at_z = steps[0].z
        for i in range(1, len(steps)):
            a = steps[i - 1]
            b = steps[i]
            ux = b.x - a.x
            uy = b.y - a.y
            uz = b.z - a.z
            wx = point.x - a.x
            wy = point.y - a.y
            wz = point.z - a.z
            square = ux * ux + uy * uy + uz * uz
            t = (wx * ux + wy * uy + wz * uz) / square if square > 0.0 else 0.0
            t = 0.0 if t < 0.0 else (1.0 if t > 1.0 else t)
            wx -= t * ux
            wy -= t * uy
            wz -= t * uz
            # The chord sinks under the surface by t(1-t)·length²/2R: not a distance along it.
            sink = t * (1 - t) * square / (2 * B)
            away = wx * wx + wy * wy + wz * wz - sink * sink
            if away < best:
                best = away
                at_x = a.x + t * ux
                at_y = a.y + t * uy
                at_z = a.z + t * uz
        return lifted(at_x, at_y, at_z)

    def balls(self, margin: float) -> list[Ball]:
        """Cover all within `margin` of the path."""
        steps = self.steps
        size = max(1, math.ceil((len(steps) - 1) / BALLS))
        found: list[Ball] = []
        for start in range(0, len(steps) - 1, size):
            run = steps[start : start + size + 1]
            first, last = run[0], run[-1]
            middle = lifted((first.x + last.x) / 2, (first.y + last.y) / 2, (first.z + last.z) / 2)
            reach = max([distance(middle, step) for step in run])
            between = STEP / 2 if len(run) > 2 else 0.0
            found.append(Ball(middle, reach * 1.0001 + 0.01 + between + margin))
        return found


def lifted(x: float, y: float, z: float) -> Point:
    """The point of the surface above this one, which may lie a little under it.

    The gradient of the ellipsoid's equation is the upright direction; two steps along it turn a
    few hundred metres into micrometres.
    """
    for _ in range(2):
        fall = (x * x + y * y) / (A * A) + z * z / (B * B) - 1
        gx = 2 * x / (A * A)
        gy = 2 * y / (A * A)
        gz = 2 * z / (B * B)
        up = -fall / (gx * gx + gy * gy + gz * gz)
        x += up * gx
        y += up * gy
        z += up * gz
    across = math.sqrt(x * x + y * y)
    lat = math.atan2(z, across * (B * B) / (A * A))
    return Point(math.degrees(lat), math.degrees(math.atan2(y, x)))
