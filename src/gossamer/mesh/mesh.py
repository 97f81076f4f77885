"""The mesh as one broker sees it: its neighbours, what they want, what they were told."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Final

from gossamer.bloom.errors import SummaryError
from gossamer.bloom.summary import RemoteSummary
from gossamer.broker.connection import Connection
from gossamer.broker.core import Core
from gossamer.broker.ending import end_session
from gossamer.broker.entering import Login
from gossamer.broker.neighbours import LOCAL_TOPICS, NEW, PEER_PREFIX, Neighbours
from gossamer.broker.operation import OperatorSubscription
from gossamer.broker.policy import Exchange, Origin
from gossamer.broker.revoking import remove_subscription
from gossamer.broker.stamps import Stamp, stamp_of, with_stamp
from gossamer.mesh import control
from gossamer.mesh.handshake import Accepting, introduce
from gossamer.mesh.link import Link
from gossamer.mesh.modes import hearing
from gossamer.mesh.modes.auto import AutoTeller
from gossamer.mesh.modes.bloom import Summaries
from gossamer.mesh.modes.by_name import teller_for
from gossamer.mesh.modes.choosing import Choosing
from gossamer.mesh.modes.switching import Switching
from gossamer.mesh.modes.teller import ANYTHING, Teller
from gossamer.mesh.note import Note
from gossamer.mesh.overview import Overview
from gossamer.mesh.relay.errands import Errands
from gossamer.mesh.relay.flooding import Flooding
from gossamer.mesh.relay.reaching import Reaching
from gossamer.mesh.retaining import digests_packet, missing_there
from gossamer.mesh.roaming.roaming import Roaming
from gossamer.mesh.settings import GRAPH, WITHOUT_FILTERS, MeshSettings
from gossamer.mesh.sharing.directory import GroupDirectory
from gossamer.mesh.sharing.joint import KIND as SHARE
from gossamer.mesh.sharing.joint import JointSharing, Shared
from gossamer.mesh.tree.fabric import Fabric
from gossamer.session.backlog import NO_BYTES_LIMIT
from gossamer.session.message import Message
from gossamer.session.records import SessionRecord
from gossamer.session.session import NEVER, Session
from gossamer.session.subscription import Receiver, Subscription
from gossamer.wire import reasons
from gossamer.wire.errors import ProtocolError

if TYPE_CHECKING:
    from gossamer.mesh.stock.stocks import Stocks

_SUMMARY: Final = b"s"  # no digest of filters looks like this
# A neighbour that is away keeps its messages; only the disk bounds how many.
_UNBOUNDED: Final = 1 << 60


class Mesh(Neighbours):
    """Attach it to a broker's core before the first connection."""

    def __init__(self, core: Core, settings: MeshSettings) -> None:
        self.core = core
        self.settings = settings
        self.summaries = Summaries(f"{settings.mesh}\0{settings.key}".encode())
        self.by_name: dict[str, Link] = {}
        self.flooding = Flooding(core, settings.name, self.by_name)
        self.stocks: Stocks | None = None  # brokers of other makes, if any are configured
        self._receivers: list[Receiver] = []
        self._changed = False
        self._last_micros = core.retained.latest_stamp()
        core.neighbours = self
        for message in core.retained.unstamped_messages():
            # Kept before there were neighbours: as old as can be, so that news of others win.
            if not message.topic.startswith(LOCAL_TOPICS):
                core.retained.keep(message, with_stamp(message, Stamp(0, settings.name)))
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
        self.fabric = Fabric(self) if settings.topology == GRAPH else None
        self.choosing = Choosing(self)
        self.switching = Switching(self)
        self.switching.load(core.started_at)
        self._is_summing = settings.mode == "bloom"  # whether wishes are entered into summaries
        self._adopt_restored()
        if settings.is_joint:
            self.directory.load(core.started_at)
        if self._roams:
            self.roaming.load(core.started_at)

    # What the core tells ------------------------------------------------------------------------

    def wanted(self, filter: str, by: Session) -> None:
        if self.stocks is not None:
            self.stocks.wanted(filter, by)
        self.choosing.wanted(filter, by)
        if self._is_summing:
            self.summaries.add(filter)
        for link in self.by_name.values():
            if link.session is not by:
                link.teller.add(filter)
        self._changed = True

    def unwanted(self, filter: str, by: Session) -> None:
        if self.stocks is not None:
            self.stocks.unwanted(filter, by)
        self.choosing.unwanted(filter, by)
        if self._is_summing:
            self.summaries.remove(filter)
        for link in self.by_name.values():
            if link.session is not by:
                link.teller.remove(filter)
        self._changed = True

    def needs(self, subscription: Subscription) -> tuple[str, ...]:
        """A shared message is sent to the one broker that is to have it."""
        is_drawn = subscription.share and not isinstance(subscription, OperatorSubscription)
        return () if is_drawn and self.settings.is_joint else subscription.reads()

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

    def fetches(self, login: Login, now: float) -> bool:
        return self._roams and self.roaming.fetches(login, now)

    def entered(self, login: Login, session: Session, now: float) -> None:
        if self._roams:
            self.roaming.entered(login, session, now)

    def ended(self, session: Session, now: float) -> None:
        if self._roams and not session.is_peer:
            self.roaming.ended(session, now)

    def errand(self, session: Session, message: Message, is_wave: bool, now: float) -> None:
        self.errands.arrived(message, self.link_of(session), is_wave, now)

    def begin_exchange(self, origin: Origin) -> Exchange | None:
        own = introduce(self.settings)
        return Accepting(self.settings, own, origin.certificate_user)

    def opened(self, connection: Connection, now: float) -> None:
        """Both sides say what they hold; whoever sees a difference tells everything."""
        session = connection.session
        assert session is not None
        link = self.link_of(session)
        session.is_peer = True
        session.queue_limit = _UNBOUNDED
        session.queue_bytes_limit = NO_BYTES_LIMIT
        session.window = 65_535
        link.connection = connection
        link.is_dialled = connection.is_dialled
        connection.outlet.names = True
        link.since = now
        link.is_restarting = False
        link.is_compared = False
        link.send([control.control_packet(control.EPOCH, self._epoch(session).encode())])
        if self.fabric is not None:
            self.flooding.opened(link)
            self.fabric.opened(link, now)
            return
        link.send([control.control_packet(control.HOLD, self.held_digest(link))])
        self.reaching.link_changed(link.name)
        link.send([digests_packet(self.core.retained)])
        self.flooding.opened(link)

    def closed(self, connection: Connection, now: float) -> None:
        session = connection.session
        assert session is not None
        link = self.link_of(session)
        if link.connection is connection:
            link.lost(now)
            if self.fabric is not None:
                self.fabric.closed(link)
            self.reaching.link_changed(link.name)

    def control(self, connection: Connection, payload: bytes, now: float) -> None:
        session = connection.session
        assert session is not None
        link = self.link_of(session)
        link.heard(payload)
        kind = payload[0] if payload else 0
        if kind in control.INTERESTS and not link.is_forwarding:
            return  # told before it was heard that they are not wanted any more
        if kind == control.ADD:
            for filter in hearing.hear_added(self.core, link, payload):
                self._heard_again(filter, link)
        elif kind == control.REMOVE:
            hearing.hear_removed(self.core, link, payload)
        elif kind == control.HOLD:
            self._hear_hold(link, payload)
        elif kind == control.RESTART:
            hearing.hear_restart(link)
        elif kind == control.COMPLETE:
            hearing.hear_complete(self.core, link)
            self._is_complete(link)
        elif kind == control.SUMMARY:
            self._hear_summary(link, payload[1:])
        elif kind == control.ALL:
            self._hear_all(link)
        elif kind == control.EPOCH:
            hearing.hear_epoch(self.core, link, payload[1:17].decode("ascii", "replace"))
        elif kind == control.REACH:
            self.reaching.hear(link, payload[1:])
        elif kind == control.RETAINED:
            missing = missing_there(self.core.retained, payload[1:])
            session.enqueue_retained(missing, link.receiver, now)
        elif kind == control.MEASURES:
            self.choosing.gathering.hear(link, payload[1:], now)
        elif kind == control.FLOOD:
            self.flooding.hear(link, payload, now)
        elif kind == control.FLOOD_DIGEST:
            self.flooding.hear_digest(link, payload)
        elif kind == control.FLOOD_LIST:
            self.flooding.hear_list(link, payload)
        elif self.fabric is not None and kind == control.PING:
            self.fabric.ping(link, payload)
        elif self.fabric is not None and kind == control.PONG:
            self.fabric.pong(link, payload, now)
        elif self.fabric is not None and kind == control.LEAVE:
            link.is_compared = False
        else:
            raise ProtocolError(
                reasons.PROTOCOL_ERROR, f"{link.name} sent a control message of kind {kind}"
            )

    def _hear_hold(self, link: Link, payload: bytes) -> None:
        """The neighbour wants to know what is wanted here, and says what it holds of it."""
        held = payload[1:] if self.fabric is None else self.fabric.asked(link, payload)
        link.is_compared = True
        link.teller.set_blind(self.is_blind_for(link))
        # Deltas of a summary may have been lost with the connection: it always starts over.
        if self.settings.mode != "bloom" and held == link.teller.digest():
            link.teller.agreed()
        else:
            link.send(link.teller.everything())

    def marker(self, connection: Connection, payload: bytes, now: float) -> None:
        session = connection.session
        assert session is not None
        if self.fabric is not None:
            self.fabric.marker(self.link_of(session), payload)

    def admit(self, by: Session, message: Message, now: float) -> int:
        fabric = self.fabric
        return NEW if fabric is None else fabric.admit(self.link_of(by), message, now)

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
        self._last_micros = max(self._last_micros + 1, int(now * 1e6))
        return self._last_micros

    def saw_micros(self, micros: int) -> None:
        self._last_micros = max(self._last_micros, micros)

    def links(self) -> list[Receiver]:
        return self._receivers

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
        self._tell_changes(now)
        if self.fabric is not None and self.fabric.step(now):
            self._tell_changes(now)
        self.flooding.end_turn()

    def _tell_changes(self, now: float) -> None:
        if not self._changed:
            return
        self._changed = False
        for link in self.by_name.values():
            connection = link.connection
            link.is_deferred = False
            if connection is None or not link.is_compared:
                continue
            if connection.outlet.blocked or not link.may_tell(now):
                self._changed = True  # it is told it all later
                link.is_deferred = True
            else:
                link.teller.set_blind(self.is_blind_for(link))
                link.tell(link.teller.changes(), now)

    def is_blind_for(self, link: Link) -> bool:
        """Whether another neighbour has not said in filters what it wants."""
        return any(view is not link.view for view in self.core.routes.peers)

    def switch(self, mode: str) -> None:
        """What is wanted here is told in another form from now on."""
        self.settings.mode = mode
        self._begin_mode()
        for link in self.by_name.values():
            link.teller = self._new_teller(link)
            if link.connection is not None and link.is_compared:
                link.teller.set_blind(self.is_blind_for(link))
                link.send(link.teller.everything())

    def chosen(self, branch: str, is_flooded: bool) -> None:
        """Mode `auto` tells a branch in the other way from now on."""
        for link in self.by_name.values():
            if isinstance(link.teller, AutoTeller):
                link.teller.choose(branch, is_flooded)
        self._changed = True

    def _begin_mode(self) -> None:
        if self.settings.mode == "auto":
            self.choosing.start()
        else:
            self.choosing.stop()
        self._is_summing = self.settings.mode == "bloom"
        filters: list[str] = []
        if self._is_summing:
            for session in self.core.sessions.values():
                filters += self.needed_by(session)
        self.summaries.restart(filters)

    def _new_teller(self, link: Link) -> Teller:
        teller = teller_for(self, link.name)
        teller.interests = link.teller.interests
        self._inform(teller, link.session)
        return teller

    def _inform(self, teller: Teller, session: Session) -> None:
        """Of what everybody but the neighbour itself wants."""
        if self.settings.mode not in WITHOUT_FILTERS:
            for other in self.core.sessions.values():
                if other is not session:
                    for read in self.needed_by(other):
                        teller.add(read)

    def needed_by(self, session: Session) -> list[str]:
        return [
            read
            for subscription in session.subscriptions.values()
            for read in self.needs(subscription)
        ]

    def _heard_again(self, filter: str, by: Link) -> None:
        """In a tree that all agree on only: in any other graph repetitions would go round for
        ever, and they tell nothing that is not known."""
        fabric = self.fabric
        if fabric is not None and not (by.in_tree and fabric.settling.is_settled):
            return
        for link in self.by_name.values():
            if link is not by and (fabric is None or link.in_tree):
                link.teller.again(filter)
        self._changed = True

    # Neighbours ---------------------------------------------------------------------------------

    def link_of(self, session: Session) -> Link:
        """The link of a neighbour's session, made on first sight."""
        name = session.client_id[len(PEER_PREFIX) :]
        link = self.by_name.get(name)
        if link is not None:
            if link.session is not session:
                self._forget_link(link)
            else:
                return link
        session.is_peer = True
        session.queue_limit = _UNBOUNDED
        session.queue_bytes_limit = NO_BYTES_LIMIT
        teller = teller_for(self, name)
        self._inform(teller, session)
        link = Link(name, session, teller)
        self.by_name[name] = link
        is_known = Note(session.record.note).is_forwarding or len(session.subscriptions) > 0
        if self.fabric is None or is_known:
            self.take_up(link)
        return link

    def take_up(self, link: Link) -> None:
        """What is wanted behind the neighbour is queued for it from now on."""
        if link.is_forwarding:
            return
        link.is_forwarding = True
        session = link.session
        self._receivers = [each.receiver for each in self.by_name.values() if each.is_forwarding]
        told_in = Note(session.record.note).mode or self.settings.mode
        if told_in in WITHOUT_FILTERS:
            # Until it has spoken a neighbour may want anything.
            self._hear_all(link)
        self._note(link)

    def put_down(self, link: Link) -> None:
        """Nothing is queued for the neighbour any more; what it wants is forgotten."""
        link.is_forwarding = False
        session = link.session
        self._receivers = [each.receiver for each in self.by_name.values() if each.is_forwarding]
        self.summaries.forget(link.name)
        self._see_no_more(link)
        for filter in list(session.subscriptions):
            remove_subscription(self.core, session, filter)
        self._changed = True
        self._note(link)

    def held_digest(self, link: Link) -> bytes:
        """Of the picture that we hold, in whatever form."""
        if link.view.takes_all:
            return ANYTHING
        return _SUMMARY if link.view.summary is not None else hearing.held_digest(link)

    def session_for(self, name: str) -> Session:
        """This broker's side of what is between it and that neighbour; made if there is none."""
        client_id = PEER_PREFIX + name
        session = self.core.sessions.get(client_id)
        if session is None:
            session = Session(self.core.hub, SessionRecord(client_id, "$mesh", NEVER), _UNBOUNDED)
            self.core.sessions[client_id] = session
            self.core.counters.sessions = len(self.core.sessions)
            self.core.journal.session_saved(session.record)
        return session

    def refuses(self, name: str) -> str:
        """Two brokers that dial each other keep the connection of the one whose name is first."""
        link = self.by_name.get(name)
        if link is None or link.connection is None or not link.is_dialled:
            return ""
        return "" if name < self.settings.name else f"{self.settings.name} has dialled already"

    def _epoch(self, session: Session) -> str:
        note = Note(session.record.note)
        if not note.own:
            note.own = secrets.token_hex(8)
            session.record.note = note.text()
            self.core.journal.session_saved(session.record)
        return note.own

    def forget(self, name: str, now: float) -> bool:
        """The neighbour will not come back: frees what is kept for it."""
        link = self.by_name.get(name)
        if link is None:
            return False
        if link.connection is not None:
            link.connection.fail(reasons.ADMINISTRATIVE_ACTION, "forgotten", now)
        end_session(self.core, link.session, now)
        self._forget_link(link)
        self.reaching.forget(name)
        self.directory.forget(name, now)
        return True

    def held(self, link: Link) -> int:
        """How many interests of the neighbour's this broker holds; set bits in mode `bloom`."""
        summary = self.summaries.remote.get(link.name)
        bits = None if summary is None else summary.bits()
        return len(link.session.subscriptions) if bits is None else int(bits.ones())

    def _hear_all(self, link: Link) -> None:
        """The neighbour gets everything, until it has said what it wants."""
        self.summaries.expect(link.name)
        self._set_view(link, True, None)

    def _is_complete(self, link: Link) -> None:
        """All its filters are known."""
        self.summaries.forget(link.name)
        self._see_no_more(link)
        self._note(link)
        self._changed = True

    def _see_no_more(self, link: Link) -> None:
        """No view decides what the neighbour gets."""
        link.view.takes_all = False
        link.view.summary = None
        if link.view in self.core.routes.peers:
            self.core.routes.peers.remove(link.view)
            self.core.routes.changes += 1

    def _note(self, link: Link) -> None:
        """In the neighbour's record: the mode of its interests, and whether it is queued for."""
        session = link.session
        note = Note(session.record.note)
        note.is_forwarding = link.is_forwarding and self.fabric is not None
        note.mode = form_of(link) if link.is_forwarding else ""
        if note.text() != session.record.note:
            session.record.note = note.text()
            self.core.journal.session_saved(session.record)

    def _forget_link(self, link: Link) -> None:
        del self.by_name[link.name]
        self.summaries.forget(link.name)
        self._receivers = [each.receiver for each in self.by_name.values() if each.is_forwarding]
        if link.view in self.core.routes.peers:
            self.core.routes.peers.remove(link.view)
            self.core.routes.changes += 1

    def _adopt_restored(self) -> None:
        """Neighbours of before a restart, and the filters of clients that came back with it."""
        for session in list(self.core.sessions.values()):
            if session.client_id.startswith(PEER_PREFIX):
                session.is_peer = True
        self._begin_mode()
        for session in list(self.core.sessions.values()):
            if session.is_peer:
                self.link_of(session)

    def _hear_summary(self, link: Link, data: bytes) -> None:
        summary = self.summaries.remote.get(link.name)
        if summary is None:
            summary = RemoteSummary(self.summaries.hasher)
        try:
            summary.apply(data)
        except SummaryError as error:
            if self.fabric is not None and link.name not in self.summaries.remote:
                return  # the change of one that was forgotten; all of it is on its way
            raise ProtocolError(
                reasons.PROTOCOL_ERROR, f"{link.name} sent a summary that is none: {error}"
            ) from None
        self.summaries.heard(link.name, summary)
        self._set_view(link, False, summary)

    def _set_view(self, link: Link, takes_all: bool, summary: RemoteSummary | None) -> None:
        """The neighbour does not name filters, and those that it named are void."""
        link.view.takes_all = takes_all
        link.view.summary = summary
        link.is_restarting = False
        if link.view not in self.core.routes.peers:
            self.core.routes.peers.append(link.view)
        self.core.routes.changes += 1
        for filter in list(link.session.subscriptions):
            remove_subscription(self.core, link.session, filter)
        self._note(link)
        self._changed = True


def form_of(link: Link) -> str:
    """The mode in whose form the neighbour has said what it wants."""
    if link.view.takes_all:
        return "pf"
    return "ssf" if link.view.summary is None else "bloom"
