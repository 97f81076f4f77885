"""One bridge: what crosses to and from a broker of another make, and this broker's part in it.

To the bridged broker we are one client. What it sends enters the mesh as that client's
publications. What it gets waits in a session here like any client's, with its queue, window and
journal; what it cannot say is what its clients want, so a list of exported filters stands in for
that.

What is subscribed there is what the mesh wants, within what may be imported, and always the fewest
filters: those that no other one contains. While some neighbour does not say by filters what it
wants, it may want anything, and all that may be imported is subscribed.

All brokers of the mesh use the same client identifier there when they own it, so that the session
that the bridged broker keeps goes over to the next owner with everything that it has queued.
"""

from __future__ import annotations

import logging
from typing import Final

from gossamer.broker.connection import Connection
from gossamer.broker.core import Core
from gossamer.broker.mesh_port import BRIDGE_PREFIX
from gossamer.broker.session_start import bound_queue
from gossamer.broker.subscriptions import enter, remove_subscription
from gossamer.budget.ledger import NOBODY
from gossamer.mesh.bridges.loop_prevention import RetainedReplays, SentThere
from gossamer.mesh.link import Traffic
from gossamer.session.records import SENT, DeliveryRecord, SessionRecord, SubscriptionRecord
from gossamer.session.session import NEVER, Session
from gossamer.session.subscription import NO_IDENTIFIERS, Receiver, Subscription
from gossamer.topics.containment import meet
from gossamer.topics.cover import Cover, CoverChange
from gossamer.wire import reasons
from gossamer.wire.codec import encode
from gossamer.wire.packets import V5, Request, Suback, Subscribe, Unsuback, Unsubscribe

logger = logging.getLogger(__name__)

_DISCONNECT: Final = b"\xe0\x00"
_LAST_PACKET_ID: Final = 65_535
INFLIGHT: Final = 100  # messages on their way, if nobody configures another number
# Fewer than there are packet identifiers, some of which our requests need.
MOST_INFLIGHT: Final = 10_000
_FILTERS_A_PACKET: Final = 200  # of any length; a bridged broker may limit its packets
# Somebody else took our place there, unknown to this part of the mesh: it is left to them a while.
_YIELD_SECONDS: Final = 60.0
# How often the log says that messages come back.
_REPEAT_SECONDS: Final = 60.0
# How often it is asked for a sign of life, at most; its silence for half as long again is its end.
BRIDGE_KEEP_ALIVE: Final = 15
# Its session outlives an outage of ours by this long (5.0; in 3.1.1 it has no end).
BRIDGE_SESSION_SECONDS: Final = 7 * 86_400


def bridge_room(name: str) -> str:
    """The room of the store with the filters that were asked for there."""
    return f"mesh/bridges/{name}"


