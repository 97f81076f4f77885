"""A connection to a bridged broker, without IO: we are its client, and our core serves the rest.

PUBLISH and its answers are the same in both directions, so after the login a connection of the
core takes them. What only a client sees (SUBACK, PINGRESP) is taken out before, and so is what
must not enter the mesh: our own messages that came back, and retained ones that are no news.
"""

from __future__ import annotations

from typing import Final

from gossamer.broker.connection import Connection, open_dialled
from gossamer.broker.core import CLOSED, Core
from gossamer.broker.policy import Origin
from gossamer.client.login import Login, reason_string
from gossamer.mesh.bridges.bridge import BRIDGE_KEEP_ALIVE, BRIDGE_SESSION_SECONDS, Bridge
from gossamer.mesh.bridges.loop_prevention import MarkingSink, growth, has_mark, mark_of
from gossamer.session.resumption import resume_session
from gossamer.session.sink import Sink
from gossamer.wire import reasons
from gossamer.wire.codec import decode
from gossamer.wire.errors import ProtocolError
from gossamer.wire.frames import header_length, packet_length
from gossamer.wire.packets import (
    PUBACK,
    PUBCOMP,
    PUBLISH,
    PUBREC,
    PUBREL,
    V5,
    Connack,
    Connect,
    Disconnect,
    Pingresp,
    Publish,
    Suback,
    Unsuback,
)
from gossamer.wire.properties import Properties
from gossamer.wire.publish_codec import IDENTIFIERS, PUBACK_HEAD, PUBREC_HEAD

_PINGREQ: Final = b"\xc0\x00"
_ANSWERS: Final = (PUBACK, PUBREC, PUBREL, PUBCOMP)
_DEFAULT_WINDOW: Final = 65_535


