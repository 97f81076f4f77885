"""How fast somebody goes, and where to, as far as its positions tell.

Two positions tell it if they are a second apart at least, since receivers and networks are not more
exact than that, and five minutes at most. Who has hardly moved between them heads nowhere.
"""

import math
from typing import Final

from gossamer.budget.ledger import Account
from gossamer.geo.earth import Point, course
from gossamer.geo.fences import UNBOUNDED, Visitor

LEAST_SECONDS: Final = 1.0
MOST_SECONDS: Final = 300.0
STILL: Final = 1.0  # metres
UNKNOWN: Final = -1.0
TRACK_BYTES: Final = 720  # beside the names of the visitor


class Motion:
    """Since the position `at` that time: metres a second, and degrees from north by east; negative
    where they are not known."""

    __slots__ = ("at", "heading", "speed", "time")

    def __init__(self, at: Point, time: float) -> None:
        self.at = at
        self.time = time
        self.speed = UNKNOWN
        self.heading = UNKNOWN


class Motions:
    """Of all visitors of one filter, the one that was heard of last at the end. Where there is no
    room for another, the oldest is forgotten."""

    __slots__ = ("_by_visitor", "_max_age", "account")

    def __init__(self, max_age: float, account: Account | None = None) -> None:
        self._max_age = max_age
        self.account = account if account is not None else Account("geo", UNBOUNDED)
        self._by_visitor: dict[Visitor, Motion] = {}

    def __len__(self) -> int:
        return len(self._by_visitor)

    def get(self, visitor: Visitor) -> Motion | None:
        return self._by_visitor.get(visitor)

    def moved(self, visitor: Visitor, at: Point, now: float) -> None:
        """It is there now."""
        known = self._by_visitor.pop(visitor, None)
        if known is not None:
            _go_on(known, at, now)
            self._by_visitor[visitor] = known
        elif self._make_room(_size_of(visitor), now):
            self.account.grow(_size_of(visitor))
            self._by_visitor[visitor] = Motion(at, now)

    def clear(self) -> None:
        while self._by_visitor:
            self._forget_oldest()

    def _make_room(self, size: int, now: float) -> bool:
        while self._by_visitor:
            oldest = next(iter(self._by_visitor.values()))
            is_full = self.account.held + size > self.account.budget
            if oldest.time + self._max_age > now and not is_full:
                return True
            self._forget_oldest()
        return self.account.held + size <= self.account.budget

    def _forget_oldest(self) -> None:
        visitor = next(iter(self._by_visitor))
        del self._by_visitor[visitor]
        self.account.grow(-_size_of(visitor))


def _go_on(known: Motion, at: Point, now: float) -> None:
    passed = now - known.time
    if 0.0 <= passed < LEAST_SECONDS:
        return
    known.speed = UNKNOWN
    known.heading = UNKNOWN
    if LEAST_SECONDS <= passed <= MOST_SECONDS:
        way = course(known.at, at)
        known.speed = way.distance / passed
        if way.distance >= STILL:
            known.heading = math.degrees(way.azimuth) % 360.0
    known.at = at
    known.time = now


def _size_of(visitor: Visitor) -> int:
    """A name takes up to four bytes a letter, however it is written."""
    letters = len(visitor[0]) + len(visitor[1])
    ascii_only = visitor[0].isascii() and visitor[1].isascii()
    return TRACK_BYTES + (1 if ascii_only else 4) * letters
