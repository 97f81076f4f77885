"""The neighbours that a broker has: a link each, as long as the neighbour's session lives.

What is between two brokers outlives their connections, and restarts of either: a session holds
what waits for the neighbour, and a record says how far they had come:

    own epoch : the neighbour's epoch : the mode of its interest : forwarding

`forwarding` is "f" while messages for all that is behind the neighbour are queued for it. An epoch
names a life of packet identifiers: a broker that lost its state begins another.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Final

from gossamer.broker.connection import Connection
from gossamer.broker.core import Core
from gossamer.broker.mesh_port import PEER_PREFIX
from gossamer.broker.session_end import end_session
from gossamer.budget.ledger import NOBODY
from gossamer.mesh.control_messages import COMPRESSED, EPOCH, control_packet
from gossamer.mesh.dial import Collisions
from gossamer.mesh.handshake import Introduction
from gossamer.mesh.link import Link
from gossamer.mesh.settings import ENVELOPES, FIRST, NOTHING, PUBLISHERS, RUNS, ZSTD
from gossamer.session.publish_run import LARGEST_RUN_PACKET
from gossamer.session.queue import call_back_runs
from gossamer.session.queue_policy import DROP_NEWEST, NO_BYTES_LIMIT, REFUSE, queue_limits
from gossamer.session.records import SessionRecord
from gossamer.session.session import NEVER, Session
from gossamer.session.subscription import Receiver
from gossamer.wire import reasons
from gossamer.wire.compression import can_compress
from gossamer.wire.errors import ProtocolError

if TYPE_CHECKING:
    from gossamer.mesh.mesh import Mesh

# A neighbour that is away keeps its messages; only the disk bounds how many, and without a store
# memory does.
_MEMORY_BYTES: Final = 1 << 30
_WINDOW: Final = 65_535
_EPOCH_LETTERS: Final = 16  # hexadecimal
# The room of the store that has the notes, by the neighbours' names.
_ROOM: Final = "mesh/neighbours"


class NeighbourTable:
    """Makes links on first sight, and ends them when an operator says so."""

    __slots__ = (
        "_by_name",
        "_can",
        "_core",
        "_mesh",
        "_name",
        "_speaks",
        "collisions",
        "receivers",
    )

    def __init__(self, mesh: Mesh) -> None:
        self._mesh = mesh
        self._core: Core = mesh.core
        self._name = mesh.settings.name
        self._by_name: dict[str, Link] = mesh.by_name
        self.collisions = Collisions(self._name)
        self._speaks: dict[str, int] = {}  # by neighbour, as it last introduced itself
        self._can: dict[str, frozenset[str]] = {}  # likewise, of what this broker has too
        self.receivers: list[Receiver] = []  # of those that get what is for all

    def adopt_restored(self) -> None:
        """Neighbours of before a restart, and the filters of clients that came back with it."""
        for session in list(self._core.sessions.values()):
            if session.client_id.startswith(PEER_PREFIX):
                session.is_peer = True
        self._mesh.advertisements.load()
        self._mesh.advertisements.begin_mode()
        for session in list(self._core.sessions.values()):
            if session.is_peer:
                self._mesh.router.refit(self.link_of(session))

    def link_of(self, session: Session) -> Link:
        """The link of a neighbour's session, made on first sight."""
        name = session.client_id[len(PEER_PREFIX) :]
        link = self._by_name.get(name)
        if link is not None:
            if link.session is session:
                return link
            self._remove(link)
        _unbind(session)
        link = Link(name, session, self._mesh.advertisements.new_advertiser(name, session))
        self._by_name[name] = link
        self._mesh.tree_links.behind.recall(link)
        if self._mesh.neighbour_records.of(name).is_forwarding or session.subscriptions:
            self.take_up(link)
        return link

    def session_for(self, name: str) -> Session:
        """This broker's side of what is between it and that neighbour; made if there is none."""
        core = self._core
        client_id = PEER_PREFIX + name
        session = core.sessions.get(client_id)
        if session is None:
            session = Session(core.hub, SessionRecord(client_id, "$mesh", NEVER))
            core.sessions[client_id] = session
            core.counters.sessions = len(core.sessions)
            core.journal.session_saved(session.record)
        return session

    # Connections ----------------------------------------------------------------------------------

    def refuses(self, name: str) -> str:
        """Why a neighbour that dialled is sent away; "" if it is not."""
        link = self._by_name.get(name)
        has_dialled = link is not None and link.connection is not None and link.is_dialled
        if self.collisions.refuses(name, has_dialled):
            return f"{self._name} has already dialled"
        return ""

    def met(self, peer: Introduction, own: Introduction) -> None:
        """A neighbour has proved who it is; `own` is what it was told of this broker."""
        self._speaks[peer.name] = peer.speaks
        self._can[peer.name] = peer.capabilities & own.capabilities

    def opened(self, connection: Connection, now: float) -> None:
        """Both sides say what they hold; whoever sees a difference tells everything."""
        mesh = self._mesh
        session = connection.session
        assert session is not None
        link = self.link_of(session)
        _unbind(session)
        session.window = _WINDOW
        link.connection = connection
        link.speaks = self._speaks.get(link.name, FIRST)
        link.can = self._can.get(link.name, NOTHING)
        link.advertiser.set_conditional(mesh.advertisements.is_conditional(link))
        if link.speaks < ENVELOPES:
            mesh.router.set_queued_aside(link, now)
        session.takes_runs = (
            RUNS in link.can and connection.outbox.maximum_packet >= LARGEST_RUN_PACKET
        )
        if not session.takes_runs:
            call_back_runs(session)
        link.is_dialled = connection.is_dialled
        if ZSTD in link.can and can_compress():
            connection.outbox.compress(control_packet(COMPRESSED, b""))
        connection.outbox.names = True
        connection.outbox.publishers = PUBLISHERS in link.can
        link.since = now
        link.is_restarting = False
        link.is_compared = False
        link.send([control_packet(EPOCH, self._epoch(session).encode())])
        mesh.gossip.opened(link)
        mesh.tree_links.opened(link, now)

    def closed(self, connection: Connection, now: float) -> None:
        session = connection.session
        assert session is not None
        link = self.link_of(session)
        if link.connection is connection:
            link.lost(now)
            session.owed = None
            self._mesh.tree_links.closed(link)
            self._mesh.reachability.link_changed()

    def _epoch(self, session: Session) -> str:
        name = session.client_id[len(PEER_PREFIX) :]
        note = self._mesh.neighbour_records.of(name)
        if not note.own:
            note.own = secrets.token_hex(_EPOCH_LETTERS // 2)
            self._mesh.neighbour_records.save(name)
        return note.own

    def hear_epoch(self, link: Link, said: bytes) -> None:
        """A neighbour that lost its state numbers its QoS 2 messages anew: old numbers mean
        nothing."""
        session = link.session
        epoch = said[:_EPOCH_LETTERS].decode("ascii", "replace")
        if len(epoch) != _EPOCH_LETTERS or not epoch.isalnum() or not epoch.isascii():
            raise ProtocolError(reasons.MALFORMED_PACKET, f"{link.name} sent a malformed epoch")
        note = self._mesh.neighbour_records.of(link.name)
        if note.theirs == epoch:
            return
        journal = self._core.journal
        for packet_id in list(session.incoming or ()):
            journal.incoming_removed(session.client_id, packet_id)
        session.incoming = None
        for withheld in (session.withheld or {}).values():
            withheld.cancel()
        session.withheld = None
        note.theirs = epoch
        self._mesh.neighbour_records.save(link.name)

    # What is queued for whom ----------------------------------------------------------------------

    def take_up(self, link: Link) -> None:
        """What is wanted behind the neighbour is queued for it from now on."""
        if link.is_forwarding:
            return
        link.is_forwarding = True
        self._list_receivers()
        self._mesh.remote_interest.begin(link)

    def put_down(self, link: Link) -> None:
        """Nothing is queued for the neighbour any more; what it wants is forgotten."""
        link.is_forwarding = False
        self._list_receivers()
        self._mesh.remote_interest.end(link)

    def forget(self, name: str, now: float) -> bool:
        """The neighbour will not come back: frees what is kept for it."""
        link = self._by_name.get(name)
        if link is None:
            return False
        if link.connection is not None:
            link.connection.fail(reasons.ADMINISTRATIVE_ACTION, "forgotten", now)
        link.session.end_awaiting()
        end_session(self._core, link.session, now)
        self._remove(link)
        self._speaks.pop(name, None)
        self._can.pop(name, None)
        self._mesh.reachability.forget(name)
        self._mesh.directory.forget(name, now)
        self._mesh.windows.forget(name, now)
        return True

    def _remove(self, link: Link) -> None:
        del self._by_name[link.name]
        self._mesh.tree_links.forget(link)
        self._list_receivers()
        self._mesh.remote_interest.forget(link)

    def _list_receivers(self) -> None:
        links = self._by_name.values()
        self.receivers = [each.receiver for each in links if each.is_forwarding]


def _unbind(session: Session) -> None:
    """A neighbour's session, and not a client's: no limit of a client's applies."""
    session.is_peer = True
    session.owner = NOBODY
    # What cannot be kept for a neighbour is not taken from a publisher either; without a store
    # nobody relies on it.
    policy = REFUSE if session.hub.journal.spills else DROP_NEWEST
    session.bound(queue_limits(0, NO_BYTES_LIMIT, _MEMORY_BYTES, policy))


class NeighbourRecord:
    """What is remembered of one neighbour."""

    __slots__ = ("is_forwarding", "mode", "own", "theirs")

    def __init__(self, text: str) -> None:
        parts = [*text.split(":"), "", "", "", ""]
        self.own = parts[0]
        self.theirs = parts[1]
        self.mode = parts[2]
        self.is_forwarding = parts[3] == "f"

    def text(self) -> str:
        text = f"{self.own}:{self.theirs}:{self.mode}"
        return text + ":f" if self.is_forwarding else text


class NeighbourRecords:
    """Of all neighbours; whoever changes one saves it."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._saved: dict[str, str] = {}
        self._notes: dict[str, NeighbourRecord] = {}
        for name, text in core.rooms.pop(_ROOM, {}).items():
            self._saved[name] = text.decode("utf-8", "replace")
            self._notes[name] = NeighbourRecord(self._saved[name])

    def of(self, name: str) -> NeighbourRecord:
        note = self._notes.get(name)
        if note is None:
            note = NeighbourRecord("")
            self._notes[name] = note
        return note

    def save(self, name: str) -> None:
        text = self.of(name).text()
        if self._saved.get(name) != text:
            self._saved[name] = text
            self._core.journal.keep(_ROOM, name, text.encode())

    def forget(self, name: str) -> None:
        """With the neighbour's session."""
        self._notes.pop(name, None)
        if self._saved.pop(name, None) is not None:
            self._core.journal.drop(_ROOM, name)
