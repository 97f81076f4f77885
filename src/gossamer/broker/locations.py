"""Where clients are: GLP as it arrives in packets, and the positions it tells.

A client's position comes with any packet that may carry User Properties. Located subscriptions
that follow their client move with it, in place. A position that is too old is none.
"""

from __future__ import annotations

import logging
import math
from typing import TYPE_CHECKING, Final

from gossamer.broker.geofences import LocatedFilter, LocatedSubscription
from gossamer.broker.located_operators import LocatedOperation
from gossamer.broker.operator_subscriptions import OperatorSubscription
from gossamer.geo.areas import MAX_FOLLOWING, NO_AREAS, GlpError, refused
from gossamer.geo.earth import Point
from gossamer.geo.geolocation import NOT_LOCATED, Located, Place, check_names, place_of
from gossamer.geo.glp import POSITION, Glp, parse_sent, position_entry
from gossamer.geo.interest import Interest
from gossamer.geo.overlap import Effort
from gossamer.session.message import Message
from gossamer.session.records import SubscriptionRecord
from gossamer.session.session import Session
from gossamer.topics.names import split_share
from gossamer.wire.properties import Properties

if TYPE_CHECKING:
    from gossamer.broker.core import Core

logger = logging.getLogger(__name__)

# A moving client's position is written this often, and when its client leaves.
SAVE_SECONDS: Final = 60.0
# The room of the store that has them, by client id.
_ROOM: Final = "position"


class ClientPosition:
    """The last position of one client, and its subscriptions that follow it."""

    __slots__ = ("at", "followers", "is_saved", "operations", "point", "saved_at")

    def __init__(self, point: Point | None, at: float) -> None:
        self.point = point
        self.at = at
        self.saved_at = at
        self.is_saved = True  # as far as there is anything to save
        self.followers: list[LocatedSubscription] = []
        self.operations: list[LocatedOperation] = []


