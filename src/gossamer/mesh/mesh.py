"""The mesh as one broker sees it: what the core reports, and which part of the room it goes to.

Control messages of neighbours are dispatched here too. One that nobody expects is an error of the
neighbour's, and ends its connection.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.broker.connection import Connection
from gossamer.broker.core import Core
from gossamer.broker.geofences import LocatedSubscription
from gossamer.broker.mesh_port import LOCAL_TOPICS, PEER_PREFIX, MeshPort
from gossamer.broker.operator_subscriptions import Operation, OperatorSubscription
from gossamer.broker.policy import Exchange, Origin
from gossamer.broker.retained_stamps import Stamp, stamp_of, with_stamp
from gossamer.broker.session_start import AcceptedLogin
from gossamer.mesh import control_messages as control
from gossamer.mesh.aggregates.windows import MeshWindows
from gossamer.mesh.directed.reachability import Reachability
from gossamer.mesh.directed.router import DirectedRouter
from gossamer.mesh.gossip.gossip import Gossip
from gossamer.mesh.handshake import Accepting, introduce
from gossamer.mesh.interest.advertisement_schedule import Advertisements
from gossamer.mesh.interest.auto import AutoChoice
from gossamer.mesh.interest.bloom import Summaries
from gossamer.mesh.interest.mode_switch import ModeSwitch
from gossamer.mesh.interest.needs import Needs
from gossamer.mesh.interest.remote import RemoteInterest
from gossamer.mesh.link import Link
from gossamer.mesh.neighbour_table import NeighbourRecords, NeighbourTable
from gossamer.mesh.overview import Overview
from gossamer.mesh.retained_sync import check_digests, serve, tell_retained
from gossamer.mesh.roaming.roaming import Roaming
from gossamer.mesh.settings import MeshSettings
from gossamer.mesh.sharing.delivery import KIND as SHARE
from gossamer.mesh.sharing.delivery import MeshSharing, SharedHandler
from gossamer.mesh.sharing.directory import GroupDirectory
from gossamer.mesh.tree.spanning_tree import Announcements
from gossamer.mesh.tree.tree_links import TreeLinks
from gossamer.session.message import Message
from gossamer.session.session import Session
from gossamer.session.subscription import Receiver, Subscription
from gossamer.wire import reasons
from gossamer.wire.compression import can_compress
from gossamer.wire.errors import ProtocolError

if TYPE_CHECKING:
    from gossamer.mesh.bridges.bridges import Bridges
    from gossamer.plus.counted_windows import CountedWindows
    from gossamer.plus.entered_values import EnteredValues


class Mesh(MeshPort):
    """Attach it to a broker's core before the first connection."""

    def __init__(
        self, core: Core, settings: MeshSettings, announcements: Announcements | None = None
    ) -> None:
        self.core: Core = core
        self.settings: MeshSettings = settings
        self.by_name: dict[str, Link] = {}
        self.neighbour_records: NeighbourRecords = NeighbourRecords(core)
        self.summaries: Summaries = Summaries(f"{settings.mesh}\0{settings.key}".encode())
        self.gossip: Gossip = Gossip(core, settings.name, self.by_name)
        self.advertisements: Advertisements = Advertisements(self)
        self.remote_interest = RemoteInterest(self)
        self.neighbour_table = NeighbourTable(self)
        self.bridges: Bridges | None = None  # brokers of other makes, if any are configured
        self._last_micros = max(core.retained.latest_stamp(), core.shared.latest_stamp())
        self._needs = Needs(self)
        core.join_mesh(self)
        self._stamp_kept()
        self.reachability = Reachability(self)
        self.router = DirectedRouter(self)
        self.directory = GroupDirectory(self)
        self.overview = Overview(self)
        self.roaming = Roaming(self)
        self._roams = settings.is_joint and settings.roaming_seconds > 0.0
        if settings.is_joint:
            sharing = MeshSharing(self)
            self.router.handlers[SHARE] = SharedHandler(self, sharing)
            core.routes.set_sharing(sharing)
        if announcements is None:
            announcements = Announcements(settings.name)
        self.tree_links = TreeLinks(self, announcements)
        self.auto = AutoChoice(self)
        self.mode_switch = ModeSwitch(self)
        self.windows = MeshWindows(self)
        self._load(core.started_at)

    def _stamp_kept(self) -> None:
        """Kept before there were neighbours: as old as can be, so that news of others win."""
        retained = self.core.retained
        for message in retained.unstamped_messages():
            if not message.topic.startswith(LOCAL_TOPICS):
                retained.keep(message, with_stamp(message, Stamp(0, self.settings.name)))

    def _load(self, now: float) -> None:
        """What an earlier life left."""
        self.mode_switch.load(now)
        if self.windows.is_on():
            self.windows.load(now)
        self.neighbour_table.adopt_restored()
        if self.settings.is_joint:
            self.directory.load(now)
        if self._roams:
            self.roaming.load(now)

    # What is wanted here --------------------------------------------------------------------------

    def wanted(self, filter: str, by: Session) -> None:
        if self.bridges is not None:
            self.bridges.wanted(filter, by)
        self.auto.wanted(filter, by)
        self.advertisements.wanted(filter, by)

    def unwanted(self, filter: str, by: Session) -> None:
        if self.bridges is not None:
            self.bridges.unwanted(filter, by)
        self.auto.unwanted(filter, by)
        self.advertisements.unwanted(filter, by)

    def unsubscribed(self, session: Session, filter: str) -> None:
        if self._roams and not session.is_peer:
            self.roaming.unsubscribed(session, filter)

    def needs(self, subscription: Subscription) -> tuple[str, ...]:
        """A shared message is sent to the one broker that is to have it."""
        is_drawn = subscription.share and not isinstance(subscription, OperatorSubscription)
        if is_drawn and self.settings.is_joint:
            return ()
        if isinstance(subscription, OperatorSubscription) and not subscription.operation.draws:
            return ()  # every broker counts its own part of it
        return self._needs.of(subscription)

    def moved(self, subscription: LocatedSubscription, now: float) -> None:
        self._needs.moved(subscription, now)

    def areas_changed(self, subscription: LocatedSubscription) -> None:
        self._needs.look_again(subscription)

    def rights_changed(self) -> None:
        self._needs.rights_changed()

    def needed_by(self, session: Session) -> list[str]:
        return [
            read
            for subscription in session.subscriptions.values()
            for read in self.needs(subscription)
        ]

    def operation_opened(self, operation: Operation, now: float) -> None:
        if self.windows.is_on():
            self.windows.opened(operation, now)

    def counted(self, state: CountedWindows, now: float) -> None:
        self.windows.counted(state, now)

    def noted(self, state: EnteredValues, now: float) -> None:
        self.windows.values.noted(state, now)

    def operation_closed(self, operation: Operation) -> None:
        self.windows.closed(operation)

    def clock_set(self, now: float) -> None:
        self.windows.clock_set(now)

    # Clients --------------------------------------------------------------------------------------

    def group_changed(self, name: str) -> None:
        if self.settings.is_joint:
            self.directory.changed(name)

    def presence_changed(self, session: Session) -> None:
        if self.settings.is_joint and not session.is_peer:
            self.directory.presence_changed(session)
            if session.outbox is None:
                self.roaming.presence.left(session.client_id)

    def refuses_client(self, client_id: str, user: str, now: float) -> bool:
        return self._roams and self.roaming.refuses(client_id, user, now)

    def has_room(self, client_id: str, now: float) -> bool:
        if not self._roams or not self.core.ledger.mesh.is_full():
            return True
        return self.roaming.claims.find(client_id, now) is not None

    def fetches(self, login: AcceptedLogin, now: float) -> bool:
        return self._roams and self.roaming.fetches(login, now)

    def entered(self, login: AcceptedLogin, session: Session, now: float) -> None:
        if self._roams:
            self.roaming.entered(login, session, now)

    def ended(self, session: Session, now: float) -> None:
        if session.is_peer:
            name = session.client_id[len(PEER_PREFIX) :]
            self.neighbour_records.forget(name)
            self.core.judgements.pop(session.client_id, None)
            self.tree_links.behind.forget(name)
        if self._roams and not session.is_peer:
            self.roaming.ended(session, now)

    # Neighbours -----------------------------------------------------------------------------------

    def begin_exchange(self, origin: Origin) -> Exchange | None:
        own = introduce(self.settings, can_compress())
        met = self.neighbour_table.met
        return Accepting(self.settings, own, origin.certificate_user, lambda peer: met(peer, own))

    def refuses(self, name: str) -> str:
        return self.neighbour_table.refuses(name)

    def opened(self, connection: Connection, now: float) -> None:
        self.neighbour_table.opened(connection, now)

    def closed(self, connection: Connection, now: float) -> None:
        self.neighbour_table.closed(connection, now)

    def control(self, connection: Connection, payload: bytes, now: float) -> None:
        session = connection.session
        assert session is not None
        listen(self, self.neighbour_table.link_of(session), payload, now)

    def refused(self, connection: Connection, packet_id: int, reason: int, now: float) -> None:
        session = connection.session
        assert session is not None
        delivery = session.inflight.get(packet_id)
        message = None if delivery is None else delivery.message
        self.router.refused(self.neighbour_table.link_of(session), message, reason, now)

    def set_aside(self, connection: Connection, what: str, now: float) -> None:
        session = connection.session
        assert session is not None
        self.router.refuse(self.neighbour_table.link_of(session).name, what, now)

    def serve_owed(self, session: Session, now: float) -> None:
        serve(self.core, self.neighbour_table.link_of(session), now)

    def marker(self, connection: Connection, payload: bytes, now: float) -> None:
        session = connection.session
        assert session is not None
        self.tree_links.markers.heard(self.neighbour_table.link_of(session), payload)

    # Messages -------------------------------------------------------------------------------------

    def links(self) -> list[Receiver]:
        return self.neighbour_table.receivers

    def check_directed(self, message: Message) -> None:
        self.router.check(message)

    def directed(
        self, session: Session, message: Message, is_rebroadcast: bool, now: float
    ) -> None:
        self.router.arrived(message, self.neighbour_table.link_of(session), is_rebroadcast, now)

    def admit(self, by: Session, message: Message, now: float) -> tuple[int, Message]:
        return self.tree_links.deduplication.admit(self.neighbour_table.link_of(by), message, now)

    def admit_run(self, by: Session, message: Message, now: float) -> int:
        return self.tree_links.deduplication.admit_run(
            self.neighbour_table.link_of(by), message, now
        )

    def stamped(self, message: Message, now: float) -> Message:
        """Stamps what was published here; what came from a neighbour has its stamp already."""
        stamp = stamp_of(message)
        if stamp is not None:
            self.saw_micros(stamp.micros)
            message.be_named(self.core.hub.namer)
            return message
        stamp = Stamp(self.next_micros(now), self.settings.name)
        return with_stamp(message, stamp, self.core.hub.namer.name(message.qos))

    def next_micros(self, now: float) -> int:
        """Never the same twice, and after all that was seen, whatever the clock does."""
        self._last_micros = max(self._last_micros + 1, int(self.core.common_time(now) * 1e6))
        return self._last_micros

    def saw_micros(self, micros: int) -> None:
        self._last_micros = max(self._last_micros, micros)

    # Turns ----------------------------------------------------------------------------------------

    def end_turn(self, now: float) -> None:
        self.mode_switch.end_turn()
        self.gossip.begin_end(now)
        self.tree_links.adopt(now)
        if self.settings.is_joint:
            self.roaming.end_turn(now)
            self.router.end_turn(now)
            self.directory.end_turn(now)
            if self.windows.is_on():
                self.windows.end_turn(now)
        if self.bridges is not None:
            self.bridges.end_turn(now)
        self.advertisements.end_turn(now)
        if self.tree_links.step(now):
            self.advertisements.end_turn(now)
        self.gossip.end_turn()


