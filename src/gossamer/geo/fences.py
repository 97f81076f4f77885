"""Fence events: when does somebody's position enter an area, leave it, or stay in it?

Positions jitter. Who is in has left only when it is farther outside than the hysteresis, so a
receiver at the edge enters once and not with every fix. Staying is reported once a visit, when it
has lasted the dwell time, whether or not a position arrives just then. Time is passed in.
"""

import math
from heapq import heapify, heappop, heappush
from typing import Final

from gossamer.budget.ledger import Account
from gossamer.geo.earth import Point
from gossamer.geo.glp import DWELL, ENTER, EXIT
from gossamer.geo.interest import Interest

HYSTERESIS: Final = 10.0  # metres: what a GPS receiver that stands still wanders
DWELL_TIME: Final = 60.0  # seconds
MAX_VISITS: Final = 100_000  # at once in one watch; past it no more are begun
VISIT_BYTES: Final = 800  # beside the names of the visitor
UNBOUNDED: Final = 1 << 62  # where no broker sets a budget
# Visits that have ended are swept out once they are more than the others, and than this: somebody
# who goes in and out as fast as it can leaves none behind.
_FEW: Final = 64

Visitor = tuple[str, str]  # a publisher and the topic of its positions


class Watch:
    """What a subscription wants to hear of, and who is in its areas now."""

    __slots__ = ("dwell", "events", "hysteresis", "interest", "visits")

    def __init__(
        self, interest: Interest, events: list[str], hysteresis: float, dwell: float
    ) -> None:
        self.interest = interest
        self.events = events
        self.hysteresis = hysteresis
        self.dwell = dwell
        self.visits: dict[Visitor, Visit] = {}

    def inherit(self, other: "Watch") -> None:
        """Goes on where the other one stops: who was in its areas has not just entered."""
        self.visits = other.visits
        other.visits = {}
        for visit in self.visits.values():
            visit.watch = self


class Visit:
    """Somebody is in the areas of a watch, or was, when it has `ended`."""

    __slots__ = ("at", "ended", "seen", "since", "stayed", "visitor", "watch")

    def __init__(self, watch: Watch, visitor: Visitor, at: Point, now: float) -> None:
        self.watch = watch
        self.visitor = visitor
        self.at = at
        self.since = now
        self.seen = now
        self.stayed = DWELL not in watch.events  # or nobody wants to know
        self.ended = False


class FenceEvent:
    """What the subscription behind `watch` is told; `at` is where the visitor was seen last."""

    __slots__ = ("at", "name", "since", "time", "visitor", "watch")

    def __init__(self, name: str, visit: Visit, time: float) -> None:
        self.name = name
        self.watch = visit.watch
        self.visitor = visit.visitor
        self.at = visit.at
        self.since = visit.since
        self.time = time


class FenceEvents:
    """All visits to all watches. A visitor not seen for `max_age` seconds is silently forgotten."""

    __slots__ = ("_due", "_ended", "_pushed", "_visits", "account", "max_age")

    def __init__(self, max_age: float, account: Account | None = None) -> None:
        self.max_age = max_age
        self.account = account if account is not None else Account("geo", UNBOUNDED)
        self._visits: dict[Visitor, list[Visit]] = {}
        self._due: list[tuple[float, int, Visit]] = []  # when to look at each again
        self._pushed = 0
        self._ended = 0  # of the visits in `_due`, at most

    def moved(
        self, visitor: Visitor, at: Point, inside: list[Watch], now: float
    ) -> list[FenceEvent]:
        """Somebody is there now; `inside` are the watches whose areas contain the place."""
        events: list[FenceEvent] = []
        visits = self._visits.get(visitor)
        if visits is not None:
            staying: list[Visit] = []
            for visit in visits:
                visit.at = at
                if self._goes_on(visit, inside, now):
                    visit.seen = now
                    staying.append(visit)
                else:
                    self._end(visit)
                    _tell(events, EXIT, visit, now)
            self._keep(visitor, staying)
        for watch in inside:
            if visitor not in watch.visits and len(watch.visits) < MAX_VISITS:
                size = _size_of(visitor)
                if self.account.held + size > self.account.budget:
                    self.account.refused += 1
                    continue
                self.account.grow(size)
                visit = Visit(watch, visitor, at, now)
                watch.visits[visitor] = visit
                self._visits.setdefault(visitor, []).append(visit)
                self._look_again(visit)
                _tell(events, ENTER, visit, now)
        return events

    def due(self, now: float) -> list[FenceEvent]:
        """Of those who have stayed long enough by now."""
        events: list[FenceEvent] = []
        while self._due and self._due[0][0] <= now:
            _, _, visit = heappop(self._due)
            if visit.ended:
                self._ended -= 1
                continue
            if visit.seen + self.max_age <= now:
                self._forget(visit)
                continue
            if not visit.stayed and visit.since + visit.watch.dwell <= now:
                visit.stayed = True
                _tell(events, DWELL, visit, now)
            self._look_again(visit)
        return events

    def next_due(self) -> float:
        return self._due[0][0] if self._due else math.inf

    def forget_watch(self, watch: Watch) -> None:
        """Its subscription ended: nobody is told anything."""
        for visit in list(watch.visits.values()):
            self._forget(visit)

    def _goes_on(self, visit: Visit, inside: list[Watch], now: float) -> bool:
        watch = visit.watch
        if watch in inside:
            return True
        region = watch.interest.known_by(now - self.max_age)
        return region.clearance(visit.at) <= watch.hysteresis

    def _look_again(self, visit: Visit) -> None:
        due = visit.seen + self.max_age
        if not visit.stayed:
            due = min(due, visit.since + visit.watch.dwell)
        if due < math.inf:
            self._pushed += 1
            heappush(self._due, (due, self._pushed, visit))

    def _forget(self, visit: Visit) -> None:
        self._end(visit)
        visits = self._visits[visit.visitor]
        self._keep(visit.visitor, [other for other in visits if other is not visit])

    def _end(self, visit: Visit) -> None:
        visit.ended = True
        del visit.watch.visits[visit.visitor]
        self.account.grow(-_size_of(visit.visitor))
        self._ended += 1
        if self._ended > _FEW and 2 * self._ended > len(self._due):
            self._due = [entry for entry in self._due if not entry[2].ended]
            heapify(self._due)
            self._ended = 0

    def _keep(self, visitor: Visitor, visits: list[Visit]) -> None:
        if visits:
            self._visits[visitor] = visits
        else:
            self._visits.pop(visitor, None)


def _size_of(visitor: Visitor) -> int:
    """Of one visit: a name takes up to four bytes a letter, however it is written."""
    letters = len(visitor[0]) + len(visitor[1])
    ascii_only = visitor[0].isascii() and visitor[1].isascii()
    return VISIT_BYTES + (1 if ascii_only else 4) * letters


def _tell(events: list[FenceEvent], name: str, visit: Visit, now: float) -> None:
    if name in visit.watch.events:
        events.append(FenceEvent(name, visit, now))