class Bridge:
    """Exists as long as it is configured, connected or not."""

    def __init__(self, core: Core, settings: BridgeSettings, mesh: str, broker: str) -> None:
        self.name = settings.name
        self.settings = settings
        self.mesh = mesh
        self.wants = BridgeInterest(settings.imports)
        self.replays = RetainedReplays()
        self.sent = SentThere()
        self._said_at = 0.0  # when the log was last told that messages come back
        self.is_owner = False  # whether this broker deals with it
        self.is_reached = False
        self.connection: Connection | None = None
        self.yields_until = 0.0
        self.handed_over_at = 0.0  # when another owner was first seen, 0.0 before that
        self._core = core
        self._client_id = f"gossamer-{mesh}-{settings.name}"
        self._standby_id = f"{self._client_id}-{broker}"
        self._earlier = Traffic()  # over connections that are gone
        self._is_switching = False
        self._is_subscribing = False
        self._told = -1  # the state of the wishes that it was last told
        self._refused: set[str] = set()
        self._requests: dict[int, list[str]] = {}  # without an answer, by packet identifier
        self.session = self._restored_session()
        # Subscribed there.
        self.asked: dict[str, None] = dict.fromkeys(core.rooms.pop(bridge_room(settings.name), {}))
        for filter in list(self.session.subscriptions):
            if filter not in settings.exports:
                remove_subscription(core, self.session, filter)

    def client_id(self) -> str:
        return self._client_id if self.is_owner else self._standby_id

    # Its owner ------------------------------------------------------------------------------------

    def own(self, now: float) -> None:
        """From now on this broker deals with it."""
        self.handed_over_at = 0.0
        if not self.is_owner:
            self.is_owner = True
            for filter in self.settings.exports:
                subscription = self._export(filter)
                enter(self._core, subscription)
                self._core.journal.subscription_saved(self.session.client_id, subscription.record)
            self._switch(now)

    def stand_by(self, now: float) -> None:
        """Another broker deals with it. What was to be exported goes on to wait here, until that
        broker is known to be in its place."""
        if self.is_owner:
            self.is_owner = False
            self._switch(now)

    def hand_over(self) -> None:
        """The other one is in its place; what waits here is still sent from here."""
        for filter in list(self.session.subscriptions):
            remove_subscription(self._core, self.session, filter)

    def taken_over(self, now: float) -> None:
        """The bridged broker says that somebody else logged in as its owner."""
        self.yields_until = now + _YIELD_SECONDS
        self.is_owner = False

    def _switch(self, now: float) -> None:
        connection = self.connection
        if connection is not None:
            self._is_switching = True
            connection.outbox.put(_DISCONNECT)
            connection.close(now, True)

    # Its connection -------------------------------------------------------------------------------

    def opened(self, connection: Connection, is_present: bool, now: float) -> None:
        """It accepted us. A session that it does not know any more starts over: first it gets the
        retained messages that are exported, then it is asked for what is wanted, so that the
        mesh's win where both have one."""
        self.connection = connection
        self.is_reached = True
        self._is_switching = False
        self._is_subscribing = is_present
        self._told = -1
        self._refused.clear()
        self._release_requests()
        if not is_present:
            self._forget_there()
            if self.is_owner:
                for filter in self.settings.exports:
                    found = self._core.retained.search(filter, now)
                    receiver = Receiver(self._export(filter))
                    self.session.enqueue_retained(found, receiver, now)

    def lost(self) -> None:
        """The connection is gone, or none came about."""
        if self.connection is not None:
            self._earlier.add(self.connection)
            self.connection = None
        self.is_reached = self._is_switching and self.is_reached
        self._is_switching = False
        self._release_requests()

    def tell(self, now: float) -> None:
        """Brings what is subscribed there up to date; what is new comes first."""
        self.sent.now = now
        connection = self.connection
        if connection is None or not self.is_owner or connection.outbox.blocked:
            return
        if not self._is_subscribing:
            if self.session.in_flight() or self.session.queued():
                return
            self._is_subscribing = True
        if self._told == self.wants.changes:
            return
        self._told = self.wants.changes
        wanted = self.wants.wanted
        asked = self.asked
        new = [filter for filter in wanted if filter not in asked and filter not in self._refused]
        gone = [filter for filter in asked if filter not in wanted]
        if not new and not gone:
            return
        is_5 = connection.version == V5
        for start in range(0, len(new), _FILTERS_A_PACKET):
            part = new[start : start + _FILTERS_A_PACKET]
            requests = [Request(filter, self.settings.qos, is_5, is_5, 0) for filter in part]
            packet_id = self._reserve(part)
            connection.outbox.put(encode(Subscribe(packet_id, requests), connection.version))
            for filter in part:
                self._asks(filter)
                self.replays.subscribed(filter, now)
        for start in range(0, len(gone), _FILTERS_A_PACKET):
            part = gone[start : start + _FILTERS_A_PACKET]
            packet_id = self._reserve(part)
            connection.outbox.put(encode(Unsubscribe(packet_id, part), connection.version))
            for filter in part:
                self._asks_no_more(filter)

    def subscribed(self, answer: Suback) -> None:
        for filter, reason in zip(self._answered(answer.packet_id), answer.reasons, strict=False):
            if reason >= reasons.UNSPECIFIED_ERROR:
                logger.warning(
                    "bridge %s: the broker refused the subscription to %r (0x%02x)",
                    self.name,
                    filter,
                    reason,
                )
                self._refused.add(filter)
                self._asks_no_more(filter)

    def unsubscribed(self, answer: Unsuback) -> None:
        self._answered(answer.packet_id)

    def traffic(self) -> Traffic:
        total = self._earlier.copy()
        if self.connection is not None:
            total.add(self.connection)
        return total

    def is_echo(self, topic: str, payload: bytes, now: float) -> bool:
        """Whether it was sent there from here, and came back by a way that loses our mark."""
        if self.sent.is_empty() or not self.sent.is_echo(topic.encode(), payload, now):
            return False
        if not 0.0 <= now - self._said_at < _REPEAT_SECONDS:
            self._said_at = now
            logger.warning(
                "bridge %s: what is sent there comes back without its mark (last on %r): that "
                "broker is joined to this mesh by another bridge too. It goes no further; take one "
                "of the bridges away, or export and import different topics",
                self.name,
                topic,
            )
        return True

    def is_known(self, topic: str, payload: bytes, now: float) -> bool:
        """Whether this is the retained message that is kept here."""
        found = self._core.retained.search(topic, now)
        return bool(found) and found[0].payload == payload

    # Parts ----------------------------------------------------------------------------------------

    def _reserve(self, filters: list[str]) -> int:
        """A packet identifier; publications of the session do without it meanwhile."""
        packet_id = _LAST_PACKET_ID
        session = self.session
        while session.is_in_flight(packet_id):
            packet_id -= 1
        session.inflight[packet_id] = DeliveryRecord(
            0, None, 0, False, NO_IDENTIFIERS, packet_id, SENT
        )
        self._requests[packet_id] = filters
        return packet_id

    def _answered(self, packet_id: int) -> list[str]:
        """The filters of the request, which is done with."""
        filters = self._requests.pop(packet_id, None)
        if filters is None:
            return []
        self.session.inflight.pop(packet_id, None)
        return filters

    def _release_requests(self) -> None:
        for packet_id in self._requests:
            self.session.inflight.pop(packet_id, None)
        self._requests.clear()

    def _forget_there(self) -> None:
        """What we had on the bridged broker is no more: subscriptions, and numbers of QoS 2."""
        session = self.session
        for packet_id in list(session.incoming or ()):
            self._core.journal.incoming_removed(session.client_id, packet_id)
        session.incoming = None
        if self.is_owner:
            self.asked.clear()
            self._core.journal.drop_room(bridge_room(self.name))

    def _export(self, filter: str) -> Subscription:
        record = SubscriptionRecord(filter, self.settings.qos, True, True, 2, 0)
        return Subscription(self.session, record, "", filter)

    def _restored_session(self) -> Session:
        core = self._core
        client_id = BRIDGE_PREFIX + self.settings.name
        session = core.sessions.get(client_id)
        if session is None:
            record = SessionRecord(client_id, client_id, NEVER)
            session = Session(core.hub, record)
            bound_queue(session, core.settings)
            session.owner = NOBODY
            core.sessions[client_id] = session
            core.counters.sessions = len(core.sessions)
            core.journal.session_saved(record)
        return session

    def _asks(self, filter: str) -> None:
        self.asked[filter] = None
        self._core.journal.keep(bridge_room(self.name), filter, b"")

    def _asks_no_more(self, filter: str) -> None:
        self.asked.pop(filter, None)
        self._core.journal.drop(bridge_room(self.name), filter)


