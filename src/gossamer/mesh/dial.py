"""The dialling side of a link: CONNECT, proof, and then a connection like any other.

Without IO: a shell gives it a sink and the bytes that arrive. Once the neighbour has accepted,
both ends treat the connection alike; MQTT's PUBLISH and its answers are the same both ways.
"""

from __future__ import annotations

from gossamer.broker.connection import Connection
from gossamer.broker.core import OPEN
from gossamer.broker.keep_alive import keep_alive
from gossamer.broker.mesh_port import PEER_METHOD, PEER_PREFIX
from gossamer.broker.policy import Origin
from gossamer.broker.session_end import disconnect_session
from gossamer.broker.settings import peer_settings
from gossamer.broker.timers import Timer
from gossamer.budget.ledger import NOBODY
from gossamer.mesh.collision import ANSWER_SECONDS
from gossamer.mesh.handshake import Dialling, HandshakeError, introduce
from gossamer.mesh.mesh import Mesh
from gossamer.mesh.settings import KEEP_ALIVE_SECONDS
from gossamer.session.identity import Identity
from gossamer.session.outbox import Sink
from gossamer.session.session import NEVER
from gossamer.wire import reasons
from gossamer.wire.codec import decode, encode
from gossamer.wire.errors import ProtocolError
from gossamer.wire.frames import header_length, packet_length
from gossamer.wire.packets import V5, Auth, Connack, Connect, Disconnect
from gossamer.wire.properties import Properties

# An answer to CONNECT is small; a stranger's flood is not read to its end.
_MOST_HANDSHAKE_BYTES = 65_536


class Dial:
    """One attempt to reach a neighbour. `failure` says why it ended, "" while it has not."""

    def __init__(self, mesh: Mesh, sink: Sink, origin: Origin, now: float) -> None:
        self.mesh = mesh
        self.sink = sink
        self.origin = origin
        self.connection: Connection | None = None
        self.failure = ""
        self.name = ""  # the neighbour's, once it has proved it
        self._buffer = b""
        self._timer: Timer | None = Unanswered(self)
        mesh.core.timers.add(now + ANSWER_SECONDS, self._timer)
        own = introduce(mesh.settings)
        self._handshake = Dialling(mesh.settings, own, origin.certificate_user)
        properties = Properties()
        properties.session_expiry = NEVER
        properties.authentication_method = PEER_METHOD
        properties.authentication_data = self._handshake.opening
        connect = Connect(
            PEER_PREFIX + mesh.settings.name,
            V5,
            False,
            KEEP_ALIVE_SECONDS,
            properties=properties,
        )
        sink.write(encode(connect, V5))

    def receive(self, data: bytes, now: float) -> None:
        """Bytes from the neighbour; after the handshake they are the connection's."""
        connection = self.connection
        if connection is not None:
            connection.receive(data, now)
            return
        self._buffer += data
        try:
            while self.connection is None and not self.failure:
                size = packet_length(self._buffer, 0)
                if size > _MOST_HANDSHAKE_BYTES or len(self._buffer) > 2 * _MOST_HANDSHAKE_BYTES:
                    raise HandshakeError("what answers there is not a broker of a mesh")
                if size == 0 or size > len(self._buffer):
                    return
                head = self._buffer[0]
                body = self._buffer[header_length(self._buffer, 0) : size]
                self._buffer = self._buffer[size:]
                self._handle(head, body, now)
        except (HandshakeError, ProtocolError) as error:
            self.fail(str(error))
            return
        if self._buffer and self.connection is not None:
            rest = self._buffer
            self._buffer = b""
            self.connection.receive(rest, now)

    def lost(self, now: float) -> None:
        """The shell's word that the network closed the connection."""
        if self.connection is not None:
            self.connection.lost(now)
        if not self.failure:
            self.failure = "the connection was closed"
        self._settle()

    def fail(self, why: str) -> None:
        if not self.failure:
            self.failure = why
            self.sink.close()
        self._settle()

    def give_up(self) -> None:
        """Nothing was heard for too long: what is still to be sent will not arrive either."""
        self.failure = f"no response within {ANSWER_SECONDS:.0f} s"
        self.sink.abort()
        self._settle()

    def _settle(self) -> None:
        """It is certain what becomes of the attempt."""
        timer = self._timer
        if timer is not None:
            self._timer = None
            self.mesh.core.timers.cancel(timer)
            if self.name:
                self.mesh.neighbour_table.collisions.end(self.name)

    def _handle(self, head: int, body: bytes, now: float) -> None:
        packet = decode(head, body, V5)
        if isinstance(packet, Auth) and packet.properties is not None and not self.name:
            peer, answer = self._handshake.answer(packet.properties.authentication_data or b"")
            if self.mesh.neighbour_table.session_for(peer.name).outbox is not None:
                # Before it proves itself: the neighbour would give up the road that stands.
                raise HandshakeError(f"{peer.name} is already connected by another link")
            if not self.mesh.neighbour_table.collisions.begin(peer.name):
                raise HandshakeError(f"{peer.name} is already being connected by another link")
            self.name = peer.name
            self.mesh.neighbour_table.met(peer)
            properties = Properties()
            properties.authentication_method = PEER_METHOD
            properties.authentication_data = answer
            self.sink.write(encode(Auth(reasons.CONTINUE_AUTHENTICATION, properties), V5))
        elif isinstance(packet, Connack):
            if packet.reason != reasons.SUCCESS:
                raise HandshakeError(_refusal(packet))
            if not self.name:
                raise HandshakeError("it accepts any client: it is not a broker of a mesh")
            self._open(now)
        elif isinstance(packet, Disconnect):
            raise HandshakeError(f"it disconnected with reason 0x{packet.reason:02x}")
        else:
            raise HandshakeError("what answers there is not a broker of a mesh")

    def _open(self, now: float) -> None:
        core = self.mesh.core
        session = self.mesh.neighbour_table.session_for(self.name)
        self._settle()
        # The first broker has accepted this one since it tried the other: see `collision.py`.
        disconnect_session(core, session, reasons.SESSION_TAKEN_OVER, "", now)
        core.last_token += 1
        connection = Connection(core, self.sink, self.origin, core.last_token, now)
        core.connections[connection.token] = connection
        core.counters.connections_open = len(core.connections)
        connection.version = V5
        connection.outbox.version = V5
        connection.is_peer = True
        connection.owner = NOBODY
        connection.is_dialled = True
        connection.stage = OPEN
        connection.settings = peer_settings()
        connection.limit = connection.settings.max_packet
        connection.identity = Identity(
            session.client_id, "$mesh", self.origin.address, self.origin.listener
        )
        connection.session = session
        connection.keep_alive = KEEP_ALIVE_SECONDS * 1.5
        keep_alive(connection, now)
        session.record.disconnected_at = 0.0
        core.journal.session_saved(session.record)
        # What is told again now may rest on an answer that no disk has seen yet.
        connection.outbox.hold_back()
        session.outbox = connection.outbox
        self.connection = connection
        self.mesh.opened(connection, now)
        session.resume(now)

    def ping(self) -> None:
        """Keeps the link's silence short on both sides; call it every few seconds."""
        if self.connection is not None:
            self.connection.outbox.put(b"\xc0\x00")


class Unanswered(Timer):
    """Ends an attempt that has not succeeded in time."""

    def __init__(self, dial: Dial) -> None:
        self.dial = dial

    def fire(self, now: float) -> float:
        self.dial.give_up()
        return 0.0


def _refusal(packet: Connack) -> str:
    text = None if packet.properties is None else packet.properties.reason_string
    return text or f"it refused with reason 0x{packet.reason:02x}"
