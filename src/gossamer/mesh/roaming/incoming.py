"""Sessions that come from another broker, to stay or to be passed on.

They are complete when their end has come; what is published meanwhile waits behind what they bring.
Where the client has got a new session meanwhile, because the old one could not be had in time, that
stays as it is and gets the old one's messages.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gossamer.broker.charges import weigh_session
from gossamer.broker.geofences import told_of
from gossamer.broker.operator_subscriptions import OperatorSubscription
from gossamer.broker.session_end import expect_expiry
from gossamer.broker.session_start import bound_queue
from gossamer.broker.subscriptions import (
    asked_of,
    enter,
    find_group,
    limit,
    make,
    remove_subscription,
)
from gossamer.geo.areas import GlpError
from gossamer.geo.geolocation import read_located
from gossamer.mesh.directed.message import NO_MESSAGE, DirectedMessage, Fields
from gossamer.mesh.directed.router import DirectedHandler
from gossamer.mesh.link import Link
from gossamer.mesh.roaming.departed import OVER, TAKEN_OVER, TRANSFER_QOS
from gossamer.mesh.roaming.transfer import (
    END,
    HEAD,
    ITEM,
    LATE,
    TransferHead,
    delivery_of,
    item_directed,
)
from gossamer.mesh.roaming.transfer_state import (
    AGREEMENT,
    ARRIVING,
    HERE,
    SeenNames,
    TransferStates,
    came_before,
)
from gossamer.plus.grammar import is_operator_filter
from gossamer.plus.plan import PlusError
from gossamer.session.handover import merge
from gossamer.session.message import Message
from gossamer.session.records import QUEUED, DeliveryRecord
from gossamer.session.session import NEVER, Session
from gossamer.topics.names import matches, split_share

if TYPE_CHECKING:
    from gossamer.mesh.roaming.roaming import Roaming

# What becomes of a session that arrives.
_INSTALLED: Final = 0
_MERGED: Final = 1  # its messages go to the session that the client has
_DISCARDED: Final = 2  # the client began anew since


class IncomingSession:
    """One session between its head and its end."""

    __slots__ = ("incoming", "items", "outcome", "session")

    def __init__(self, session: Session | None, outcome: int) -> None:
        self.session = session
        self.outcome = outcome
        self.items: list[DeliveryRecord] = []
        self.incoming: list[int] = []


class IncomingSessions(DirectedHandler):
    def __init__(self, roaming: Roaming) -> None:
        self._roaming = roaming
        self._mesh = roaming.mesh
        self._core = roaming.mesh.core
        self._transfers: TransferStates = roaming.transfers
        self.names = SeenNames(self._core)
        self._under_way: dict[tuple[str, str], IncomingSession] = {}  # by source and client id
        for kind in (HEAD, ITEM, END, LATE, OVER):
            self._mesh.router.handlers[kind] = self

    def restore(self, session: Session, now: float) -> None:
        """After a restart: what had come is in the store, the rest is on its way."""
        where = self._transfers.of(session)
        self.names.restore(session)
        if where.state == ARRIVING:
            session.number_after(where.number)
            self._under_way[(where.broker, session.client_id)] = IncomingSession(
                session, _INSTALLED
            )

    def check(self, directed: DirectedMessage) -> None:
        directed.text("client")
        directed.text("source")
        if directed.kind == HEAD:
            TransferHead(directed)
        elif directed.kind in (ITEM, LATE):
            delivery_of(directed)

    def run(self, directed: DirectedMessage, origin: Link, now: float) -> None:
        client_id = directed.text("client")
        if directed.kind == LATE:
            self._late(client_id, directed, now)
        elif directed.kind == OVER:
            self._over(client_id, directed, now)
        elif directed.kind == HEAD:
            self._begin(client_id, TransferHead(directed), now)
        else:
            key = (directed.text("source"), client_id)
            incoming = self._under_way.get(key)
            if incoming is None:
                self._straggled(directed, key, now)
            elif directed.kind == ITEM:
                self._add(incoming, delivery_of(directed), now)
            else:
                del self._under_way[key]
                self._end(client_id, incoming, key[0], now)

    def _begin(self, client_id: str, head: TransferHead, now: float) -> None:
        existing = self._core.sessions.get(client_id)
        claim = self._roaming.claims.find(client_id, now)
        if claim is not None and head.since < claim.cleared:
            incoming = IncomingSession(None, _DISCARDED)
        elif existing is not None and not self._transfers.of(existing).is_away():
            is_same = existing.user == head.record.user
            incoming = IncomingSession(existing, _MERGED if is_same else _DISCARDED)
            if is_same:
                self.names.watch(existing)
        else:
            incoming = self._install(existing, head, now)
        self._under_way[(head.source, client_id)] = incoming

    def _install(self, departed: Session | None, head: TransferHead, now: float) -> IncomingSession:
        """A new session, or what was left here of the same one."""
        core = self._core
        record = head.record
        if departed is None:
            session = Session(core.hub, record)
            bound_queue(session, core.settings)
            core.sessions[session.client_id] = session
            core.counters.sessions = len(core.sessions)
        else:
            session = departed
            self._roaming.departed_sessions.recall(session.client_id, now)
            record = session.record
            record.expiry = head.record.expiry
            session.persistent = record.expiry != 0
        core.session_quotas.update(session)
        weigh_session(core, session)
        record.disconnected_at = now
        where = self._transfers.of(session)
        where.state = ARRIVING
        where.broker = head.source
        where.number = head.number
        own = self._mesh.settings.name
        where.passing = {name: None for name in [*head.passing, head.source] if name != own}
        where.since = head.since
        self.names.watch(session)
        self.names.had(session, head.seen, head.passed)
        self._roaming.departed_sessions.came(session)
        session.number_after(head.number)
        core.journal.session_saved(record)
        self._transfers.save(session)
        if head.seen_at is not None:
            point, seen_at = head.seen_at
            core.locations.arrived(session, point, seen_at, now)
        self._subscribe(session, head, now)
        incoming = IncomingSession(session, _INSTALLED)
        incoming.incoming = head.incoming
        for packet_id in head.incoming:
            core.journal.incoming_added(session.client_id, packet_id)
        session.incoming = set(head.incoming) or None
        self._roaming.claims.here(session.client_id)
        return incoming

    def _subscribe(self, session: Session, head: TransferHead, now: float) -> None:
        core = self._core
        wanted = {record.filter for record in head.subscriptions}
        for filter in list(session.subscriptions):
            if filter not in wanted:
                remove_subscription(core, session, filter)
        for record in head.subscriptions:
            try:
                asked = asked_of(core, split_share(record.filter)[1], record.user)
                located = read_located(record.user)
                limit(core, session, record.filter, asked, located)
            except (PlusError, GlpError):
                continue  # the window or the processor that it needs is not configured here
            enter(core, make(core, session, record, asked, located, now))
            core.journal.subscription_saved(session.client_id, record)

    def _add(self, incoming: IncomingSession, delivery: DeliveryRecord, now: float) -> None:
        session = incoming.session
        message = delivery.message
        if incoming.outcome == _INSTALLED and session is not None:
            if came_before(session, delivery):
                return
            if delivery.qos:
                self._core.journal.delivery_queued(session.client_id, delivery)
            incoming.items.append(delivery)
        elif incoming.outcome == _MERGED and session is not None and message is not None:
            # Its client has forgotten what was in flight; at QoS 2 it may have had it.
            if delivery.qos == 1 or (delivery.qos == 2 and delivery.state == QUEUED):
                share = delivery.share
                session.enqueue(
                    message, delivery.qos, delivery.retain, delivery.identifiers, share, now
                )

    def _end(self, client_id: str, incoming: IncomingSession, source: str, now: float) -> None:
        session = incoming.session
        if incoming.outcome == _INSTALLED and session is not None:
            merge(session, incoming.items, incoming.incoming)
            self._transfers.of(session).state = AGREEMENT
            self._transfers.save(session)
            if session.outbox is not None:
                session.pump(now)  # its client could not wait
            elif session.record.expiry != NEVER:
                expect_expiry(self._core, session, now + session.record.expiry)
        fields: dict[str, object] = {
            "client": client_id,
            "source": self._mesh.settings.name,
            "ends": incoming.outcome != _INSTALLED,
        }
        self._mesh.router.send(
            DirectedMessage(TAKEN_OVER, source, fields, NO_MESSAGE), TRANSFER_QOS, now
        )
        self._roaming.arrived(client_id, now)

    def _over(self, client_id: str, directed: DirectedMessage, now: float) -> None:
        """A broker where the session was passes nothing on any more. It says so to the one where
        the session went from there, which may have let it go on."""
        source = directed.text("source")
        session = self._core.sessions.get(client_id)
        if session is not None:
            where = self._transfers.of(session)
            where.passing.pop(source, None)
            if where.state == AGREEMENT and not where.passing:
                self.names.forget(session)
                self._roaming.departed_sessions.before.pop(client_id, None)
                where.state = HERE
                where.broker = ""
            self._transfers.save(session)
        owner = self._gone_to(client_id, source, now)
        if owner:
            said = DirectedMessage(OVER, owner, _said(client_id, source), NO_MESSAGE)
            self._mesh.router.send(said, TRANSFER_QOS, now)

    def _gone_to(self, client_id: str, source: str, now: float) -> str:
        """The broker to which this one passes on what `source` sent for a session that is not here
        any more; "" if it is here, or nobody has it."""
        session = self._core.sessions.get(client_id)
        own = self._mesh.settings.name
        if session is not None and not self._transfers.of(session).is_away():
            return ""
        to = self._roaming.departed_sessions.leads_to(client_id)
        if not to:
            claim = self._roaming.claims.find(client_id, now)
            to = "" if claim is None else claim.owner
        return "" if to in (own, source) else to

    def _straggled(self, directed: DirectedMessage, key: tuple[str, str], now: float) -> None:
        """It came after the end of its session, which does not wait for what may expire."""
        session = self._core.sessions.get(key[1])
        if session is None or directed.kind != ITEM or directed.number("state") != QUEUED:
            return
        where = self._transfers.of(session)
        delivery = delivery_of(directed)
        if where.state == AGREEMENT and where.broker == key[0] and delivery.qos:
            _give(session, delivery, now)

    def _late(self, client_id: str, directed: DirectedMessage, now: float) -> None:
        """It came to the old broker after the session had left."""
        delivery = delivery_of(directed)
        message = delivery.message
        session = self._core.sessions.get(client_id)
        if message is None or delivery.qos == 0:
            return
        if session is None and self._passes_on(directed, delivery, now):
            return
        if session is not None and _is_wanted(session, delivery, message, now):
            _give(session, delivery, now)
        elif delivery.share:
            # Its old broker must not be chosen for the same message again, others here may be.
            name = delivery.share
            self._roaming.tell_ended(directed.text("source"), client_id, [name], now)
            self._core.routes.sharing.hand_on(name, find_group(self._core, name), message, now)

    def _passes_on(self, directed: DirectedMessage, delivery: DeliveryRecord, now: float) -> bool:
        """The session has gone on from here, and this broker has let go of it."""
        client_id = directed.text("client")
        owner = self._gone_to(client_id, directed.text("source"), now)
        if not owner:
            return False
        late = item_directed(LATE, self._mesh.settings.name, client_id, owner, delivery)
        return self._mesh.router.send(late, TRANSFER_QOS, now)


def _said(client_id: str, source: str) -> Fields:
    return {"client": client_id, "source": source}


def _give(session: Session, delivery: DeliveryRecord, now: float) -> None:
    message = delivery.message
    if message is not None:
        session.enqueue(
            message, delivery.qos, delivery.retain, delivery.identifiers, delivery.share, now
        )


def _is_wanted(session: Session, delivery: DeliveryRecord, message: Message, now: float) -> bool:
    """Whether the session still subscribes to what its old broker passes on, and a message that
    says where it is happened where the client wants it."""
    if delivery.share:
        return delivery.share in session.subscriptions
    topic = told_of(message.topic)
    for subscription in session.subscriptions.values():
        if subscription.share:
            continue
        if isinstance(subscription, OperatorSubscription):
            if is_operator_filter(message.topic):
                return True
        elif matches(subscription.filter, topic) and subscription.takes(message, now):
            return True
    return False
