"""Where one visitor went: positions cut where nothing was heard for too long."""

from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

from gossamer.geo.earth import Point, distance
from gossamer.spark.tracks.visits import PATIENCE_SECONDS, TrackPosition


class Trip(NamedTuple):
    start: float  # seconds
    end: float
    metres: float  # along the WGS 84 ellipsoid, from position to position
    path: list[TrackPosition]


def trips(positions: Iterable[TrackPosition]) -> list[Trip]:
    """Positions in the order of time."""
    found: list[Trip] = []
    path: list[TrackPosition] = []
    for position in positions:
        if path and position.time - path[-1].time >= PATIENCE_SECONDS:
            found.append(_trip(path))
            path = []
        path.append(position)
    return [*found, _trip(path)] if path else found


def _trip(path: list[TrackPosition]) -> Trip:
    points = [Point(position.lat, position.lon) for position in path]
    metres = sum(distance(one, next) for one, next in pairwise(points))
    return Trip(path[0].time, path[-1].time, metres, path)
