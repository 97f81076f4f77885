"""Does one region meet another? And the match rule that this decides.

Where both are made of additions only, some pair of shapes must meet; circles know that by
distance. Everything else is settled by halving: a square that lies outside either region is done
with, a point in both is the answer, and what remains is cut in four, the most promising first.

Work is counted in points looked at, not in seconds, so that the same message costs the same
everywhere. Two areas of a thousand corners each can be laid so that whether they meet takes
millions of looks; others wait for that. Past the effort the answer is yes, as far as the balls
around the two say so: a message too many, never one too few.
"""

import math
from heapq import heappop, heappush
from typing import Final

from gossamer.geo.circle import Circle
from gossamer.geo.earth import Point, chord2, destination, longest_chord
from gossamer.geo.geolocation import Place
from gossamer.geo.interest import Interest
from gossamer.geo.shape import Ball, Region, Shape

# A look takes 7 to 30 ns compiled: together no more than three milliseconds.
MESSAGE_POINTS: Final = 100_000
# Every pair of regions has so much beside it, so that ordinary shapes are decided however many
# subscriptions there are; only what is above it is charged to the message.
PAIR_POINTS: Final = 1_000
UNBOUNDED: Final = 1 << 60  # for those who wait for nobody else


class Effort:
    """`spent` is all that was done; `undecided` counts the pairs that were cut short."""

    __slots__ = ("_pair", "left", "spent", "undecided")

    def __init__(self, points: int = MESSAGE_POINTS) -> None:
        self.left = points
        self.spent = 0
        self.undecided = 0
        self._pair = 0

    def begin_pair(self) -> None:
        """Two other regions."""
        self._pair = PAIR_POINTS

    def spend(self, points: int) -> bool:
        """Before so many points are looked at: False if they must not be."""
        if points > self._pair + self.left:
            return False
        self.spent += points
        if points <= self._pair:
            self._pair -= points
        else:
            self.left -= points - self._pair
            self._pair = 0
        return True


# The most promising square comes first, so a common area is found long before this; what is left
# by then are slivers along edges that (nearly) coincide, and the answer is no. It bounds the cost.
MAX_SQUARES: Final = 1500
MAX_TESTS: Final = 15_000  # of a shape at a point: many shapes get fewer squares
SMALLEST: Final = 0.001  # metres: a tenth of the finest GLP unit; smaller squares are not looked at


def delivers(
    place: Place | None, interest: Interest | None, oldest: float, effort: Effort | None = None
) -> bool:
    """The match rule: without GLP on either side, always; else where the two regions meet."""
    if place is None or interest is None:
        return True
    region = interest.known_by(oldest)
    if place.point is not None:
        return region.contains(place.point)
    return meet(place.region, region, effort)


def meet(one: Region, two: Region, effort: Effort | None = None) -> bool:
    """Whether any place is in both; yes too if the effort, if any is given, does not suffice."""
    if effort is None:
        effort = Effort(UNBOUNDED)
    effort.begin_pair()
    if one.plain and two.plain:
        for mine in one.shapes:
            for other in two.shapes:
                if shapes_meet(mine, other, effort):
                    return True
        return False
    if _reach(two) < _reach(one):
        one, two = two, one
    cost = one.weight() + two.weight()
    for shape in one.added():
        if any(
            _balls_meet(shape.balls(), other.balls(), effort) for other in two.added()
        ) and _search(shape, one, two, cost, effort):
            return True
    return False


def shapes_meet(one: Shape, two: Shape, effort: Effort) -> bool:
    if not _balls_meet(one.balls(), two.balls(), effort):
        return False
    cost = one.weight() + two.weight()
    if (isinstance(one, Circle) and two.measures()) or (isinstance(two, Circle) and one.measures()):
        if not effort.spend(cost):
            return _undecided(effort)
        if isinstance(one, Circle) and two.measures():
            return two.clearance(one.centre) <= one.radius
        assert isinstance(two, Circle)
        return one.clearance(two.centre) <= two.radius
    smaller = one if _size(one) <= _size(two) else two
    return _search(smaller, Region([one], [True]), Region([two], [True]), cost, effort)


def _undecided(effort: Effort) -> bool:
    effort.undecided += 1
    return True


def _balls_meet(ones: list[Ball], twos: list[Ball], effort: Effort) -> bool:
    if not effort.spend(len(ones) * len(twos)):
        return _undecided(effort)
    for one in ones:
        for two in twos:
            limit = longest_chord(one.reach + two.reach)
            if chord2(one.centre, two.centre) <= limit * limit:
                return True
    return False


def _size(shape: Shape) -> float:
    return max([ball.reach for ball in shape.balls()])


def _reach(region: Region) -> float:
    return sum([_size(shape) for shape in region.added()])


def _search(shape: Shape, one: Region, two: Region, cost: int, effort: Effort) -> bool:
    """Whether the regions meet within `shape`, which one of the two adds. A square costs `cost`.

    Squares live in the plane that touches the earth at a ball's centre, and are laid onto it by
    distance and direction. On a surface that curves outwards everywhere this brings points closer
    together, never apart, so the circle around a square covers what it is laid onto.
    """
    budget = min(MAX_SQUARES, MAX_TESTS // (len(one.shapes) + len(two.shapes)))
    queue: list[tuple[float, int, float, float, float, Point]] = []
    for ball in shape.balls():
        heappush(queue, (0.0, len(queue), 0.0, 0.0, ball.reach, ball.centre))
    pushed = len(queue)
    while queue:
        if not effort.spend(cost):
            return _undecided(effort)
        _, _, east, north, half, origin = heappop(queue)
        away = math.hypot(east, north)
        point = destination(origin, math.atan2(east, north), away)
        clearance = max(one.clearance(point), two.clearance(point))
        if clearance <= 0.0 and one.contains(point) and two.contains(point):
            return True
        if clearance > half * math.sqrt(2) or half < SMALLEST:
            continue
        budget -= 1
        if budget <= 0:
            return False
        quarter = half / 2
        for to_east in (east - quarter, east + quarter):
            for to_north in (north - quarter, north + quarter):
                pushed += 1
                heappush(queue, (clearance, pushed, to_east, to_north, quarter, origin))
    return False
