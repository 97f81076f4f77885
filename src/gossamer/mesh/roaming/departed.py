"""Sessions that moved to another broker, as long as messages for them may still come here.

What comes is sent after them at the end of the turn. A departed session ends when the new broker
has had the subscriptions for so long that everybody sends there.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gossamer.broker.geofences import LocatedSubscription
from gossamer.broker.retained_delivery import serve_all
from gossamer.broker.session_end import disconnect_session, end_session, settle
from gossamer.broker.subscriptions import enter, remove_subscription
from gossamer.broker.timers import Timer
from gossamer.mesh.directed.message import NO_MESSAGE, DirectedMessage, Fields
from gossamer.mesh.directed.router import DirectedHandler
from gossamer.mesh.link import Link
from gossamer.mesh.roaming.transfer import (
    ITEM,
    LATE,
    MOST_PASSING,
    MOST_SUBSCRIPTIONS,
    end_directed,
    head_directed,
    item_directed,
)
from gossamer.mesh.roaming.transfer_state import MOVED, TAKEN, TransferState, TransferStates
from gossamer.session.handover import give_away
from gossamer.session.message_names import NAME_BYTES
from gossamer.session.name_bits import NameBits, unpacked_names
from gossamer.session.queue import refill
from gossamer.session.records import DeliveryRecord
from gossamer.session.seen_names import Seen
from gossamer.session.session import Session
from gossamer.session.subscription import Subscription
from gossamer.wire import reasons

if TYPE_CHECKING:
    from gossamer.mesh.mesh import Mesh

# The new broker's directed message that it has the session, and ours that nothing follows any more.
TAKEN_OVER: Final = "taken"
OVER: Final = "over"
# Interests cross a link within milliseconds, a summary under load within two seconds.
LINGER_SECONDS: Final = 15.0
# Of one departed session, some 100 bytes each.
_MOST_NAMES: Final = 1_024
# A session that moves is more than its parts: none may be lost or come twice.
TRANSFER_QOS: Final = 2


class DepartedSession(Timer):
    """As a timer it ends, once nothing has changed in the mesh for long enough."""

    def __init__(self, departed_sessions: DepartedSessions, session: Session, to: str) -> None:
        self._departed_sessions = departed_sessions
        self.session = session
        self.to = to
        self.last = ""  # the directed message that those still to be sent follow
        self.is_leaving = False  # what the store has of its queue is not sent yet, nor its end
        self.is_over = False  # its new broker wants no more of it than is left here
        self.number = 0  # of the last delivery that it had when it left
        self.changes = -1  # of who is reached, when it was last looked at
        self._passed_on: set[bytes] = set()

    def passes_on(self, delivery: DeliveryRecord) -> bool:
        """Once, however often a message comes here: with every broker of a chain that passes on
        what others pass on to it, there would be twice as many of each."""
        message = delivery.message
        name = b"" if message is None or delivery.share else message.name[-NAME_BYTES:]
        if not name:
            return True
        if name in self._passed_on:
            return False
        if len(self._passed_on) >= _MOST_NAMES:
            self._passed_on.clear()  # the new broker knows them too
        self._passed_on.add(name)
        return True

    def fire(self, now: float) -> float:
        return now + LINGER_SECONDS if self._departed_sessions.lingers(self, now) else 0.0


class DepartedSessions(DirectedHandler):
    def __init__(self, mesh: Mesh, transfers: TransferStates) -> None:
        self._transfers = transfers
        self._mesh = mesh
        self._core = mesh.core
        self._by_client: dict[str, DepartedSession] = {}
        # Of sessions that came a moment ago: what had passed here before them.
        self.before: dict[str, bytes] = {}  # packed
        mesh.router.handlers[TAKEN_OVER] = self

    def restore(self, session: Session, now: float) -> None:
        """After a restart."""
        where = self._transfers.of(session)
        departed = DepartedSession(self, session, where.broker)
        departed.last = where.last
        departed.number = where.number
        # A broker that died meanwhile may not have sent the end; a second one changes nothing.
        departed.is_leaving = session.lane.messages > 0
        self._watch(session)
        for name in self._core.journal.spilled_names(session.client_id):
            if session.seen is not None:
                session.seen.spilled(name[-NAME_BYTES:])
        self._by_client[session.client_id] = departed
        self._widen(session)
        if where.state == TAKEN:
            self._core.timers.add(now + LINGER_SECONDS, departed)

    def give(self, session: Session, to: str, now: float) -> bool:
        """Sends the session away, with everything it has; False if no way leads there."""
        if self._mesh.reachability.next_hop(to) is None:
            return False
        own = self._mesh.settings.name
        if not self._mesh.router.can_carry(end_directed(own, session.client_id, to)):
            return False
        settle(self._core, session, now)
        disconnect_session(self._core, session, reasons.SESSION_TAKEN_OVER, "", now)
        if self._core.sessions.get(session.client_id) is not session:
            return True  # it ended with its connection
        record = session.record
        where = self._transfers.of(session)
        client_id = session.client_id
        serve_all(self._core, session, now)
        number = session.last_number()
        deliveries, incoming = give_away(session)
        departed = DepartedSession(self, session, to)
        departed.number = number
        departed.is_leaving = session.lane.messages > 0
        seen_at = self._core.locations.last_seen(client_id)
        passed = self._passed(session, deliveries)
        head = head_directed(
            *(session, to, own, where.since, incoming, passed, seen_at),
            passing=[name for name in where.passing if name != to][-MOST_PASSING:],
        )
        self._send(departed, head, now)
        for delivery in deliveries:
            self._send(departed, item_directed(ITEM, own, client_id, to, delivery), now)
        if not departed.is_leaving:
            self._send(departed, end_directed(own, client_id, to), now)
        record.will = None  # the client is back, elsewhere
        where.state = MOVED
        where.broker = to
        where.last = departed.last
        where.number = number
        self._core.journal.session_saved(record)
        self._transfers.save(session)
        self._by_client[client_id] = departed
        self._watch(session)
        self._widen(session)
        return True

    def _passed(self, session: Session, deliveries: list[DeliveryRecord]) -> NameBits:
        """Messages that were here while the session was: it has had them, or did not want them.
        They may still wait for others, on any broker, and would reach its new one after it. What
        it brings along, in `deliveries` and on disk, it has not had."""
        passed = self._mesh.tree_links.memory.latest()
        earlier = self.before.pop(session.client_id, None)
        if earlier is not None:
            passed.subtract(unpacked_names(earlier))
        if session.seen is not None and session.seen.passed is not None:
            passed.add(session.seen.passed)
        for delivery in deliveries:
            if delivery.message is not None:
                passed.drop(delivery.message.name[-NAME_BYTES:])
        if session.lane.messages:
            for name in self._core.journal.spilled_names(session.client_id):
                passed.drop(name[-NAME_BYTES:])
        return passed

    def came(self, session: Session) -> None:
        """The session is here; what has passed here before, it need not have had."""
        self.before[session.client_id] = self._mesh.tree_links.memory.latest().packed()

    def _watch(self, session: Session) -> None:
        """If the session comes back before the store has given up what came for it meanwhile, it
        brings some of that along: the names tell."""
        if session.seen is None:
            session.seen = Seen([])

    def _widen(self, session: Session) -> None:
        """Where the client is now, its new broker knows: what follows it there is passed on from
        here wherever it happens, and judged there."""
        for subscription in list(session.subscriptions.values()):
            if isinstance(subscription, LocatedSubscription) and not subscription.share:
                record = subscription.record
                enter(self._core, Subscription(session, record, "", subscription.filter))

    def forget(self, client_id: str) -> None:
        """The session is here again, or has ended."""
        self._by_client.pop(client_id, None)

    def recall(self, client_id: str, now: float) -> None:
        """The session comes back. What came before it does may have been had there."""
        departed = self._by_client.pop(client_id, None)
        if departed is not None:
            self._send_after(departed, now)

    def end_turn(self, now: float) -> None:
        for departed in list(self._by_client.values()):
            if departed.session.queue is not None or departed.session.lane.messages:
                self._send_after(departed, now)
                if departed.is_over and not departed.session.lane.messages:
                    self._finish(departed, now)

    def check(self, directed: DirectedMessage) -> None:
        directed.text("client")
        directed.text("source")
        _ended(directed)

    def run(self, directed: DirectedMessage, origin: Link, now: float) -> None:
        """The session is where it should be; some of its subscriptions may have ended there."""
        client_id = directed.text("client")
        departed = self._by_client.get(client_id)
        source = directed.text("source")
        if departed is None or not self._may_end(departed, source, now):
            return
        where = self._transfers.of(departed.session)
        if directed.flag("ends"):
            departed.is_over = True
            self._tell_earlier(where, departed, [], now)
            if not departed.session.lane.messages:
                self._finish(departed, now)
            return
        ended = [each for each in _ended(directed) if each in departed.session.subscriptions]
        for filter in ended:
            remove_subscription(self._core, departed.session, filter)
        if ended:
            self._tell_earlier(where, departed, ended, now)
        if where.state == MOVED and departed.to == source:
            where.state = TAKEN
            self._transfers.save(departed.session)
            self._core.timers.add(now + LINGER_SECONDS, departed)

    def _may_end(self, departed: DepartedSession, source: str, now: float) -> bool:
        """Whether the session is there: where it was sent, or where it has gone from there."""
        if departed.to == source:
            return True
        claim = self._mesh.roaming.claims.find(departed.session.client_id, now)
        return claim is not None and claim.owner == source

    def leads_to(self, client_id: str) -> str:
        """Where a session that is not here any more has gone; "" if it is not known."""
        departed = self._by_client.get(client_id)
        return "" if departed is None else departed.to

    def _tell_earlier(
        self, where: TransferState, departed: DepartedSession, ended: list[str], now: float
    ) -> None:
        """To those from where the session had come: what they pass on comes by way of this one."""
        for broker in where.passing:
            if broker != departed.to:
                client_id = departed.session.client_id
                self._mesh.roaming.tell_ended(broker, client_id, ended, now)

    def lingers(self, departed: DepartedSession, now: float) -> bool:
        """Whether the departed session is still needed; if not, it ends."""
        if self._by_client.get(departed.session.client_id) is not departed:
            return False
        reaching = self._mesh.reachability
        is_changing = not reaching.is_reached(departed.to) or reaching.changes != departed.changes
        if is_changing or departed.session.lane.messages:
            departed.changes = reaching.changes
            return True
        self._finish(departed, now)
        return False

    def _send_after(self, departed: DepartedSession, now: float) -> None:
        if self._mesh.reachability.next_hop(departed.to) is None:
            return
        own = self._mesh.settings.name
        session = departed.session
        client_id = session.client_id
        while True:
            for delivery in give_away(session)[0]:
                if departed.is_leaving and delivery.number > departed.number:
                    self._end(departed, now)
                kind = ITEM if departed.is_leaving else LATE
                if kind == LATE and not departed.passes_on(delivery):
                    continue
                self._send(
                    departed, item_directed(kind, own, client_id, departed.to, delivery), now
                )
            if not refill(session):
                break
        if departed.is_leaving and not session.lane.messages:
            self._end(departed, now)
        if departed.last:
            where = self._transfers.of(session)
            where.last = departed.last
            self._transfers.save(session)

    def _end(self, departed: DepartedSession, now: float) -> None:
        """Everything that it had when it left is on its way."""
        departed.is_leaving = False
        own = self._mesh.settings.name
        self._send(departed, end_directed(own, departed.session.client_id, departed.to), now)

    def _send(self, departed: DepartedSession, directed: DirectedMessage, now: float) -> None:
        """Whatever ways they take, they are run in this order."""
        if departed.last:
            directed.fields["after"] = departed.last
        directed_messages = self._mesh.router
        if not directed_messages.send(directed, TRANSFER_QOS, now):
            directed_messages.put_aside(directed, departed.to, now)
        elif not directed.message.expires_at:  # nobody waits for what may expire on the way
            departed.last = directed.identity()

    def _finish(self, departed: DepartedSession, now: float) -> None:
        self._send_after(departed, now)
        client_id = departed.session.client_id
        del self._by_client[client_id]
        end_session(self._core, departed.session, now)
        fields: Fields = {"client": client_id, "source": self._mesh.settings.name}
        self._send(departed, DirectedMessage(OVER, departed.to, fields, NO_MESSAGE), now)


def _ended(directed: DirectedMessage) -> list[str]:
    """Filters to which the session does not subscribe any more; a broker of 0.1.0 names none."""
    return directed.texts("ended", MOST_SUBSCRIPTIONS) if "ended" in directed.fields else []