class BridgeDial:
    """One attempt to reach it. `failure` says why it ended, "" while it has not."""

    def __init__(self, core: Core, bridge: Bridge, sink: Sink, origin: Origin, now: float) -> None:
        self.core = core
        self.bridge = bridge
        self.failure = ""
        self.connection: Connection | None = None
        self._sink = sink
        self._origin = origin
        self._buffer = b""
        settings = bridge.settings
        self._version = settings.version
        properties: Properties | None = None
        if self._version == V5:
            properties = Properties()
            properties.receive_maximum = settings.inflight
            if bridge.is_owner:
                properties.session_expiry = BRIDGE_SESSION_SECONDS
        connect = Connect(
            bridge.client_id(),
            self._version,
            not bridge.is_owner,
            BRIDGE_KEEP_ALIVE,
            settings.username,
            settings.password,
            None,
            properties,
        )
        self._login = Login(connect)
        sink.write(self._login.request)

    def receive(self, data: bytes, now: float) -> None:
        """Bytes from the bridged broker."""
        try:
            if self.connection is None:
                data = self._log_in(data, now)
            data = self._buffer + data if self._buffer else data
            self._buffer = data[self._handle(data, now) :]
        except ProtocolError as error:
            self.fail(error.text, now)

    def lost(self, now: float) -> None:
        """The shell's word that the network closed the connection."""
        if self.connection is not None:
            self.connection.lost(now)
        if not self.failure:
            self.failure = "the connection was closed"

    def fail(self, why: str, now: float) -> None:
        self.failure = self.failure or why
        if self.connection is not None:
            self.connection.close(now, True)
        else:
            self._sink.close()

    def ping(self) -> None:
        if self.connection is not None:
            self.connection.outbox.put(_PINGREQ)

    def _handle(self, data: bytes, now: float) -> int:
        """Whole packets; answers where the rest begins."""
        position = 0
        run = 0  # where those begin that the core's connection takes as they are
        end = len(data)
        while position < end and not self.failure:
            size = packet_length(data, position) if position + 1 < end else 0
            if size == 0 or position + size > end:
                break
            if not self._is_ordinary(data, position):
                self._pass_on(data[run:position], now)
                body = data[position + header_length(data, position) : position + size]
                self._take(data[position], body, data[position : position + size], now)
                run = position + size
            position += size
        self._pass_on(data[run:position], now)
        return position

    def _is_ordinary(self, data: bytes, position: int) -> bool:
        head = data[position]
        if head >> 4 != PUBLISH:
            return head >> 4 in _ANSWERS
        if head & 1:
            return False
        if not self.bridge.sent.is_empty():
            return False
        if self._version != V5:
            return True
        after = position + header_length(data, position)
        after += 2 + (data[after] << 8 | data[after + 1])
        if head & 0x06:
            after += 2
        return after < len(data) and data[after] == 0

    def _pass_on(self, data: bytes, now: float) -> None:
        connection = self.connection
        if connection is None or not data:
            return
        connection.receive(data, now)
        if connection.stage == CLOSED:
            self.fail("it violated the protocol", now)

    def _take(self, head: int, body: bytes, whole: bytes, now: float) -> None:
        packet = decode(head, body, self._version)
        connection = self.connection
        if connection is None:
            return
        connection.last_seen = now
        if isinstance(packet, Publish):
            if self._is_news(packet, now):
                self._pass_on(whole, now)
            elif packet.qos:
                answer = PUBACK_HEAD if packet.qos == 1 else PUBREC_HEAD
                connection.outbox.put_promise(answer + IDENTIFIERS[packet.packet_id])
        elif isinstance(packet, Suback):
            self.bridge.subscribed(packet)
        elif isinstance(packet, Unsuback):
            self.bridge.unsubscribed(packet)
        elif isinstance(packet, Disconnect):
            if packet.reason == reasons.SESSION_TAKEN_OVER:
                self.bridge.taken_over(now)
            self.fail(f"it disconnected with reason 0x{packet.reason:02x}", now)
        elif not isinstance(packet, Pingresp):
            raise _strange(f"it sent a packet of type {packet.kind}")

    def _is_news(self, packet: Publish, now: float) -> bool:
        bridge = self.bridge
        if has_mark(packet, bridge.mesh) or bridge.is_echo(packet.topic, packet.payload, now):
            return False
        if not packet.retain:
            return True
        # In 3.1.1 a retain flag always means a replay.
        can_be_replay = bridge.replays.is_due(packet.topic, now) or self._version != V5
        return not (can_be_replay and bridge.is_known(packet.topic, packet.payload, now))

    def _log_in(self, data: bytes, now: float) -> bytes:
        """What came behind the answer to CONNECT; nothing before that is there."""
        login = self._login
        login.receive(data)
        if login.connack is None or self.failure:
            return b""
        self._open(login.connack, now)
        return login.rest

    def _open(self, packet: Connack, now: float) -> None:
        if packet.reason != reasons.SUCCESS:
            text = reason_string(packet.properties)
            raise _strange(text or f"it refused us with reason 0x{packet.reason:02x}")
        bridge = self.bridge
        session = bridge.session
        if session.outbox is not None:
            raise _strange("we are connected to it already")
        offered = packet.properties or Properties()
        if offered.maximum_qos is not None and offered.maximum_qos < bridge.settings.qos:
            raise _strange(f"it takes QoS {offered.maximum_qos} at most: set qos in [[mesh.stock]]")
        core = self.core
        mark = mark_of(bridge.mesh) if self._version == V5 else b""
        sink = MarkingSink(self._sink, mark, bridge.sent.note)
        connection = open_dialled(
            core, sink, self._origin, session, self._version, BRIDGE_KEEP_ALIVE, now
        )
        if offered.maximum_packet_size is not None:
            connection.outbox.maximum_packet = offered.maximum_packet_size - growth(mark)
        connection.settings.receive_maximum = core.settings.receive_maximum
        if self._version == V5:  # which is how it was told
            connection.settings.receive_maximum = bridge.settings.inflight
        connection.unreleased_before = 0 if session.incoming is None else len(session.incoming)
        session.identity = connection.identity
        session.window = min(offered.receive_maximum or _DEFAULT_WINDOW, bridge.settings.inflight)
        self.connection = connection
        bridge.opened(connection, packet.session_present, now)
        resume_session(session, now)


def _strange(what: str) -> ProtocolError:
    return ProtocolError(reasons.PROTOCOL_ERROR, what)
