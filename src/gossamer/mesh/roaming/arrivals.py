"""Sessions that come from another broker, to stay or to be passed on.

They are complete when their end has come; what is published meanwhile waits behind what they bring.
Where the client has got a new session meanwhile, because the old one could not be had in time, that
stays as it is and gets the old one's messages.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from gossamer.broker.ending import expect_expiry
from gossamer.broker.geofencing import LocatedSubscription
from gossamer.broker.queueing import bound_queue
from gossamer.broker.revoking import remove_subscription
from gossamer.broker.session_sizes import weigh_session
from gossamer.broker.subscriptions import asked_of, enter, make
from gossamer.geo.errors import GlpError
from gossamer.geo.located import read_located
from gossamer.mesh.link import Link
from gossamer.mesh.relay.errand import NO_MESSAGE, Errand
from gossamer.mesh.relay.errands import ErrandHandler
from gossamer.mesh.roaming.parcels import END, HEAD, ITEM, LATE, Head, delivery_of
from gossamer.mesh.roaming.seen_names import SeenNames, came_before
from gossamer.mesh.roaming.shadows import OVER, PARCEL_QOS, TAKEN_OVER
from gossamer.mesh.roaming.whereabouts import ARRIVING, HERE, SETTLING, Moves
from gossamer.plus.errors import PlusError
from gossamer.session.message import Message
from gossamer.session.records import QUEUED, DeliveryRecord
from gossamer.session.session import NEVER, Session
from gossamer.topics.matching import matches
from gossamer.topics.shared import split_share

if TYPE_CHECKING:
    from gossamer.mesh.roaming.roaming import Roaming

# What becomes of a session that arrives.
_INSTALLED: Final = 0
_MERGED: Final = 1  # its messages go to the session that the client has
_DISCARDED: Final = 2  # the client began anew since


class Arrival:
    """One session between its head and its end."""

    __slots__ = ("incoming", "items", "outcome", "session")

    def __init__(self, session: Session | None, outcome: int) -> None:
        self.session = session
        self.outcome = outcome
        self.items: list[DeliveryRecord] = []
        self.incoming: list[int] = []


class Arrivals(ErrandHandler):
    def __init__(self, roaming: Roaming) -> None:
        self._roaming = roaming
        self._mesh = roaming.mesh
        self._core = roaming.mesh.core
        self._moves: Moves = roaming.moves
        self.names = SeenNames(self._core)
        self._under_way: dict[tuple[str, str], Arrival] = {}  # by source and client id
        for kind in (HEAD, ITEM, END, LATE, OVER):
            self._mesh.errands.handlers[kind] = self

    def restore(self, session: Session, now: float) -> None:
        """After a restart: what had come is in the store, the rest is on its way."""
        where = self._moves.of(session)
        self._roaming.names.begin(now)
        self.names.restore(session)
        if where.state == ARRIVING:
            self._under_way[(where.broker, session.client_id)] = Arrival(session, _INSTALLED)

    def check(self, errand: Errand) -> None:
        errand.text("client")
        errand.text("source")
        if errand.kind == HEAD:
            Head(errand)
        elif errand.kind in (ITEM, LATE):
            delivery_of(errand)

    def run(self, errand: Errand, origin: Link, now: float) -> None:
        client_id = errand.text("client")
        if errand.kind == LATE:
            self._late(client_id, errand, now)
        elif errand.kind == OVER:
            session = self._core.sessions.get(client_id)
            if session is not None:
                self._is_settled(session, errand.text("source"), now)
        elif errand.kind == HEAD:
            self._begin(client_id, Head(errand), now)
        else:
            key = (errand.text("source"), client_id)
            arrival = self._under_way.get(key)
            if arrival is None:
                self._straggled(errand, key, now)
            elif errand.kind == ITEM:
                self._add(arrival, delivery_of(errand), now)
            else:
                del self._under_way[key]
                self._end(client_id, arrival, key[0], now)

    def _begin(self, client_id: str, head: Head, now: float) -> None:
        existing = self._core.sessions.get(client_id)
        claim = self._roaming.claims.find(client_id, now)
        if claim is not None and head.since < claim.cleared:
            arrival = Arrival(None, _DISCARDED)
        elif existing is not None and not self._moves.of(existing).is_away():
            is_same = existing.user == head.record.user
            arrival = Arrival(existing, _MERGED if is_same else _DISCARDED)
            if is_same:
                self.names.watch(existing)
        else:
            arrival = self._install(existing, head, now)
        self._under_way[(head.source, client_id)] = arrival

    def _install(self, shadow: Session | None, head: Head, now: float) -> Arrival:
        """A new session, or what was left here of the same one."""
        core = self._core
        record = head.record
        if shadow is None:
            session = Session(core.hub, record)
            bound_queue(session, core.settings)
            core.sessions[session.client_id] = session
            core.counters.sessions = len(core.sessions)
        else:
            session = shadow
            self._roaming.shadows.recall(session.client_id, now)
            record = session.record
            record.expiry = head.record.expiry
            session.persistent = record.expiry != 0
        core.session_quotas.update(session)
        weigh_session(core, session)
        record.disconnected_at = now
        where = self._moves.of(session)
        where.state = ARRIVING
        where.broker = head.source
        where.since = head.since
        self.names.watch(session)
        self.names.had(session, head.seen)
        session.number_after(head.number)
        core.journal.session_saved(record)
        self._moves.save(session)
        if head.seen_at is not None:
            point, seen_at = head.seen_at
            core.locations.arrived(session, point, seen_at, now)
        self._subscribe(session, head, now)
        arrival = Arrival(session, _INSTALLED)
        arrival.incoming = head.incoming
        for packet_id in head.incoming:
            core.journal.incoming_added(session.client_id, packet_id)
        session.incoming = set(head.incoming) or None
        self._roaming.claims.here(session.client_id)
        return arrival

    def _subscribe(self, session: Session, head: Head, now: float) -> None:
        core = self._core
        wanted = {record.filter for record in head.subscriptions}
        for filter in list(session.subscriptions):
            if filter not in wanted:
                remove_subscription(core, session, filter)
        for record in head.subscriptions:
            try:
                asked = asked_of(core, split_share(record.filter)[1], record.user)
                located = read_located(record.user)
            except (PlusError, GlpError):
                continue  # the window or the processor that it needs is not configured here
            enter(core, make(core, session, record, asked, located, now))
            core.journal.subscription_saved(session.client_id, record)

    def _add(self, arrival: Arrival, delivery: DeliveryRecord, now: float) -> None:
        session = arrival.session
        message = delivery.message
        if arrival.outcome == _INSTALLED and session is not None:
            if came_before(session, delivery):
                return
            if delivery.qos:
                self._core.journal.delivery_queued(session.client_id, delivery)
            arrival.items.append(delivery)
        elif arrival.outcome == _MERGED and session is not None and message is not None:
            # Its client has forgotten what was in flight; at QoS 2 it may have had it.
            if delivery.qos == 1 or (delivery.qos == 2 and delivery.state == QUEUED):
                share = delivery.share
                session.enqueue(
                    message, delivery.qos, delivery.retain, delivery.identifiers, share, now
                )

    def _end(self, client_id: str, arrival: Arrival, source: str, now: float) -> None:
        session = arrival.session
        if arrival.outcome == _INSTALLED and session is not None:
            newer = session.queue
            session.queue = None
            session.restore(arrival.items, arrival.incoming)
            if newer is not None:
                session.queue = deque(sorted(_waiting(session) + list(newer), key=_by_number))
            session.shorten()
            self._moves.of(session).state = SETTLING
            self._moves.save(session)
            if session.outlet is not None:
                session.pump(now)  # its client could not wait
            elif session.record.expiry != NEVER:
                expect_expiry(self._core, session, now + session.record.expiry)
        fields: dict[str, object] = {
            "client": client_id,
            "source": self._mesh.settings.name,
            "ends": arrival.outcome != _INSTALLED,
        }
        self._mesh.errands.send(Errand(TAKEN_OVER, source, fields, NO_MESSAGE), PARCEL_QOS, now)
        self._roaming.arrived(client_id, now)

    def _is_settled(self, session: Session, source: str, now: float) -> None:
        """The broker that had it has nothing left for it."""
        where = self._moves.of(session)
        if where.state == SETTLING and where.broker == source:
            self.names.forget(session)
            where.state = HERE
            where.broker = ""
            self._moves.save(session)

    def _straggled(self, errand: Errand, key: tuple[str, str], now: float) -> None:
        """It came after the end of its session, which does not wait for what may expire."""
        session = self._core.sessions.get(key[1])
        if session is None or errand.kind != ITEM or errand.number("state") != QUEUED:
            return
        where = self._moves.of(session)
        if where.state == SETTLING and where.broker == key[0]:
            self._late(key[1], errand, now)

    def _late(self, client_id: str, errand: Errand, now: float) -> None:
        delivery = delivery_of(errand)
        message = delivery.message
        session = self._core.sessions.get(client_id)
        if message is None or delivery.qos == 0:
            return
        if session is not None:
            if delivery.share or _is_wanted(session, message, now):
                session.enqueue(
                    message,
                    delivery.qos,
                    delivery.retain,
                    delivery.identifiers,
                    delivery.share,
                    now,
                )
        elif delivery.share:
            self._core.routes.sharing.hand_on(delivery.share, None, message, now)


def _is_wanted(session: Session, message: Message, now: float) -> bool:
    """Whether a message that its old broker passes on happened where its client wants it."""
    is_elsewhere = False
    for subscription in session.subscriptions.values():
        if not subscription.share and matches(subscription.filter, message.topic):
            if not isinstance(subscription, LocatedSubscription) or subscription.takes(
                message, now
            ):
                return True
            is_elsewhere = True
    return not is_elsewhere


def _waiting(session: Session) -> list[DeliveryRecord]:
    return [] if session.queue is None else list(session.queue)


def _by_number(delivery: DeliveryRecord) -> int:
    return delivery.number
