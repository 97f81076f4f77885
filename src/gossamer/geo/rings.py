"""Closed rings in a plane: is a point inside, do edges cross?"""

from typing import Final

from gossamer.geo.shape import ShapeError

Ring = list[tuple[float, float]]  # the first point is not repeated at the end


def inside(ring: Ring, x: float, y: float) -> bool:
    """Even-odd rule; a lower or left edge belongs to the ring, an upper or right one does not."""
    odd = False
    x1, y1 = ring[-1]
    for x2, y2 in ring:
        if (y1 > y) != (y2 > y) and x < x1 + (y - y1) / (y2 - y1) * (x2 - x1):
            odd = not odd
        x1 = x2
        y1 = y2
    return odd


NO_LIMIT: Final = 1 << 62
# Pairs of edges of an area that a client sends; about a millisecond.
SENT_LOOKS: Final = 100_000
# Pairs of edges after which the other direction is tried.
MAX_LOOKS: Final = 20_000


class Edge:
    """From its left (or lower) end `a` to its right (or upper) end `b`."""

    __slots__ = ("ax", "ay", "bx", "by", "high", "low", "place", "ring", "size")

    def __init__(
        self, start: tuple[float, float], end: tuple[float, float], ring: int, place: int, size: int
    ) -> None:
        (self.ax, self.ay), (self.bx, self.by) = sorted((start, end))
        self.low = min(self.ay, self.by)
        self.high = max(self.ay, self.by)
        self.ring = ring
        self.place = place
        self.size = size

    def side(self, x: float, y: float) -> float:
        """Positive left of the edge, negative right of it, 0 on its line."""
        return (self.bx - self.ax) * (y - self.ay) - (self.by - self.ay) * (x - self.ax)

    def touches(self, x: float, y: float) -> bool:
        on_line = self.side(x, y) == 0.0
        return on_line and self.ax <= x <= self.bx and self.low <= y <= self.high


def check_rings(rings: list[Ring], looks: int = NO_LIMIT) -> None:
    """Refuses what is not an area: too few points, or edges that cross or overlap; and what takes
    more looks to tell.

    Two rings may touch (a hole at its outer ring); a ring may not touch itself.
    """
    edges: list[Edge] = []
    for number, ring in enumerate(rings):
        size = len(ring)
        if size < 3:
            raise ShapeError("a ring needs three different points")
        for place in range(size):
            start, end = ring[place], ring[(place + 1) % size]
            if start == end:
                raise ShapeError("a ring has the same point twice in a row")
            edges.append(Edge(start, end, number, place, size))
    # Most borders are quickly told apart from left to right, a comb that lies on its side from
    # below to above; only one that is as intricate both ways takes the square of its edges.
    if not (
        _sweep(edges, MAX_LOOKS, False)
        or _sweep(edges, MAX_LOOKS, True)
        or _sweep(edges, looks, False)
    ):
        raise ShapeError("its border is too intricate: make several areas of it")


def _sweep(edges: list[Edge], looks: int, upwards: bool) -> bool:
    """From left to right, or upwards. Raises ShapeError if two conflict; False if that takes more
    looks to tell."""
    edges.sort(key=_low if upwards else _left)
    for i, edge in enumerate(edges):
        left, right, low, high = edge.ax, edge.bx, edge.low, edge.high
        for j in range(i + 1, len(edges)):
            other = edges[j]
            if other.low > high if upwards else other.ax > right:
                break
            looks -= 1
            apart = other.ax > right or other.bx < left or other.low > high or other.high < low
            if not apart and _conflict(edge, other):
                raise ShapeError("a ring crosses or touches itself or another")
        if looks < 0:
            return False
    return True


def _left(edge: Edge) -> float:
    return edge.ax


def _low(edge: Edge) -> float:
    return edge.low


def _conflict(one: Edge, two: Edge) -> bool:
    crossing = (
        one.side(two.ax, two.ay) * one.side(two.bx, two.by) < 0.0
        and two.side(one.ax, one.ay) * two.side(one.bx, one.by) < 0.0
    )
    if crossing or one.ring != two.ring:
        return crossing
    shared = (
        one.touches(two.ax, two.ay)
        + one.touches(two.bx, two.by)
        + two.touches(one.ax, one.ay)
        + two.touches(one.bx, one.by)
    )
    # Neighbours share a corner, which each of the two sees on the other.
    neighbours = (one.place - two.place) % one.size in (1, one.size - 1)
    return shared > (2 if neighbours else 0)
