"""Operator subscriptions with areas: `$AVG/+/temp` of what is within two kilometres of me.

A publication counts if the match rule would deliver it to a plain subscription with these areas. An
operation whose area stands still is shared by all who asked for the same; one whose area follows a
client is that client's own, and goes with it. Where positions are not for everybody, each client
has its own too, and what it may not see counts wherever it happened: then the result tells nothing.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from gossamer.broker.charges import located_bytes
from gossamer.broker.chores import Chore
from gossamer.broker.operator_subscriptions import Operation, OperatorSubscription
from gossamer.geo.earth import Point
from gossamer.geo.geolocation import Located, Place
from gossamer.geo.interest import Interest
from gossamer.geo.overlap import delivers
from gossamer.plus.located import AreaTest
from gossamer.plus.located_spatial import LocatedSpatialState
from gossamer.plus.stages import StagedState
from gossamer.plus.state import OperatorResult, OperatorState
from gossamer.session.message import Message
from gossamer.session.session import Session

if TYPE_CHECKING:
    from gossamer.broker.core import Core
    from gossamer.broker.locations import Locations
    from gossamer.broker.operators import Operators

_KEY_BYTES: Final = 16
# Values whose places are looked at again in one turn, after the area has moved: less than a
# millisecond for circles and rectangles.
JUDGED_AT_ONCE: Final = 200


class OperatorArea(AreaTest):
    """The area of one operation; `owner` is the client that it belongs to, "" if it is shared."""

    def __init__(self, locations: Locations, key: str, located: Located, owner: str) -> None:
        changes = located.areas.follows or len(located.areas.names) > 0
        super().__init__(key, changes, located_bytes(located.areas.entries()))
        self.locations = locations
        self.located = located
        self.owner = owner
        self.interest = Interest(None, located.areas, None, 0.0, indexed=False)

    def admits(self, place: Place | None, now: float) -> bool:
        return delivers(place, self.interest, self.locations.oldest(now), self.locations.effort)

    def put(self, located: Located) -> None:
        """Other areas in place of these."""
        known = self.interest
        self.located = located
        at = known.position_at
        self.interest = Interest(None, located.areas, known.position, at, indexed=False)


def area_for(locations: Locations, session: Session, located: Located) -> OperatorArea:
    """The area as this session asks for it."""
    located = located.resolved(locations.core.places.shapes)
    is_own = located.areas.follows or locations.core.permissions.guards_positions
    owner = session.client_id if is_own else ""
    told = f"client {owner}" if is_own else ""
    if not located.areas.follows:  # other areas are another operation
        told += f" areas {located.areas.entries()}"
    key = blake2b(told.encode("utf-8", "surrogatepass"), digest_size=_KEY_BYTES).hexdigest()
    return OperatorArea(locations, key, located, owner)


class LocatedOperation(Operation):
    """`reader` is who asked for it first, until somebody subscribes."""

    __slots__ = ("_core", "area", "is_judging", "reader", "was_known")

    def __init__(self, owner: Operators, state: OperatorState, area: OperatorArea) -> None:
        super().__init__(owner, state)
        core = state.aggregate() if isinstance(state, StagedState) else state
        self._core = core if isinstance(core, LocatedSpatialState) else None
        self.area = area
        self.reader: Session | None = None
        self.is_judging = False  # a chore is at it
        self.was_known = True  # where the area is, when it was last asked

    def guards_places(self) -> bool:
        return True

    def add(self, subscription: OperatorSubscription) -> None:
        self.reader = subscription.session
        super().add(subscription)

    def accept(self, message: Message, now: float) -> list[OperatorResult]:
        self._look_whether_known(now)
        place = self._place(message, now)
        publication = self.owner.publication(message, now)
        if self._core is not None:
            return self._core.accept_at(publication, place, now)
        if self.area.admits(place, now):
            return self.state.accept(publication, now)
        return self.state.leave(message.topic, now)

    def admits(self, message: Message, now: float) -> bool:
        return self.area.admits(self._place(message, now), now)

    def _place(self, message: Message, now: float) -> Place | None:
        """None too if not everybody who gets the results may see it."""
        locations = self.area.locations
        if locations.core.permissions.guards_positions:
            readers = [one.session for one in self.members()]
            if not readers and self.reader is not None:
                readers = [self.reader]
            if not all(locations.may_see(session, message) for session in readers):
                return None
        return locations.place(message, now)

    # The area moves -----------------------------------------------------------------------------

    def moved(self, point: Point, at: float, now: float) -> None:
        """Its client is there, since then."""
        self.area.interest.move(point, at)
        self.area_changed(now)

    def put_areas(self, located: Located, now: float) -> None:
        """Its client has subscribed again."""
        if located.areas.entries() != self.area.located.areas.entries():
            places = self.area.locations.core.places
            places.unfollow(self, self.area.located.areas.names)
            self.area.put(located)
            places.follow(self, located.areas.names)
            self.area_changed(now)

    def place_changed(self, now: float) -> None:
        """A place that it names is elsewhere now, or gone."""
        self.area.put(self.area.located.resolved(self.area.locations.core.places.shapes))
        self.area_changed(now)

    def area_changed(self, now: float) -> None:
        """Who takes part is found out again; of many values, in turns."""
        if self._core is None:
            return
        self._core.area_changed()
        if not self.is_judging and not self.judge(now):
            self.is_judging = True
            self.owner.core.chores.add(_Judging(self))

    def judge(self, now: float) -> bool:
        """Some of the values; True if those were the last."""
        core = self._core
        assert core is not None
        results = core.judge(JUDGED_AT_ONCE, now)
        if self.early is None:
            for result in results:
                self.send(result, now)
        self.owner.settle(self.state, True)
        return core.is_judged()

    def _look_whether_known(self, now: float) -> None:
        """A position that grows too old takes with it what followed it."""
        interest = self.area.interest
        if interest.follows:
            is_known = interest.position_at >= self.area.locations.oldest(now)
            if is_known != self.was_known:
                self.was_known = is_known
                self.area_changed(now)


class _Judging(Chore):
    """Looks at what an operation knows after its area has moved."""

    def __init__(self, operation: LocatedOperation) -> None:
        self._operation = operation

    def step(self, core: Core, now: float) -> bool:
        operation = self._operation
        is_open = core.operators.operations.get(operation.state.key) is operation
        is_done = not is_open or operation.judge(now)
        operation.is_judging = not is_done
        return is_done
