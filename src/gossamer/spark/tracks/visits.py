"""What one visitor did: trips, and visits by the broker's own fence events, with its patience."""

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Final, NamedTuple

from gossamer.geo.earth import Point, distance
from gossamer.geo.fences import DWELL_TIME, HYSTERESIS, FenceEvents, Visit, Watch
from gossamer.geo.glp import ENTER, EXIT
from gossamer.geo.interest import Interest

# As `position_age` of the broker: who is not heard of for so long is no longer there.
PATIENCE_SECONDS: Final = 3_600.0

LEFT: Final = "left"  # seen outside
LOST: Final = "lost"  # not heard of again in time
THERE: Final = "there"  # inside at the last position of the day


class TrackPosition(NamedTuple):
    time: float  # seconds
    lat: float
    lon: float
    inside: tuple[str, ...]  # the fences around it


class Stay(NamedTuple):
    fence: str
    start: float
    end: float  # for those who were lost or are there, when they were last seen
    positions: int
    ended: str


class Visits:
    """Of one visitor after another to the same fences, by the broker's own fence events.

    So hysteresis and patience are the same here as there.
    """

    def __init__(self, fences: Mapping[str, Interest]) -> None:
        self._watches = {
            name: Watch(interest, [ENTER, EXIT], HYSTERESIS, DWELL_TIME)
            for name, interest in fences.items()
        }

    def of(self, positions: Iterable[TrackPosition]) -> list[Stay]:
        """Positions in the order of time."""
        events = FenceEvents(PATIENCE_SECONDS)
        visitor = ("", "")
        visits: dict[str, Visit] = {}  # that go on, by fence
        seen: Counter[str] = Counter()
        found: list[Stay] = []

        def end(fence: str, how: str, at: float) -> None:
            visit = visits.pop(fence)
            found.append(Stay(fence, visit.since, at, seen.pop(fence), how))

        for position in positions:
            now = position.time
            events.due(now)
            for fence, visit in list(visits.items()):
                if visit.ended:
                    end(fence, LOST, visit.seen)
            inside = [self._watches[fence] for fence in position.inside]
            events.moved(visitor, Point(position.lat, position.lon), inside, now)
            for fence, visit in list(visits.items()):
                if visit.ended:
                    end(fence, LEFT, now)
            for fence in position.inside:
                visits.setdefault(fence, self._watches[fence].visits[visitor])
            seen.update(visits.keys())
        for fence, visit in list(visits.items()):
            end(fence, THERE, visit.seen)
            del self._watches[fence].visits[visitor]
        return sorted(found, key=lambda stay: (stay.start, stay.fence))


class Trip(NamedTuple):
    start: float  # seconds
    end: float
    metres: float  # along the WGS 84 ellipsoid, from position to position
    path: list[TrackPosition]


def trips(positions: Iterable[TrackPosition]) -> list[Trip]:
    """Positions in the order of time, cut where nothing was heard for too long."""
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
