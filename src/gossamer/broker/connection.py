"""One connection: finds the packets in what arrives, and ends as the protocol asks.

The shell calls `receive` with each chunk it read and then `Broker.flush`. Everything a chunk holds
is handled before anything is written. A violation of the protocol ends this connection with the
reason that the standard names, and touches no other. So does an exception that nobody foresaw: it
is noted as a fault of ours, and only the connection whose packet caused it ends. A neighbour would
send it again: what it sends is refused instead (`publish_from_neighbour.py`).
"""

from __future__ import annotations

import logging
from typing import Final

from mypy_extensions import i32, u8

from gossamer.broker.client_topics import ClientTopics
from gossamer.broker.core import AWAITING_CONNECT, CLOSED, DECIDING, LEAVING, OPEN, Core, Unfinished
from gossamer.broker.dispatch import dispatch, handle_acknowledgements, handle_located_ping
from gossamer.broker.keep_alive import keep_alive, time_out
from gossamer.broker.policy import Exchange, Origin
from gossamer.broker.publish import publish_plain
from gossamer.broker.publish_bursts import forward_carried, forward_run, publish_run
from gossamer.broker.publish_from_neighbour import pass_on_plain, set_aside
from gossamer.broker.rates import network_of
from gossamer.broker.replies import promise, refuse, spelled
from gossamer.broker.session_end import end_connection
from gossamer.broker.settings import peer_settings
from gossamer.broker.timers import Timer
from gossamer.budget.ledger import Owner
from gossamer.session.identity import Identity
from gossamer.session.outbox import UNWANTED_BYTES, Outbox
from gossamer.session.session import Session
from gossamer.session.sink import Sink
from gossamer.wire import reasons
from gossamer.wire.compression import Decompressor
from gossamer.wire.errors import ProtocolError
from gossamer.wire.frames import header_length, packet_length
from gossamer.wire.packets import (
    AUTH,
    CONNACK,
    CONNECT,
    DISCONNECT,
    PUBACK,
    PUBREC,
    V5,
    V311,
    Acknowledgement,
    Connack,
    Connect,
    Disconnect,
)
from gossamer.wire.properties import Properties
from gossamer.wire.reason_table import legal_reason

logger = logging.getLogger(__name__)

_PLAIN_PUBLISH: Final = 0x30
_PINGRESP: Final = b"\xd0\x00"
# A packet up to this size may come in pieces at no charge: it is in the price of a connection.
FREE_PACKET: Final = 16_384