def listen(mesh: Mesh, link: Link, payload: bytes, now: float) -> None:
    link.heard(payload)
    kind = payload[0] if payload else 0
    if kind in control.INTERESTS:
        mesh.remote_interest.hear(link, payload)
    elif kind == control.HOLD:
        mesh.advertisements.answer(link, mesh.tree_links.markers.asked(link, payload))
    elif kind == control.EPOCH:
        mesh.neighbour_table.hear_epoch(link, payload[1:])
    elif kind == control.RETAINED:
        check_digests(payload[1:])
        link.digests = payload[1:]
        if link.is_forwarding:
            tell_retained(mesh.core, link)
    elif kind == control.MEASURES:
        mesh.auto.gathering.hear(link, payload[1:], now)
    elif kind == control.FLOOD:
        mesh.gossip.hear(link, payload, now)
    elif kind == control.FLOOD_DIGEST:
        mesh.gossip.hear_digest(link, payload)
    elif kind == control.FLOOD_LIST:
        mesh.gossip.hear_list(link, payload)
    elif kind == control.PING:
        mesh.tree_links.heartbeat.ping(link, payload)
    elif kind == control.PONG:
        mesh.tree_links.heartbeat.pong(link, payload, now)
    elif kind == control.COMPRESSED:
        _begin_inflating(link)
    elif kind == control.LEAVE:
        link.is_compared = False
    else:
        raise ProtocolError(
            reasons.PROTOCOL_ERROR, f"{link.name} sent a control message of kind {kind}"
        )


def _begin_inflating(link: Link) -> None:
    """It may, if this broker has ever said that it can be sent such bytes."""
    connection = link.connection
    if connection is None or not can_compress():
        raise ProtocolError(reasons.PROTOCOL_ERROR, f"{link.name} compresses, and nobody asked")
    connection.begin_inflating()
