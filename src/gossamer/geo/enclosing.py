"""A few circles around many shapes: nearby ones together, none left out.

Groups are cut in two, the widest first, in earth-centred coordinates, where the antimeridian and
the poles are ordinary places. A cut is at the widest gap; where there are many, at the widest that
leaves a quarter on either side, so that the time is that of sorting.
"""

import math
from heapq import heappop, heappush
from typing import Final

from gossamer.geo.earth import Point, chord2, farthest
from gossamer.geo.path import lifted
from gossamer.geo.shape import Ball, Shape

STEPS: Final = 16  # of moving the centre of a circle: by then it is as small as it will get
SLACK: Final = 0.01  # metres: by more than balls may fall short of their shape
FEW: Final = 128  # that one can be parted from for what it costs
RADIUS: Final = 6_371_000.0


def groups_of(shapes: list[Shape], most: int) -> list[list[int]]:
    """The places of the shapes in the list, in at most so many groups of neighbours."""
    if not shapes:
        return []
    queue: list[tuple[float, int, list[int]]] = []
    everybody = list(range(len(shapes)))
    heappush(queue, (-_width(shapes, everybody), 0, everybody))
    done: list[list[int]] = []
    pushed = 1
    while queue and len(queue) + len(done) < most:
        _, _, group = heappop(queue)
        if len(group) == 1:
            done.append(group)
            continue
        for half in _halves(shapes, group):
            heappush(queue, (-_width(shapes, half), pushed, half))
            pushed += 1
    return done + [group for _, _, group in queue]


def _width(shapes: list[Shape], group: list[int]) -> float:
    """About the radius of a circle around them; one alone needs none."""
    if len(group) == 1:
        return 0.0
    balls = [shapes[place].balls()[0] for place in group]
    middle = _middle([ball.centre for ball in balls])
    return max([math.sqrt(chord2(middle, ball.centre)) + ball.reach for ball in balls])


def _halves(shapes: list[Shape], group: list[int]) -> list[list[int]]:
    best: list[tuple[float, int]] = []
    for axis in range(3):
        along = [(_coordinate(shapes[place].balls()[0].centre, axis), place) for place in group]
        along.sort()
        if not best or along[-1][0] - along[0][0] > best[-1][0] - best[0][0]:
            best = along
    kept = len(best) // 4 if len(best) > FEW else 1  # on either side
    cut = kept
    for i in range(kept + 1, len(best) - kept + 1):
        if best[i][0] - best[i - 1][0] > best[cut][0] - best[cut - 1][0]:
            cut = i
    return [[place for _, place in best[:cut]], [place for _, place in best[cut:]]]


def _coordinate(point: Point, axis: int) -> float:
    return point.x if axis == 0 else (point.y if axis == 1 else point.z)


def circle_around(balls: list[Ball]) -> Ball:
    """Contains all of them; nearly the smallest that does. Past half the earth it says so at most
    by its reach."""
    if len(balls) == 1:
        return Ball(balls[0].centre, balls[0].reach + SLACK)
    centre = _middle([ball.centre for ball in balls])
    best = Ball(centre, math.inf)
    for step in range(STEPS):
        reach = 0.0
        far = balls[0]
        for ball in balls:
            away = farthest(math.sqrt(chord2(centre, ball.centre))) + ball.reach
            if away > reach:
                reach = away
                far = ball
        if reach < best.reach:
            best = Ball(centre, reach)
        away = math.sqrt(chord2(centre, far.centre))
        if away == 0.0:
            break
        # Towards the far side of the ball that reaches furthest out, by ever less.
        part = (away + far.reach) / away / (step + 2)
        centre = _on_earth(
            centre.x + part * (far.centre.x - centre.x),
            centre.y + part * (far.centre.y - centre.y),
            centre.z + part * (far.centre.z - centre.z),
            centre,
        )
    return Ball(best.centre, best.reach * (1 + 1e-9) + SLACK)


def _middle(points: list[Point]) -> Point:
    return _on_earth(
        math.fsum([point.x for point in points]),
        math.fsum([point.y for point in points]),
        math.fsum([point.z for point in points]),
        points[0],
    )


def _on_earth(x: float, y: float, z: float, otherwise: Point) -> Point:
    """The place in that direction from the centre of the earth, which is none itself."""
    size = math.sqrt(x * x + y * y + z * z)
    if size < 1.0:
        return otherwise
    scale = RADIUS / size
    return lifted(x * scale, y * scale, z * scale)