class BridgeInterest:
    """`wanted` is kept true by `add` and `remove`, called for each subscription of the mesh."""

    def __init__(self, imports: tuple[str, ...]) -> None:
        self.wanted: dict[str, None] = {}  # in order, so that runs are repeatable
        self.changes = 0
        self._imports = imports
        self._asked = Cover()
        self._allowed = Cover()
        self._is_blind = False

    def add(self, filter: str) -> None:
        self._apply(self._asked.add(filter))

    def remove(self, filter: str) -> None:
        self._apply(self._asked.remove(filter))

    def set_blind(self, is_blind: bool) -> None:
        """Whether somebody's wishes are not known."""
        if is_blind == self._is_blind:
            return
        self._is_blind = is_blind
        for filter in self._imports:
            self._keep(self._allowed.add(filter) if is_blind else self._allowed.remove(filter))

    def _apply(self, change: CoverChange) -> None:
        for filter in change.entered:
            for allowed in self._imports:
                both = meet(filter, allowed)
                if both is not None:
                    self._keep(self._allowed.add(both))
        for filter in change.left:
            for allowed in self._imports:
                both = meet(filter, allowed)
                if both is not None:
                    self._keep(self._allowed.remove(both))

    def _keep(self, change: CoverChange) -> None:
        self.changes += 1
        for filter in change.entered:
            self.wanted[filter] = None
        for filter in change.left:
            del self.wanted[filter]


class BridgeSettings:
    """Brokers of a mesh that give it the same `name` mean the same bridged broker."""

    def __init__(
        self,
        name: str,
        version: int = V5,
        imports: tuple[str, ...] = ("#",),
        exports: tuple[str, ...] = (),
        qos: int = 2,
    ) -> None:
        self.name = name
        self.version = version
        self.imports = imports  # the most that is ever subscribed there
        self.exports = exports  # what is published there
        self.qos = qos  # the highest that crosses
        # Messages on their way, each way: no more cross twice at QoS 2 if the owner dies.
        self.inflight = INFLIGHT
        self.username: str | None = None
        self.password: bytes | None = None