class Locations:
    """All positions and all located subscriptions of one broker's clients."""

    def __init__(self, core: Core) -> None:
        self.core = core
        self._clients: dict[str, ClientPosition] = {}
        self._filters: dict[str, LocatedFilter] = {}
        self._message: Message | None = None  # whose effort it is
        self.effort = Effort()  # what is left of it for the last message
        self.is_one_effort = False  # several messages have it together

    def oldest(self, now: float) -> float:
        """The time before which a position is none."""
        age = self.core.settings.position_age
        return now - age if age else -math.inf

    def position(self, client_id: str, now: float) -> Point | None:
        known = self._clients.get(client_id)
        return known.point if known is not None and known.at >= self.oldest(now) else None

    def counts(self) -> tuple[int, int]:
        """How many clients' positions are known, and how many areas are watched."""
        areas = 0
        for located in self._filters.values():
            areas += len(located.index)
        return len(self._clients), areas

    def subscriptions(self) -> list[LocatedSubscription]:
        """All of them but the members of shared groups."""
        return [
            subscription
            for located in self._filters.values()
            for subscription in located.subscriptions.values()
        ]

    # What packets say ---------------------------------------------------------------------------

    def read_publication(
        self, session: Session, properties: Properties, now: float
    ) -> tuple[Place | None, Point | None]:
        """What a PUBLISH is about, and where its client says that it is. Its GLP is made complete:
        what travels on says where dynamic areas are.

        Raises GlpError.
        """
        glp = parse_sent(properties.user)
        if glp is None:
            return None, None
        known = self.position(session.client_id, now)
        place = place_of(glp, known, self.core.places.shapes)
        follows = any(area.follows() for area in glp.areas)
        if place is not None and follows and glp.position is None and known is not None:
            properties.user.append(position_entry(known))
            place = Place(place.point, place.region, known)
        return place, glp.position

    def refused(self, session: Session, what: str, error: GlpError) -> None:
        """GLP in a packet that has no answer to refuse it with."""
        self.core.counters.publications_refused += 1
        who = {"client": session.client_id, "user": session.user}
        logger.info("%s of %s dropped: %s", what, session.client_id, error.text, extra=who)

    def pinged(self, session: Session, properties: Properties | None, now: float) -> None:
        """A PINGREQ that carries a position."""
        try:
            glp = None if properties is None else parse_sent(properties.user)
        except GlpError as error:
            self.refused(session, "the position in a PINGREQ", error)
            return
        if glp is not None:
            self.learn(session, glp, now)

    def learn(self, session: Session, glp: Glp, now: float) -> None:
        """The client is where its packet says, if it says so."""
        if glp.position is not None:
            self.moved(session, glp.position, now)

    def moved(self, session: Session, point: Point, now: float) -> None:
        """The client is there now."""
        known = self._client(session.client_id)
        is_first = known.point is None
        known.is_saved = False
        self._put(known, point, now, now)
        if is_first or not 0.0 <= now - known.saved_at < SAVE_SECONDS:
            self._save(session, known, now)

    def _client(self, client_id: str) -> ClientPosition:
        known = self._clients.get(client_id)
        if known is None:
            known = self._clients[client_id] = ClientPosition(None, 0.0)
        return known

    def _put(self, known: ClientPosition, point: Point, at: float, now: float) -> None:
        """Moves the client, and what follows it."""
        known.point = point
        known.at = at
        for subscription in known.followers:
            if subscription.share:
                subscription.interest.move(point, at)
            else:
                self._filters[subscription.filter].index.move(subscription.interest, point, at)
            if self.core.is_meshed:
                self.core.neighbours.moved(subscription, at)
        for operation in known.operations:
            operation.moved(point, at, now)

    def last_seen(self, client_id: str) -> tuple[Point, float] | None:
        """Where the client was last, and when by the wall clock, however long ago."""
        known = self._clients.get(client_id)
        if known is None or known.point is None:
            return None
        return known.point, known.at + self.core.wall_offset

    def arrived(self, session: Session, point: Point, seen_at: float, now: float) -> None:
        """A session comes from another broker, where its client was seen, by that wall clock. No
        clock makes a position newer than now."""
        at = min(seen_at - self.core.wall_offset, now)
        known = self._client(session.client_id)
        if known.point is None or known.at < at:
            self._put(known, point, at, now)
            self._save(session, known, now)

    def left(self, session: Session, now: float) -> None:
        """The client is gone for now; where it was last seen is kept."""
        known = self._clients.get(session.client_id)
        if known is not None and not known.is_saved:
            self._save(session, known, now)

    def _save(self, session: Session, known: ClientPosition, now: float) -> None:
        if session.persistent and known.point is not None:
            known.saved_at = now
            known.is_saved = True
            self.core.journal.keep(_ROOM, session.client_id, _written(known.point, known.at))

    def may_see(self, session: Session, message: Message) -> bool:
        """Whether the session may know where the message comes from."""
        permissions = self.core.permissions
        return (
            not permissions.guards_positions
            or session.is_peer
            or message.publisher == session.client_id
            or permissions.may_locate(session.identity, message.user)
        )

    # What messages speak of ---------------------------------------------------------------------

    def place(self, message: Message, now: float) -> Place | None:
        """Where the message is about; None if it does not say. Read once, and kept with it."""
        if not message.is_placed:
            self.keep_place(message, self._place_of(message, now))
        elif self._message is not message:
            self.keep_place(message, message.place)
        return message.place

    def keep_place(self, message: Message, place: Place | None) -> None:
        """With the message. Regions can be large: only that of the last message is kept, or what
        waits in queues would hold far more than it is counted for."""
        last = self._message
        if last is not message:
            if last is not None and last.place is not None and last.place.point is None:
                last.forget_place()
            self._message = message
            if not self.is_one_effort:
                self.effort = Effort()
        message.keep_place(place)

    def _place_of(self, message: Message, now: float) -> Place | None:
        properties = message.properties
        if properties is None or not properties.user:
            return None
        try:
            known = self.position(message.publisher, now)
            return place_of(parse_sent(properties.user), known, self.core.places.shapes)
        except GlpError:
            # Only what no client of ours published can be malformed here: it says nothing to us.
            return None

    # Subscriptions ------------------------------------------------------------------------------

    def asked(self, session: Session, filter: str, glp: Glp) -> Located:
        """What the session asks for now, its earlier SUBSCRIBEs to the filter included.

        Raises GlpError.
        """
        known = session.subscriptions.get(filter)
        before: Located | None = None
        if isinstance(known, LocatedSubscription | OperatorSubscription):
            before = known.located
        shapes = self.core.places.shapes
        check_names(NO_AREAS.changed([area for area in glp.areas if area.add]), shapes)
        changed = (NOT_LOCATED if before is None else before).changed(glp).resolved(shapes)
        changed.areas.check_points()
        whereabouts = self._clients.get(session.client_id)
        following = changed.areas.following()
        if following and whereabouts is not None:
            for follower in whereabouts.followers:
                following += follower.located.areas.following() if follower is not known else 0
            own = known.operation if isinstance(known, OperatorSubscription) else None
            for operation in whereabouts.operations:
                if operation is not own:
                    following += operation.area.located.areas.following()
            if following > MAX_FOLLOWING:
                raise refused(
                    POSITION, f"more than {MAX_FOLLOWING} areas that move with one client"
                )
        return changed

    def subscription(
        self, session: Session, record: SubscriptionRecord, located: Located
    ) -> LocatedSubscription:
        share, filter = split_share(record.filter)
        located = located.resolved(self.core.places.shapes)
        known = self._clients.get(session.client_id)
        point = None if known is None else known.point
        at = 0.0 if known is None else known.at
        interest = Interest(None, located.areas, point, at)
        return LocatedSubscription(session, record, share, filter, located, interest, self)

    def attach(self, subscription: LocatedSubscription, known: LocatedSubscription | None) -> None:
        """Enters it in place of the one that the session had to the same filter, if any."""
        if subscription.share:
            self.core.routes.add(subscription)
        else:
            found = self._filters.get(subscription.filter)
            if found is None:
                found = LocatedFilter(self)
                self._filters[subscription.filter] = found
                self.core.routes.add_tap(subscription.filter, found)
            if known is not None:
                found.hand_over(known, subscription)
            found.add(subscription)
        if known is not None:
            self._unfollow(known)
            known.interest.close()
        self.core.places.follow(subscription, subscription.located.areas.names)
        if subscription.interest.follows:
            self._client(subscription.session.client_id).followers.append(subscription)

    def detach(self, subscription: LocatedSubscription) -> None:
        if subscription.share:
            self.core.routes.remove(subscription)
        else:
            found = self._filters[subscription.filter]
            found.remove(subscription)
            if not found.subscriptions:
                del self._filters[subscription.filter]
                found.end()
                self.core.routes.remove_tap(subscription.filter, found)
        self._unfollow(subscription)
        subscription.interest.close()

    def place_changed(self, follower: LocatedSubscription | LocatedOperation, now: float) -> None:
        """A place that it names is elsewhere now, or gone. Whoever is inside stays inside, and has
        not just entered."""
        shapes = self.core.places.shapes
        if isinstance(follower, LocatedOperation):
            follower.place_changed(now)
            return
        interest = follower.interest
        areas = interest.areas.resolved(shapes)
        if follower.share:
            interest.put(areas)
        else:
            index = self._filters[follower.filter].index
            index.remove(interest)
            interest.put(areas)
            index.add(interest)
            if self.core.is_meshed:
                self.core.neighbours.areas_changed(follower)

    def _unfollow(self, subscription: LocatedSubscription) -> None:
        self.core.places.unfollow(subscription, subscription.located.areas.names)
        whereabouts = self._clients.get(subscription.session.client_id)
        if whereabouts is not None and subscription in whereabouts.followers:
            whereabouts.followers.remove(subscription)

    def follow(self, operation: LocatedOperation, now: float) -> None:
        """From now on, if its area goes with its client, or is a place that may change."""
        self.core.places.follow(operation, operation.area.located.areas.names)
        if operation.area.located.areas.follows:
            known = self._client(operation.area.owner)
            if operation not in known.operations:
                known.operations.append(operation)
                if known.point is not None:
                    operation.moved(known.point, known.at, now)

    def unfollow(self, operation: LocatedOperation) -> None:
        self.core.places.unfollow(operation, operation.area.located.areas.names)
        known = self._clients.get(operation.area.owner)
        if known is not None and operation in known.operations:
            known.operations.remove(operation)

    # Sessions -----------------------------------------------------------------------------------

    def forget(self, session: Session) -> None:
        """The session ended, after its subscriptions."""
        if self._clients.pop(session.client_id, None) is not None:
            self.core.journal.drop(_ROOM, session.client_id)

    def load(self, clients: set[str]) -> None:
        """The positions that the store kept, before any subscription is made."""
        for client_id, written in self.core.rooms.pop(_ROOM, {}).items():
            known = _read(written) if client_id in clients else None
            if known is None:
                self.core.journal.drop(_ROOM, client_id)
            else:
                self._clients[client_id] = known


def _written(point: Point, at: float) -> bytes:
    return f"{point.lat!r};{point.lon!r};{at!r}".encode()


def _read(written: bytes) -> ClientPosition | None:
    """None for what no broker wrote."""
    try:
        lat, lon, at = [float(part) for part in written.decode().split(";")]
        return ClientPosition(Point(lat, lon), at)
    except ValueError:
        return None