class Connection(Timer):
    """From accept to close. As a timer it ends itself when its client is silent for too long."""

    __slots__ = (
        "_missing",
        "_pieces",
        "_reserved",
        "authentication_method",
        "bytes_received",
        "connect",
        "core",
        "exchange",
        "identity",
        "inflater",
        "is_dialled",
        "is_peer",
        "keep_alive",
        "last_seen",
        "limit",
        "locates_by_ping",
        "messages_received",
        "opened_at",
        "origin",
        "outbox",
        "owner",
        "session",
        "settings",
        "stage",
        "token",
        "topics",
        "unfinished",
        "unreleased_before",
        "version",
        "wants_problems",
    )

    def __init__(self, core: Core, sink: Sink, origin: Origin, token: int, now: float) -> None:
        self.core = core
        self.origin = origin
        self.token = token
        self.outbox = Outbox(core.hub, sink, V311, token)
        self.session: Session | None = None
        network = network_of(origin.address)
        self.identity = Identity("", "", origin.address, origin.listener, network)
        self.owner: Owner = self.identity  # of what it holds in the ledger
        self.opened_at = now
        self.last_seen = now
        self.keep_alive = 0.0  # seconds of silence that end the connection, 0 for none
        self.settings = origin.settings or core.settings
        self.connect: Connect | None = None  # while the login is being decided
        self.exchange: Exchange | None = None  # enhanced authentication
        self.authentication_method = ""
        self.topics = ClientTopics(core.ledger, core.policy_changes)
        self.bytes_received = 0
        self.messages_received = 0
        self.unfinished: Unfinished | None = None  # of a packet that is more than one turn of work
        self.inflater: Decompressor | None = None  # of a neighbour that compresses
        self._pieces: list[bytes] | None = None  # of packets that are not handled yet
        self._missing = 0
        # Of four bytes or one, and so together: between wider fields each would take eight.
        self._reserved: i32 = 0  # bytes charged for a packet that has come in part
        self.limit: i32 = self.settings.max_connect_packet
        self.unreleased_before: i32 = 0  # QoS 2 publications that an earlier connection left so
        self.version: u8 = V311
        self.stage: u8 = AWAITING_CONNECT
        self.is_dialled = False  # by this broker, to a neighbour
        self.is_peer = False  # a neighbouring broker, which has proved it
        self.locates_by_ping = False  # whether its PINGREQ may carry a position
        self.wants_problems = True  # Request Problem Information

    def receive(self, data: bytes, now: float) -> None:
        """Handles every whole packet and keeps the rest for the next call."""
        self.last_seen = now
        if self.inflater is not None:
            self.inflater.feed(data)
        else:
            self._receive(data, now)
        if self.inflater is not None:
            self._inflate(self.inflater, now)

    def _receive(self, data: bytes, now: float) -> None:
        """The same, of what is not compressed."""
        self.core.counters.bytes_received += len(data)
        self.bytes_received += len(data)
        if self._missing > 0 or self.stage == DECIDING or self.unfinished is not None:
            self._put_by(data)
            self._missing -= len(data)
            if self._missing > 0 or self.stage == DECIDING or self.unfinished is not None:
                return
            data = self._take_pieces()
            self.free_packet()
        self._handle(data, now)

    def begin_inflating(self) -> None:
        """What follows the packet that is being handled is compressed."""
        if self.inflater is not None:
            raise ProtocolError(reasons.PROTOCOL_ERROR, "compressed bytes are compressed again")
        self.inflater = Decompressor()

    def _inflate(self, inflater: Decompressor, now: float) -> None:
        """Handles what was compressed: all of it, or a part and the next one in its next turn."""
        while self.stage != CLOSED and self.unfinished is None and inflater.has_more():
            try:
                part = inflater.read()
            except ProtocolError as error:
                self._violated(error, now)
                return
            self._receive(part, now)
            if self.outbox.sink.takes_turns():
                return

    def begin(self, work: Unfinished, now: float) -> None:
        """Of the packet that is being handled: its first part, and all if the shell does not come
        back."""
        while not work.go_on(self, now):
            if self.outbox.sink.takes_turns() and self._put_off(work):
                return

    def _put_off(self, work: Unfinished) -> bool:
        """Until its next turn; False if there is no room for that. Half of the room is for packets
        that are still coming, which would be refused."""
        account = self.core.ledger.packets
        owner = Owner("", self.owner.user, self.owner.network)
        if account.held + work.size > account.budget // 2 or account.refusal(work.size, owner):
            return False
        account.hold(work.size, owner)
        self.unfinished = work
        return True

    def _end_work(self) -> None:
        """What was unfinished is done, or will not be."""
        work = self.unfinished
        if work is not None:
            self.unfinished = None
            owner = Owner("", self.owner.user, self.owner.network)
            self.core.ledger.packets.give(work.size, owner)

    def missing(self) -> int:
        """Bytes without which the packet that has come in part cannot be handled, at least."""
        return max(self._missing, 0)

    def is_unfinished(self) -> bool:
        """Whether it waits for another turn with what it has; see `proceed`."""
        if self.unfinished is not None:
            return True
        return self.inflater is not None and self.stage != CLOSED and self.inflater.has_more()

    def proceed(self, now: float) -> None:
        """The login was decided, or it is the turn of what is unfinished: its next part and, after
        the last, what arrived in the meantime."""
        if self.unfinished is not None or self.inflater is None:
            data = self._take_pieces()
            self._missing = 0
            if data or self.unfinished is not None:
                self._handle(data, now)
        if self.inflater is not None:
            self._inflate(self.inflater, now)

    def _handle(self, data: bytes, now: float) -> None:
        counters = self.core.counters
        before = counters.messages_received
        try:
            position = self._handle_packets(data, now)
        except ProtocolError as error:
            self._violated(error, now)
            return
        except Exception as fault:  # a name of its own: mypyc gives each name one type
            self.fault("a packet", fault, now)
            return
        self.messages_received += counters.messages_received - before
        if position < len(data) and self.stage != CLOSED:
            self._put_by(data[position:] if position else data)

    def _violated(self, error: ProtocolError, now: float) -> None:
        self.core.counters.protocol_errors += 1
        # Clients do it all day; a neighbour that does is one that somebody must look at.
        logger.log(
            logging.WARNING if self.is_peer else logging.DEBUG,
            "protocol error by client %r from %s (0x%02x): %s",
            self.identity.client_id,
            self.origin.address,
            error.reason,
            error.text,
            extra={"client": self.identity.client_id, "address": self.origin.address},
        )
        self._end_with(error.reason, error.text, now)

    def _put_by(self, data: bytes) -> None:
        pieces = self._pieces
        if pieces is None:
            self._pieces = [data]
        else:
            pieces.append(data)

    def _take_pieces(self) -> bytes:
        pieces = self._pieces
        self._pieces = None
        return b"" if pieces is None else b"".join(pieces)

    def _handle_packets(self, data: bytes, now: float) -> int:
        position = 0
        end = len(data)
        work = self.unfinished
        if work is not None and (self.stage == CLOSED or work.go_on(self, now)):
            self._end_work()
        while position < end:
            if (
                self.stage >= CLOSED
                or self.stage == DECIDING  # [MQTT-3.1.4-6]
                or self.unfinished is not None
            ):
                self._missing = 0
                return position
            body = position + 2
            if body <= end and data[position + 1] < 128:
                stop = body + data[position + 1]
            else:
                length = packet_length(data, position)
                if length == 0:
                    self._missing = 1
                    return position
                stop = position + length
                body = position + header_length(data, position)
            if stop - position > self.limit:
                raise ProtocolError(
                    reasons.PACKET_TOO_LARGE,
                    f"a packet of {stop - position} bytes is over the limit of {self.limit}",
                )
            if self.stage == AWAITING_CONNECT and not self._is_expected(data[position] >> 4):
                # [MQTT-3.1.0-1], [MQTT-3.1.2-30]
                raise ProtocolError(
                    reasons.PROTOCOL_ERROR, "a packet before authentication is complete"
                )
            if stop > end:
                if stop - position > FREE_PACKET:
                    self._reserve(stop - position)
                self._missing = stop - end
                return position
            if self.is_peer:
                inflater = self.inflater
                position = self._handle_from_peer(data, position, body, stop, now)
                if self.inflater is not None and inflater is None:
                    self.inflater.feed(data[position:])
                    position = end
            else:
                position = self._handle_packet(data, position, body, stop, now)
        self._missing = 0
        return position

    def _reserve(self, size: int) -> None:
        """Room for a packet that will come in pieces: all of it, since its sender may stop short
        of the end. By user and address: a connection has no more than one."""
        account = self.core.ledger.packets
        owner = self.owner
        if self.is_peer:
            account.hold(size, owner)
        else:
            refusal = account.take(size, Owner("", owner.user, owner.network))
            if refusal:
                raise ProtocolError(reasons.QUOTA_EXCEEDED, refusal)
        self._reserved = size

    def free_packet(self) -> None:
        """It has come, or the connection has ended."""
        self._pieces = None
        if not self._reserved:
            return
        owner = self.owner
        self.core.ledger.packets.give(self._reserved, Owner("", owner.user, owner.network))
        self._reserved = 0

    def _is_expected(self, kind: int) -> bool:
        """Before the login only CONNECT may come, and once that has begun one, its exchange."""
        return kind == CONNECT if self.exchange is None else kind in (AUTH, DISCONNECT)

    def _handle_from_peer(
        self, data: bytes, position: int, body: int, stop: int, now: float
    ) -> int:
        """As `_handle_packet`; a message that cannot be taken in is not in the way of others."""
        try:
            return self._handle_packet(data, position, body, stop, now)
        except Exception as error:
            after = set_aside(self, data, position, body, stop, error, now)
            if after < 0:
                raise
            return after

    def _handle_packet(self, data: bytes, position: int, body: int, stop: int, now: float) -> int:
        """Answers where the next packet starts."""
        head = data[position]
        if self.stage == OPEN:
            if head == _PLAIN_PUBLISH:
                after = forward_run(self, data, position, body, stop, now)
                if after > 0:
                    return after
                if self.is_peer:
                    after = forward_carried(self, data, position, body, stop, now)
                    if after > 0:
                        return after
            elif head == 0x32 or head == 0x34:
                if self.is_peer:
                    if pass_on_plain(self, data, head, position, body, stop, now):
                        return stop
                else:
                    if stop < len(data) and data[stop] == head:
                        after = publish_run(self, data, head, position, body, stop, now)
                        if after > 0:
                            return after
                    if publish_plain(self, data, head, position, body, stop, now):
                        return stop
            elif stop - body == 2 and (
                head == 0x40 or head == 0x50 or head == 0x62 or head == 0x70
            ):
                after = handle_acknowledgements(self, data, position, now)
                if after > position:
                    return after
            elif head == 0xC0 and (stop == body or self.locates_by_ping):
                if stop > body:
                    handle_located_ping(self, data[body:stop], now)
                self.outbox.put(_PINGRESP)  # [MQTT-3.12.4-1]
                return stop
            elif head == 0xD0 and stop == body and self.is_dialled:
                return stop  # to our own PINGREQ
        dispatch(self, head, data[body:stop], now)
        return stop

    def answer(self, qos: int, packet_id: int, reason: int, text: str, is_kept: bool) -> None:
        """To a PUBLISH: PUBACK [MQTT-4.3.2-4] or PUBREC [MQTT-4.3.3-8]; a refusing one frees the
        identifier [MQTT-4.3.3-9]. In 3.1.1 a refusal looks like success, by its [MQTT-3.3.5-2].

        Where nothing of the publication is kept, the answer promises nothing and waits for no disk.
        """
        if qos == 0:  # [MQTT-3.3.4-1]
            return
        outbox = self.outbox
        if not self.wants_problems:  # [MQTT-3.1.2-29]
            text = ""
        if self.version != V5 or (reason == reasons.SUCCESS and not text):
            outbox.acknowledge(qos, packet_id, is_kept)
            return
        is_short = outbox.maximum_packet >= UNWANTED_BYTES and not text
        if reason == reasons.NO_MATCHING_SUBSCRIBERS and is_short:
            outbox.acknowledge(qos, packet_id, is_kept, is_wanted=False)
            return
        properties: Properties | None = None
        if text:
            properties = Properties()
            properties.reason_string = text
        kind = PUBACK if qos == 1 else PUBREC
        answer = Acknowledgement(kind, packet_id, reason, properties)
        if is_kept:
            promise(outbox, answer)
        else:
            refuse(outbox, answer)

    # Ending ------------------------------------------------------------------------------------

    def fail(self, reason: int, text: str, now: float) -> None:
        """Ends the connection because of `reason`; a 5.0 client is told.

        [MQTT-3.2.2-7], [MQTT-4.13.1-1], [MQTT-4.13.2-1]
        """
        if self.stage == CLOSED:
            return
        is_welcome = self.stage == OPEN or self.stage == LEAVING
        if self.version == V5 or not is_welcome:
            properties: Properties | None = None
            if text and self.version == V5 and self.wants_problems:
                properties = Properties()
                properties.reason_string = text
            if is_welcome:
                # Without a session expiry, which is the client's to name [MQTT-3.14.2-2].
                self._tell(Disconnect(legal_reason(DISCONNECT, reason), properties))
            elif self.version == V5 or reason in reasons.V311_CONNACK:
                # Not a DISCONNECT [MQTT-3.14.0-1]; never with a session present [MQTT-3.2.2-6].
                self.core.counters.connections_refused += 1
                self._tell(Connack(False, legal_reason(CONNACK, reason), properties))
        self.close(now, False)

    def leave(self, now: float) -> None:
        """The broker stops. A client whose QoS 2 publication has not been released, or that waits
        for an answer, gets the time to bring that to its end: the broker that it goes to next
        would not know the identifier (0x92)."""
        if self.is_peer or self.is_dialled:
            return  # links and bridges stand until the end
        if self.stage == OPEN and self._is_owed():
            self.stage = LEAVING
        else:
            self.fail(reasons.SERVER_SHUTTING_DOWN, "the broker is stopping", now)

    def has_more_to_say(self) -> bool:
        """Whether it leaves, and something is not at its end yet."""
        return self.stage == LEAVING and self._is_owed()

    def _is_owed(self) -> bool:
        session = self.session
        return self.outbox.has_promises() or (session is not None and bool(session.incoming))

    def fault(self, place: str, error: Exception, now: float) -> None:
        """Ends the connection because of an exception, which is ours; nobody else feels it."""
        self.core.faults.note(place, error, f"client {self.identity.client_id!r}", now)
        self._end_with(reasons.IMPLEMENTATION_SPECIFIC_ERROR, "internal error in the broker", now)

    def _end_with(self, reason: int, text: str, now: float) -> None:
        """As `fail`, and whatever goes wrong at that, the connection is gone afterwards."""
        try:
            self.fail(reason, text, now)
        except Exception as error:
            self.core.faults.note("closing", error, f"client {self.identity.client_id!r}", now)
            self.stage = CLOSED
            self._end_work()
            self.outbox.closed = True
            self.core.connections.pop(self.token, None)
            self.outbox.sink.abort()

    def close(self, now: float, is_normal: bool) -> None:
        """Closes after what is written; a normal end discards the will [MQTT-3.14.4-3]."""
        if self.stage == CLOSED:
            return
        self.stage = CLOSED
        self._end_work()
        outbox = self.outbox
        if not outbox.closed:
            outbox.finish()  # [MQTT-3.14.4-1], [MQTT-3.14.4-2]
            outbox.sink.close()
        end_connection(self, is_normal, now)

    def lost(self, now: float) -> None:
        """The shell's word that the network closed the connection."""
        if self.stage == CLOSED:
            return
        self.stage = CLOSED
        self._end_work()
        self.outbox.closed = True
        try:
            end_connection(self, False, now)
        except Exception as error:
            self.core.faults.note("closing", error, f"client {self.identity.client_id!r}", now)

    def fire(self, now: float) -> float:
        return time_out(self, now)

    def unblocked(self, now: float) -> None:
        """The socket takes more again."""
        self.outbox.blocked = False
        session = self.session
        if session is not None and session.outbox is self.outbox:
            try:
                session.pump(now)
            except Exception as error:
                self.fault("a queue", error, now)

    def _tell(self, answer: Connack | Disconnect) -> None:
        packet = spelled(self.outbox, answer)
        if packet:
            self.outbox.put(packet)


def open_dialled(
    core: Core,
    sink: Sink,
    origin: Origin,
    session: Session,
    version: int,
    keep_alive_seconds: float,
    now: float,
) -> Connection:
    """This broker called another one, which has accepted it. MQTT's PUBLISH and its answers are the
    same both ways, so what follows is a connection like those that were accepted here."""
    core.last_token += 1
    connection = Connection(core, sink, origin, core.last_token, now)
    core.connections[connection.token] = connection
    core.counters.connections_open = len(core.connections)
    connection.version = version
    connection.outbox.version = version
    connection.stage = OPEN
    connection.settings = peer_settings()
    connection.limit = connection.settings.max_packet
    connection.identity = Identity(session.client_id, session.user, origin.address, origin.listener)
    connection.session = session
    connection.keep_alive = keep_alive_seconds * 1.5
    keep_alive(connection, now)
    session.record.disconnected_at = 0.0
    core.journal.session_saved(session.record)
    # What is told again now may rest on an answer that no disk has seen yet.
    connection.outbox.hold_back()
    session.outbox = connection.outbox
    return connection
