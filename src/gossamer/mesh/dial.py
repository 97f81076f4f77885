"""The dialling side of a link: CONNECT, proof, and then a connection like any other; and which one
stands of several connections between the same two brokers.

Without IO: a shell gives it a sink and the bytes that arrive. Once the neighbour has accepted,
both ends treat the connection alike.

Two brokers have several ways to connect, as when each dials the other: one connection stands.

The broker whose name is first decides, alone, and its last word holds at both ends.

- A broker proves itself on one dialled connection at a time, and on none while the neighbour is
  connected. What it dials beside that one fails, and is dialled again later.
- The first broker refuses a neighbour that dials while a connection that it dialled itself stands,
  or has its proof and no answer yet. Any other it takes, in place of the one that it had.
- The second broker takes whatever the first has decided for, in place of the connection that it
  had: one on which the first has proved itself, or has accepted it.

Why one stands: call a connection chosen from when the first broker sends its proof or its
acceptance. It chooses only while it has no other that is chosen, except that the second broker
proves itself anew, which that does only after it has lost the one before. So chosen ones follow
each other in time, and without a loss the first one chosen is the only one. The second broker
never refuses it nor gives it up for another, since every reason to do so is a later choice of the
first's. Nor does a dial that is refused close anything but itself. So once the network loses
nothing for the time of a handshake, whoever dials next ends it, whatever the delays: there is no
tie that chance has to break. A chosen connection that is lost without a word is given up by its
dialler after `ANSWER_SECONDS`, and by either end once it stood and the neighbour is silent.

A neighbour of version 0.1.0 may prove itself on two connections and then drop both. It dials again
after pauses of random length, which end that, as they did between two of its kind.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gossamer.broker.connection import Connection, open_dialled
from gossamer.broker.mesh_port import PEER_PREFIX
from gossamer.broker.policy import Origin
from gossamer.broker.session_end import disconnect_session
from gossamer.broker.timers import Timer
from gossamer.budget.ledger import NOBODY
from gossamer.client.login import Login, reason_string
from gossamer.mesh.handshake import Dialling, HandshakeError, Introduction, introduce
from gossamer.mesh.settings import KEEP_ALIVE_SECONDS
from gossamer.session.resumption import resume_session
from gossamer.session.session import NEVER
from gossamer.session.sink import Sink
from gossamer.wire import reasons
from gossamer.wire.errors import ProtocolError
from gossamer.wire.packets import V5, Connack, Connect
from gossamer.wire.properties import Properties

if TYPE_CHECKING:
    from gossamer.mesh.mesh import Mesh

# From a dialled connection's first byte to its acceptance; the neighbour may write to its disk
# before it accepts.
ANSWER_SECONDS: Final = 10.0


class Dial:
    """One attempt to reach a neighbour. `failure` says why it ended, "" while it has not."""

    def __init__(
        self, mesh: Mesh, sink: Sink, origin: Origin, now: float, compresses: bool = False
    ) -> None:
        """`compresses`: the link is to be compressed, if the neighbour can."""
        self.mesh = mesh
        self.sink = sink
        self.origin = origin
        self.connection: Connection | None = None
        self.failure = ""
        self.name = ""  # the neighbour's, once it has proved it
        self._sent = 0  # bytes, by the last `ping`
        self._timer: Timer | None = Unanswered(self)
        mesh.core.timers.add(now + ANSWER_SECONDS, self._timer)
        properties = Properties()
        properties.session_expiry = NEVER
        client_id = PEER_PREFIX + mesh.settings.name
        connect = Connect(client_id, V5, False, KEEP_ALIVE_SECONDS, properties=properties)
        self._own = introduce(mesh.settings, compresses)
        proving = Dialling(mesh.settings, self._own, origin.certificate_user, self._proved)
        login = Login(connect, proving)
        self._login: Login | None = login  # until it is certain what becomes of the attempt
        sink.write(login.request)

    def receive(self, data: bytes, now: float) -> None:
        """Bytes from the neighbour; after the handshake they are the connection's."""
        connection = self.connection
        if connection is not None:
            connection.receive(data, now)
            return
        login = self._login
        if login is None:
            return  # it has failed
        try:
            answer = login.receive(data)
            if answer:
                self.sink.write(answer)
            if login.connack is not None:
                connection = self._open(login.connack, now)
                if login.rest:
                    connection.receive(login.rest, now)
        except (HandshakeError, ProtocolError) as error:
            self.fail(str(error))

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
        self._login = None
        timer = self._timer
        if timer is not None:
            self._timer = None
            self.mesh.core.timers.cancel(timer)
            if self.name:
                self.mesh.neighbour_table.collisions.end(self.name)

    def _proved(self, peer: Introduction) -> None:
        """Before we prove ourselves: the neighbour would give up a link that stands for this."""
        neighbours = self.mesh.neighbour_table
        if self.name:
            raise HandshakeError("what answers there is not a broker of a mesh")
        if neighbours.session_for(peer.name).outbox is not None:
            raise HandshakeError(f"{peer.name} is already connected by another link")
        if not neighbours.collisions.begin(peer.name):
            raise HandshakeError(f"{peer.name} is already being connected by another link")
        self.name = peer.name
        neighbours.met(peer, self._own)

    def _open(self, connack: Connack, now: float) -> Connection:
        if connack.reason != reasons.SUCCESS:
            text = reason_string(connack.properties)
            raise HandshakeError(text or f"it refused with reason 0x{connack.reason:02x}")
        if not self.name:
            raise HandshakeError("it accepts any client: it is not a broker of a mesh")
        core = self.mesh.core
        session = self.mesh.neighbour_table.session_for(self.name)
        self._settle()
        # The first broker has accepted this one since it tried the other: see above.
        disconnect_session(core, session, reasons.SESSION_TAKEN_OVER, "", now)
        connection = open_dialled(
            core, self.sink, self.origin, session, V5, KEEP_ALIVE_SECONDS, now
        )
        connection.is_peer = True
        connection.owner = NOBODY
        connection.is_dialled = True
        self.connection = connection
        self.mesh.opened(connection, now)
        resume_session(session, now)
        return connection

    def ping(self) -> None:
        """Keeps the connection alive if nothing else was sent on it; call it every few seconds."""
        connection = self.connection
        if connection is None:
            return
        if connection.outbox.bytes_sent == self._sent:
            connection.outbox.put(b"\xc0\x00")
        self._sent = connection.outbox.bytes_sent


class Unanswered(Timer):
    """Ends an attempt that has not succeeded in time."""

    def __init__(self, dial: Dial) -> None:
        self.dial = dial

    def fire(self, now: float) -> float:
        self.dial.give_up()
        return 0.0


class Collisions:
    """What one broker knows of connections that are neither standing nor given up."""

    __slots__ = ("_name", "_proving")

    def __init__(self, name: str) -> None:
        self._name = name
        self._proving: set[str] = set()  # neighbours that have our proof on a dialled connection

    def begin(self, neighbour: str) -> bool:
        """Whether this broker may prove itself on a connection that it dialled; until `end`, on
        no other to this neighbour."""
        if neighbour in self._proving:
            return False
        self._proving.add(neighbour)
        return True

    def end(self, neighbour: str) -> None:
        """The neighbour has answered, or never will."""
        self._proving.discard(neighbour)

    def refuses(self, neighbour: str, has_dialled: bool) -> bool:
        """Whether one that dialled is sent away; `has_dialled`: a connection to it that was
        dialled here stands."""
        if neighbour < self._name:
            return False
        return has_dialled or neighbour in self._proving
