"""Any graph of links, one tree in use: which links carry what, while the tree changes and after.

*In the tree*: carries everything. *Leaving*: was in the tree; it carries QoS 1 and 2 until all
agree on a tree without it, and then what is left in its queue. *Standby*: carries gossip only, and
is told no interests. *Away*: not connected.

QoS 1 and 2 go over the tree of the last agreement, the present tree, and all between: nothing falls
between two trees, and what comes twice is told by its name. What arrives over a link that is not in
the tree after this broker has given its word (a marker) for it may have been missed by those who
had it before: it goes round to everybody, as a wave. So does what waits for a neighbour that is
away, once somebody who was behind it can be reached in another way.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gossamer.mesh.control_messages import LEAVE, control_packet
from gossamer.mesh.link import Link
from gossamer.mesh.retained_sync import digests_packet, tell_retained
from gossamer.mesh.tree.agreement import Markers, TreeAgreement
from gossamer.mesh.tree.deduplication import Deduplication
from gossamer.mesh.tree.heartbeat import Heartbeat, RoundTrip
from gossamer.mesh.tree.rebroadcast import Behind, Rebroadcast, owes
from gossamer.mesh.tree.seen_messages import SeenMessages
from gossamer.mesh.tree.spanning_tree import TOPOLOGY, Announcements, TreeView
from gossamer.session.resumption import resume_session

if TYPE_CHECKING:
    from gossamer.broker.core import Core
    from gossamer.mesh.mesh import Mesh

_WINDOW: Final = 65_535
# In a large mesh many announcements come together; the tree is computed once for all of them.
MANY_BROKERS: Final = 50
PAUSE_SECONDS: Final = 0.1


class TreeLinks:
    """One broker's links as parts of the mesh's tree."""

    def __init__(self, mesh: Mesh, announcements: Announcements) -> None:
        self.mesh = mesh
        self.core: Core = mesh.core
        self.memory = SeenMessages(self.core.journal, self.core.rooms)
        self.core.hub.namer = self.memory
        self.announcements = announcements
        self.agreement = TreeAgreement()
        self.markers = Markers(mesh, self.agreement)
        self.rebroadcast = Rebroadcast(mesh, self.memory)
        self.behind = Behind(self.core)
        self.deduplication = Deduplication(self)
        self.heartbeat = Heartbeat(self)
        self.changes = 0  # of the tree, as far as this broker's own links are in it
        self.settled_at = 0.0
        self.has_news = True  # of its own links
        self.is_dirty = False  # announcements came that the view does not have
        self._viewed_at = 0.0
        self._is_untidy = True  # something is left to do once settled
        self._held: dict[str, None] = {}  # links in the tree whose queue is sent to others first
        mesh.gossip.handlers[TOPOLOGY] = self._hear_announcement
        self.agreement.adopt(self.announcements.view.digest, [])
        self.core.timers.add(self.core.started_at, self.heartbeat)

    @property
    def view(self) -> TreeView:
        return self.announcements.view

    # Links ----------------------------------------------------------------------------------------

    def opened(self, link: Link, now: float) -> None:
        """A link stands; it is announced when the neighbour has answered once."""
        link.round_trip = RoundTrip()
        link.digests = b""
        self._exclude(link)
        self.rebroadcast.stop(link)
        # Nothing goes out before it is known whether this link is in the tree.
        link.session.window = 0
        link.session.is_awaited = True
        self.heartbeat.measure(link, now)

    def closed(self, link: Link) -> None:
        self._exclude(link)
        self.agreement.unheard(link.name)
        self.has_news = True

    def forget(self, link: Link) -> None:
        """The neighbour will not come back."""
        self._held.pop(link.name, None)
        self.rebroadcast.stop(link)

    def _exclude(self, link: Link) -> None:
        """Not in the tree, or not any more."""
        self._held.pop(link.name, None)
        if link.in_tree:
            link.in_tree = False
            self.changes += 1
        session = link.session
        session.gives_plain = False
        if session.takes_plain:
            session.takes_plain = False
            self.core.routes.all_changed()  # those that are cached have it as a receiver

    def _include(self, link: Link, now: float) -> None:
        """In the tree from now on: it is asked what is wanted behind it."""
        link.in_tree = True
        self.changes += 1
        if not owes(link):
            link.behind = set()
            link.reached = set()
        link.session.gives_plain = True
        self.mesh.neighbour_table.take_up(link)
        self.markers.ask(link)
        link.send([digests_packet(self.core)])
        tell_retained(self.core, link)

    def _release(self, link: Link, now: float) -> None:
        """Its queue goes to the neighbour, once those have it who were left behind."""
        if self.rebroadcast.send_to_others(link, self.view, now):
            self._held.pop(link.name, None)
            self._resume(link, now)
        else:
            self._held[link.name] = None

    def _resume(self, link: Link, now: float) -> None:
        session = link.session
        self.rebroadcast.stop(link)
        if session.window == 0 and session.outbox is not None:
            session.window = _WINDOW
            resume_session(session, now)

    # Turns ----------------------------------------------------------------------------------------

    def adopt(self, now: float) -> None:
        """Announces what is new of the own links, and takes the tree that follows from it all."""
        if self.has_news:
            self._announce(now)
        elif not self.is_dirty or not self._may_look(now):
            return
        self.has_news = False
        self.is_dirty = False
        self._viewed_at = now
        before = self.view
        if self.announcements.refresh():
            if self.agreement.is_settled and not self._is_untidy:
                self.rebroadcast.note_reached(before)
            self._use_view(now)

    def step(self, now: float) -> bool:
        """Sends the markers that are due; if all agree, ends what was for earlier trees. Whether
        that changed what is wanted."""
        for name in list(self._held):
            self._release(self.mesh.by_name[name], now)
        self.markers.send_due(now)
        if not (self._is_untidy and self.agreement.is_settled):
            return False
        self._is_untidy = False
        self.settled_at = now
        self._use_for_all()
        if not self.rebroadcast.send_round(self.view, now):
            self._is_untidy = True
        return self._tidy(now)

    def _announce(self, now: float) -> None:
        costs: dict[str, int] = {}
        for link in self.mesh.by_name.values():
            round_trip = link.round_trip
            if link.connection is not None and round_trip is not None and round_trip.is_measured:
                costs[link.name] = round_trip.announced()
        gossip = self.mesh.gossip
        announcement = self.announcements.announce(gossip.life, costs)
        if announcement:
            gossip.say(TOPOLOGY, announcement, now)

    def _hear_announcement(self, origin: str, body: bytes, now: float) -> None:
        self.announcements.heard(origin, body)
        self.is_dirty = True

    def _may_look(self, now: float) -> bool:
        if self.announcements.known() < MANY_BROKERS:
            return True
        # A clock that was set back must not stop it.
        return not 0.0 <= now - self._viewed_at < PAUSE_SECONDS

    def _use_view(self, now: float) -> None:
        """Links that are in the new tree carry QoS 1 and 2 at once; the others are left later."""
        view = self.view
        neighbours = view.neighbours()
        self.agreement.adopt(view.digest, neighbours)
        self._is_untidy = True
        chosen = set(neighbours)
        returned: list[Link] = []
        for link in self.mesh.by_name.values():
            if link.name not in chosen:
                self._exclude(link)
                continue
            if not link.in_tree:
                self._include(link, now)
                returned.append(link)
            if link.behind is not None:
                link.behind |= view.behind(link.name)
                self.behind.save(link)
        for link in returned:
            self._release(link, now)
        if self.mesh.settings.is_joint:
            self.mesh.reachability.view_changed()

    def _use_for_all(self) -> None:
        """Settled: the links of the tree carry QoS 0 too."""
        for link in self.mesh.by_name.values():
            if link.in_tree and not link.session.takes_plain:
                link.session.takes_plain = True
                self.core.routes.all_changed()

    def _tidy(self, now: float) -> bool:
        """Links that the tree does not have are let go, unless their neighbour cannot be reached:
        what is for it is kept here."""
        has_let_go = False
        for link in self.mesh.by_name.values():
            if link.connection is None:
                link.session.end_awaiting()
            if link.in_tree:
                if not owes(link):
                    link.behind = self.view.behind(link.name)
                    link.reached = set()
                    self.behind.save(link)
                continue
            if link.name not in self.view.tree:
                continue
            if link.is_forwarding:
                self.mesh.neighbour_table.put_down(link)
                link.send([control_packet(LEAVE, b"")])
                has_let_go = True
            self._resume(link, now)
        return has_let_go
