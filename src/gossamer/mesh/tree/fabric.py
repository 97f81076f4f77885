"""Any graph of links, one tree in use: which links carry what, while the tree changes and after.

*In the tree*: carries everything. *Leaving*: was in the tree; it carries QoS 1 and 2 until all
agree on a tree without it, and then what is left in its queue. *Standby*: carries words only, and
is told no interests. *Away*: not connected.

QoS 1 and 2 go over the tree of the last agreement, the present tree, and all between: nothing falls
between two trees, and what comes twice is told by its name. What arrives over a link that is not in
the tree after this broker has given its word (a marker) for it may have been missed by those who
had it before: it goes round to everybody, as a wave. So does what waits for a neighbour that is
away, once somebody who was behind it can be reached in another way.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from gossamer.broker.agenda import Duty
from gossamer.broker.connection import Connection
from gossamer.broker.distributing import distribute_onwards
from gossamer.broker.neighbours import (
    MARKER_TOPIC,
    NEW,
    PASSED,
    REPEATED,
    WAVE,
)
from gossamer.broker.stamps import stamp_of
from gossamer.mesh import control
from gossamer.mesh.link import Link
from gossamer.mesh.note import Note
from gossamer.mesh.relay.damping import Complaints
from gossamer.mesh.retaining import digests_packet
from gossamer.mesh.tree.graph import DIGEST_BYTES, View
from gossamer.mesh.tree.memory import Memory, as_replayed
from gossamer.mesh.tree.pulse import Pulse
from gossamer.mesh.tree.settling import Settling
from gossamer.mesh.tree.topology import TOPOLOGY, Topology
from gossamer.session.message import Message
from gossamer.session.naming import NAME_BYTES
from gossamer.session.records import RELEASED
from gossamer.session.subscription import NO_IDENTIFIERS
from gossamer.wire import reasons
from gossamer.wire.errors import ProtocolError

if TYPE_CHECKING:
    from gossamer.mesh.mesh import Mesh

logger = logging.getLogger(__name__)

# A marker must not overtake what waits for the disk, so it waits there itself.
_MARKER_QOS: Final = 2
_WINDOW: Final = 65_535
_NUMBER_BYTES: Final = 4
_TIME_BYTES: Final = 8
# In a large mesh many announcements come together; the tree is computed once for all of them.
_MANY_BROKERS: Final = 50
_PAUSE_SECONDS: Final = 0.1


class Fabric:
    """One broker's links as parts of the mesh's tree."""

    def __init__(self, mesh: Mesh) -> None:
        self.mesh = mesh
        self.core = mesh.core
        self.memory = Memory(self.core.journal, self.core.kept_for_mesh)
        self.core.hub.namer = self.memory
        self.topology = Topology(mesh.settings.name)
        self.settling = Settling()
        self.changes = 0  # of the tree, as far as this broker's own links are in it
        self.settled_at = 0.0
        self.forged = 0
        self.waves = 0
        self._has_news = True  # of its own links
        self._is_dirty = False  # announcements came that the view does not have
        self._viewed_at = 0.0
        self._is_untidy = True  # something is left to do once settled
        self._complaints = Complaints(logger)
        mesh.flooding.handlers[TOPOLOGY] = self._hear_announcement
        self.settling.adopt(self.topology.view.digest, [])
        self._remember_queues()
        self.core.agenda.add(self.core.started_at, Heartbeat(self))

    def _remember_queues(self) -> None:
        """What was on its way when an earlier life ended has been here."""
        for session in self.core.sessions.values():
            for delivery in session.left_over():
                message = delivery.message
                stamp = None if message is None else stamp_of(message)
                if message is None or (stamp is not None and stamp.is_replay):
                    continue
                for start in range(0, len(message.name), NAME_BYTES):
                    self.memory.is_new(message.name[start : start + NAME_BYTES], message.qos)

    @property
    def view(self) -> View:
        return self.topology.view

    # Links ----------------------------------------------------------------------------------------

    def opened(self, link: Link, now: float) -> None:
        """A link stands; it is announced when the neighbour has answered once."""
        connection = link.connection
        assert connection is not None
        connection.outlet.names = True
        link.pulse = Pulse()
        self._exclude(link)
        # Nothing goes out before it is known whether this link is in the tree.
        link.session.window = 0
        self._ping(link, now)

    def closed(self, link: Link) -> None:
        self._exclude(link)
        self.settling.unheard(link.name)
        self._has_news = True

    def _exclude(self, link: Link) -> None:
        """Not in the tree, or not any more."""
        if link.in_tree:
            link.in_tree = False
            self.changes += 1
        session = link.session
        session.gives_plain = False
        if session.takes_plain:
            session.takes_plain = False
            self.core.routes.changes += 1

    def _include(self, link: Link, now: float) -> None:
        """In the tree from now on: it is asked what is wanted behind it."""
        link.in_tree = True
        self.changes += 1
        if not _waits(link):
            link.behind = set()
            link.reached = set()
        link.session.gives_plain = True
        self.mesh.take_up(link)
        link.holds += 1
        self.settling.unheard(link.name)
        number = link.holds.to_bytes(_NUMBER_BYTES, "big")
        link.send([control.control_packet(control.HOLD, number + self.mesh.held_digest(link))])
        link.send([digests_packet(self.core.retained)])
        self._resume(link, now)

    def _resume(self, link: Link, now: float) -> None:
        session = link.session
        if session.window == 0 and session.outlet is not None:
            session.window = _WINDOW
            session.resume(now)

    def _let_go(self, link: Link) -> None:
        self.mesh.put_down(link)
        link.send([control.control_packet(control.LEAVE, b"")])

    # What neighbours say --------------------------------------------------------------------------

    def asked(self, link: Link, payload: bytes) -> bytes:
        """The neighbour wants to be told what is wanted here; the digest of what it holds."""
        if len(payload) < 1 + _NUMBER_BYTES:
            raise ProtocolError(reasons.MALFORMED_PACKET, f"{link.name} asked for nothing")
        link.asked = payload[1 : 1 + _NUMBER_BYTES]
        self.settling.unsent(link.name)
        return payload[1 + _NUMBER_BYTES :]

    def marker(self, link: Link, payload: bytes) -> None:
        """One that answers an earlier question may not have all interests behind it."""
        if len(payload) != DIGEST_BYTES + _NUMBER_BYTES:
            raise ProtocolError(reasons.MALFORMED_PACKET, f"{link.name} sent a marker that is none")
        link.control_messages_heard += 1
        if int.from_bytes(payload[DIGEST_BYTES:], "big") == link.holds:
            self.settling.heard(link.name, payload[:DIGEST_BYTES])

    def ping(self, link: Link, payload: bytes) -> None:
        if len(payload) != 1 + _TIME_BYTES:
            raise ProtocolError(reasons.MALFORMED_PACKET, f"{link.name} sent a ping that is none")
        link.send([control.control_packet(control.PONG, payload[1:])])

    def pong(self, link: Link, payload: bytes, now: float) -> None:
        pulse = link.pulse
        if len(payload) != 1 + _TIME_BYTES or pulse is None:
            raise ProtocolError(reasons.MALFORMED_PACKET, f"{link.name} answered nothing")
        sent = int.from_bytes(payload[1:], "big") / 1e6
        if pulse.answered(now - sent):
            self._has_news = True

    def _hear_announcement(self, origin: str, body: bytes, now: float) -> None:
        self.topology.heard(origin, body)
        self._is_dirty = True

    def _ping(self, link: Link, now: float) -> None:
        sent = int(now * 1e6).to_bytes(_TIME_BYTES, "big")
        link.send([control.control_packet(control.PING, sent)])

    def beat(self, now: float, is_late: bool) -> None:
        """Asks every neighbour for an answer; one that has been silent is gone. If this broker
        itself was held up, nobody is judged by it."""
        silence = self.mesh.settings.silence
        for link in list(self.mesh.by_name.values()):
            connection = link.connection
            if connection is None:
                continue
            if is_late:
                connection.last_seen = now
            elif now - connection.last_seen > silence:
                logger.warning("%s has been silent for %.1f s: the link is cut", link.name, silence)
                _cut(connection, now)
                continue
            self._ping(link, now)

    # Messages -------------------------------------------------------------------------------------

    def admit(self, link: Link, message: Message, now: float) -> int:
        """See `broker/neighbours.py`."""
        if not link.in_tree and (self._is_dirty or self._has_news):
            self.adopt(now)
        name = message.name
        memory = self.memory
        if memory.is_forged(name):
            self.forged += 1
            self._complaints.say(link.name, "a message that claims to have begun here", now)
            return REPEATED
        first = name[-NAME_BYTES:]
        is_wave = len(name) > NAME_BYTES
        stamp = stamp_of(message) if message.retain else None
        if stamp is not None and stamp.is_replay and not is_wave:
            return NEW if self._is_missing(first, message) else REPEATED
        if not memory.is_new(name[:NAME_BYTES], message.qos):
            return REPEATED
        is_late = not link.in_tree and self.settling.has_sent()
        if is_wave and stamp is not None and stamp.is_replay:
            is_news = self._is_missing(first, message)
        else:
            is_news = not is_wave or memory.is_new(first, message.qos)
            if stamp is not None and memory.knows(as_replayed(first)):
                is_news = False
        if is_late:
            self.waves += 1
            message.rename(memory.name(message.qos) + first)
            is_wave = True
        if is_news:
            return WAVE if is_wave else NEW
        return PASSED

    def _is_missing(self, name: bytes, message: Message) -> bool:
        """Whether a retained message that a neighbour thinks we lack is news. If so it is delivered
        here; those who get it on the way of all messages still get it there."""
        if self.memory.knows(name) or not self.core.retained.is_news(message):
            return False
        return self.memory.is_new(as_replayed(name), message.qos)

    # Turns ----------------------------------------------------------------------------------------

    def adopt(self, now: float) -> None:
        """Announces what is new of the own links, and takes the tree that follows from it all."""
        if self._has_news:
            self._announce(now)
        elif not self._is_dirty or not self._may_look(now):
            return
        self._has_news = False
        self._is_dirty = False
        self._viewed_at = now
        if not self.topology.refresh():
            return
        neighbours = self.view.neighbours()
        self.settling.adopt(self.view.digest, neighbours)
        self._is_untidy = True
        chosen = set(neighbours)
        for link in self.mesh.by_name.values():
            if link.name not in chosen:
                self._exclude(link)
                continue
            if not link.in_tree:
                self._include(link, now)
            if link.behind is not None:
                link.behind |= self.view.behind(link.name)
        if self.mesh.settings.is_joint:
            self.mesh.reaching.view_changed()

    def step(self, now: float) -> bool:
        """Sends the markers that are due; if all agree, ends what was for earlier trees. Whether
        that changed what is wanted."""
        for name in self.settling.due():
            link = self.mesh.by_name[name]
            if link.connection is not None and link.is_compared and not link.is_deferred:
                self._send_marker(link, now)
        if not (self._is_untidy and self.settling.is_settled):
            return False
        self._is_untidy = False
        self.settled_at = now
        self._use_for_all()
        self._send_round(now)
        return self._tidy(now)

    def _announce(self, now: float) -> None:
        costs: dict[str, int] = {}
        for link in self.mesh.by_name.values():
            pulse = link.pulse
            if link.connection is not None and pulse is not None and pulse.is_measured:
                costs[link.name] = pulse.cost
        flooding = self.mesh.flooding
        flooding.say(TOPOLOGY, self.topology.announce(flooding.life, costs), now)

    def _may_look(self, now: float) -> bool:
        if self.topology.known() < _MANY_BROKERS:
            return True
        return not 0.0 <= now - self._viewed_at < _PAUSE_SECONDS

    def _send_marker(self, link: Link, now: float) -> None:
        payload = self.settling.digest + link.asked
        message = Message(MARKER_TOPIC, payload, _MARKER_QOS, False, None, 0.0, "", "")
        self.settling.sent(link.name)
        link.markers += 1
        link.control_messages += 1
        link.session.enqueue(message, _MARKER_QOS, False, NO_IDENTIFIERS, "", now)

    def _use_for_all(self) -> None:
        """Settled: the links of the tree carry QoS 0 too."""
        for link in self.mesh.by_name.values():
            if link.in_tree and not link.session.takes_plain:
                link.session.takes_plain = True
                self.core.routes.changes += 1

    def _send_round(self, now: float) -> None:
        """What waits for neighbours that are away goes to those who were behind them."""
        reachable = self.view.tree
        for link in self.mesh.by_name.values():
            is_back = link.name in reachable
            if link.in_tree or (is_back and link.connection is not None) or not _waits(link):
                continue
            fresh = set(reachable) - link.reached
            fresh.discard(self.mesh.settings.name)
            if link.behind is not None:
                fresh &= link.behind
            if not fresh and not is_back:
                continue
            if link.session.reclaim():
                self._wave(link, now)
                link.reached |= fresh
                if is_back:
                    self._drop_queue(link)
            else:
                self._is_untidy = True  # some of it is being written

    def _wave(self, link: Link, now: float) -> None:
        for delivery in link.session.left_over():
            message = delivery.message
            if message is None or delivery.state == RELEASED or message.topic == MARKER_TOPIC:
                continue
            self.waves += 1
            first = message.name[-NAME_BYTES:] or self.memory.name(message.qos)
            sent = _copied(message, delivery.retain)
            sent.name = self.memory.name(message.qos) + first
            distribute_onwards(self.core, sent, link.session, now)

    def _drop_queue(self, link: Link) -> None:
        """The next connection begins another life of packet identifiers: those in flight now mean
        nothing any more."""
        session = link.session
        session.withdraw(session.left_over())
        note = Note(session.record.note)
        note.own = ""
        session.record.note = note.text()
        self.core.journal.session_saved(session.record)

    def _tidy(self, now: float) -> bool:
        """Links that the tree does not have are let go, unless their neighbour cannot be reached:
        what is for it is kept here."""
        has_let_go = False
        for link in self.mesh.by_name.values():
            if link.in_tree:
                if not _waits(link):
                    link.behind = self.view.behind(link.name)
                    link.reached = set()
                continue
            if link.name not in self.view.tree:
                continue
            if link.is_forwarding:
                self._let_go(link)
                has_let_go = True
            self._resume(link, now)
        return has_let_go


class Heartbeat(Duty):
    """Every third of the silence after which a neighbour is taken for gone."""

    def __init__(self, fabric: Fabric) -> None:
        self._fabric = fabric
        self._due = fabric.core.started_at

    def fire(self, now: float) -> float:
        silence = self._fabric.mesh.settings.silence
        is_late = not 0.0 <= now - self._due < silence / 3
        self._fabric.beat(now, is_late)
        self._due = now + silence / 3
        return self._due


def _waits(link: Link) -> bool:
    session = link.session
    return bool(session.inflight or session.queue or session.spilled)


def _cut(connection: Connection, now: float) -> None:
    sink = connection.outlet.sink
    connection.lost(now)
    sink.abort()


def _copied(message: Message, retain: bool) -> Message:
    return Message(
        message.topic,
        message.payload,
        message.qos,
        retain,
        message.properties,
        message.expires_at,
        message.publisher,
        message.user,
        message.topic_bytes,
    )
