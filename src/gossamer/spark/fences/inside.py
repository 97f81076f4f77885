"""The exact geometry of many fences, on an executor: about candidates that cells have found."""

import math
from functools import lru_cache

from gossamer.geo.earth import Point
from gossamer.geo.index import SpatialIndex
from gossamer.geo.interest import Interest
from gossamer.geo.located import Place
from gossamer.geo.overlap import Effort
from gossamer.spark.fences.areas import interest_of
from gossamer.spark.fences.places import read_place

Fence = tuple[str, tuple[tuple[str, str], ...]]  # its name, and its area as User Properties


class Fences:
    """Made once in each worker; a fence is read when it is first asked about."""

    def __init__(self, listed: tuple[Fence, ...]) -> None:
        self._listed = listed
        self._interests: dict[int, Interest] = {}
        self._index: SpatialIndex | None = None

    @staticmethod
    @lru_cache(maxsize=4)
    def of(listed: tuple[Fence, ...]) -> "Fences":
        return Fences(listed)

    def around(self, number: int, lat: float, lon: float, glp: str | None) -> list[str]:
        """The fence of that number, if the position is in it; with GLP, all that it meets."""
        if glp is not None:
            place = read_place(glp)
            return [] if place is None else self._meeting(place)
        inside = self._interest(number).region.contains(Point(lat, lon))
        return [self._listed[number][0]] if inside else []

    def _meeting(self, place: Place) -> list[str]:
        if self._index is None:
            self._index = SpatialIndex()
            for number in range(len(self._listed)):
                self._index.add(self._interest(number))
        if place.point is not None:
            found = self._index.at(place.point, -math.inf)
        else:
            found = self._index.meeting(place.region, -math.inf, Effort())
        return [str(interest.holder) for interest in found]

    def _interest(self, number: int) -> Interest:
        known = self._interests.get(number)
        if known is None:
            name, entries = self._listed[number]
            known = interest_of(list(entries))
            known.holder = name
            self._interests[number] = known
        return known
