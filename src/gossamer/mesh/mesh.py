"""The mesh as one broker sees it: what the core tells, and which part of the room it goes to."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.broker.connection import Connection
from gossamer.broker.core import Core
from gossamer.broker.entering import Login
from gossamer.broker.neighbours import LOCAL_TOPICS, NEW, PEER_PREFIX, Neighbours
from gossamer.broker.operation import OperatorSubscription
from gossamer.broker.policy import Exchange, Origin
from gossamer.broker.stamps import Stamp, stamp_of, with_stamp
from gossamer.mesh.handshake import Accepting, introduce
from gossamer.mesh.link import Link
from gossamer.mesh.listening import listen
from gossamer.mesh.modes.bloom import Summaries
from gossamer.mesh.modes.choosing import Choosing
from gossamer.mesh.modes.hearing import Hearing
from gossamer.mesh.modes.switching import Switching
from gossamer.mesh.modes.telling import Telling
from gossamer.mesh.neighbourhood import Neighbourhood
from gossamer.mesh.note import Notes
from gossamer.mesh.overview import Overview
from gossamer.mesh.relay.errands import Errands
from gossamer.mesh.relay.flooding import Flooding
from gossamer.mesh.relay.reaching import Reaching
from gossamer.mesh.roaming.roaming import Roaming
from gossamer.mesh.settings import GRAPH, MeshSettings
from gossamer.mesh.sharing.directory import GroupDirectory
from gossamer.mesh.sharing.joint import KIND as SHARE
from gossamer.mesh.sharing.joint import JointSharing, Shared
from gossamer.mesh.tree.fabric import Fabric
from gossamer.session.message import Message
from gossamer.session.session import Session
from gossamer.session.subscription import Receiver, Subscription

if TYPE_CHECKING:
    from gossamer.mesh.stock.stocks import Stocks


class Mesh(Neighbours):
    """Attach it to a broker's core before the first connection."""

    def __init__(self, core: Core, settings: MeshSettings) -> None:
        self.core: Core = core
        self.settings: MeshSettings = settings
        self.by_name: dict[str, Link] = {}
        self.notes: Notes = Notes(core)
        self.summaries: Summaries = Summaries(f"{settings.mesh}\0{settings.key}".encode())
        self.flooding: Flooding = Flooding(core, settings.name, self.by_name)
        self.telling: Telling = Telling(self)
        self.hearing = Hearing(self)
        self.neighbourhood = Neighbourhood(self)
        self.stocks: Stocks | None = None  # brokers of other makes, if any are configured
        self._last_micros = max(core.retained.latest_stamp(), core.shared.latest_stamp())
        core.neighbours = self
        self._stamp_kept()
        self.reaching = Reaching(self)
        self.errands = Errands(self)
        self.directory = GroupDirectory(self)
        self.overview = Overview(self)
        self.roaming = Roaming(self)
        self._roams = settings.is_joint and settings.roaming_seconds > 0.0
        if settings.is_joint:
            sharing = JointSharing(self)
            self.errands.handlers[SHARE] = Shared(self, sharing)
            core.routes.sharing = sharing
            core.routes.changes += 1
        self.fabric: Fabric | None = Fabric(self) if settings.topology == GRAPH else None
        self.choosing = Choosing(self)
        self.switching = Switching(self)
        self._load(core.started_at)

    def _stamp_kept(self) -> None:
        """Kept before there were neighbours: as old as can be, so that news of others win."""
        retained = self.core.retained
        for message in retained.unstamped_messages():
            if not message.topic.startswith(LOCAL_TOPICS):
                retained.keep(message, with_stamp(message, Stamp(0, self.settings.name)))

    def _load(self, now: float) -> None:
        """What an earlier life left."""
        self.switching.load(now)
        self.neighbourhood.adopt_restored()
        if self.settings.is_joint:
            self.directory.load(now)
        if self._roams:
            self.roaming.load(now)

    # What is wanted here --------------------------------------------------------------------------

    def wanted(self, filter: str, by: Session) -> None:
        if self.stocks is not None:
            self.stocks.wanted(filter, by)
        self.choosing.wanted(filter, by)
        self.telling.wanted(filter, by)

    def unwanted(self, filter: str, by: Session) -> None:
        if self.stocks is not None:
            self.stocks.unwanted(filter, by)
        self.choosing.unwanted(filter, by)
        self.telling.unwanted(filter, by)

    def needs(self, subscription: Subscription) -> tuple[str, ...]:
        """A shared message is sent to the one broker that is to have it."""
        is_drawn = subscription.share and not isinstance(subscription, OperatorSubscription)
        return () if is_drawn and self.settings.is_joint else subscription.reads()

    def needed_by(self, session: Session) -> list[str]:
        return [
            read
            for subscription in session.subscriptions.values()
            for read in self.needs(subscription)
        ]

    # Clients --------------------------------------------------------------------------------------

    def group_changed(self, name: str) -> None:
        if self.settings.is_joint:
            self.directory.changed(name)

    def presence_changed(self, session: Session) -> None:
        if self.settings.is_joint and not session.is_peer:
            self.directory.presence_changed(session)
            if session.outlet is None:
                self.roaming.presence.left(session.client_id)

    def refuses_client(self, client_id: str, user: str, now: float) -> bool:
        return self._roams and self.roaming.refuses(client_id, user, now)

    def has_room(self, client_id: str, now: float) -> bool:
        if not self._roams or not self.core.ledger.mesh.is_full():
            return True
        return self.roaming.claims.find(client_id, now) is not None

    def fetches(self, login: Login, now: float) -> bool:
        return self._roams and self.roaming.fetches(login, now)

    def entered(self, login: Login, session: Session, now: float) -> None:
        if self._roams:
            self.roaming.entered(login, session, now)

    def ended(self, session: Session, now: float) -> None:
        if session.is_peer:
            self.notes.forget(session.client_id[len(PEER_PREFIX) :])
        if self._roams and not session.is_peer:
            self.roaming.ended(session, now)

    # Neighbours -----------------------------------------------------------------------------------

    def begin_exchange(self, origin: Origin) -> Exchange | None:
        own = introduce(self.settings)
        return Accepting(self.settings, own, origin.certificate_user, self.neighbourhood.met)

    def refuses(self, name: str) -> str:
        return self.neighbourhood.refuses(name)

    def opened(self, connection: Connection, now: float) -> None:
        self.neighbourhood.opened(connection, now)

    def closed(self, connection: Connection, now: float) -> None:
        self.neighbourhood.closed(connection, now)

    def control(self, connection: Connection, payload: bytes, now: float) -> None:
        session = connection.session
        assert session is not None
        listen(self, self.neighbourhood.link_of(session), payload, now)

    def refused(self, connection: Connection, reason: int, now: float) -> None:
        session = connection.session
        assert session is not None
        self.errands.refused(self.neighbourhood.link_of(session).name, reason, now)

    def marker(self, connection: Connection, payload: bytes, now: float) -> None:
        session = connection.session
        assert session is not None
        if self.fabric is not None:
            self.fabric.markers.heard(self.neighbourhood.link_of(session), payload)

    # Messages -------------------------------------------------------------------------------------

    def links(self) -> list[Receiver]:
        return self.neighbourhood.receivers

    def check_errand(self, message: Message) -> None:
        self.errands.check(message)

    def errand(self, session: Session, message: Message, is_wave: bool, now: float) -> None:
        self.errands.arrived(message, self.neighbourhood.link_of(session), is_wave, now)

    def admit(self, by: Session, message: Message, now: float) -> int:
        fabric = self.fabric
        if fabric is None:
            return NEW
        return fabric.admission.admit(self.neighbourhood.link_of(by), message, now)

    def stamped(self, message: Message, now: float) -> Message:
        """Stamps what was published here; what came from a neighbour has its stamp already."""
        stamp = stamp_of(message)
        if stamp is not None:
            self.saw_micros(stamp.micros)
            if not message.name:
                message.name = self.core.hub.namer.name(message.qos)
            return message
        stamped = with_stamp(message, Stamp(self.next_micros(now), self.settings.name))
        stamped.name = self.core.hub.namer.name(message.qos)
        return stamped

    def next_micros(self, now: float) -> int:
        """Never the same twice, and after all that was seen, whatever the clock does."""
        self._last_micros = max(self._last_micros + 1, int(self.core.common_time(now) * 1e6))
        return self._last_micros

    def saw_micros(self, micros: int) -> None:
        self._last_micros = max(self._last_micros, micros)

    # Turns ----------------------------------------------------------------------------------------

    def end_turn(self, now: float) -> None:
        self.switching.end_turn()
        self.flooding.begin_end(now)
        if self.fabric is not None:
            self.fabric.adopt(now)
        if self.settings.is_joint:
            self.roaming.end_turn(now)
            self.reaching.end_turn()
            self.errands.end_turn(now)
            self.directory.end_turn(now)
        if self.stocks is not None:
            self.stocks.end_turn(now)
        self.telling.end_turn(now)
        if self.fabric is not None and self.fabric.step(now):
            self.telling.end_turn(now)
        self.flooding.end_turn()
