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

from typing import TYPE_CHECKING, Final

from gossamer.mesh.control import LEAVE, control_packet
from gossamer.mesh.link import Link
from gossamer.mesh.retaining import digests_packet
from gossamer.mesh.tree.admission import Admission
from gossamer.mesh.tree.graph import View
from gossamer.mesh.tree.heartbeat import Heartbeat
from gossamer.mesh.tree.markers import Markers
from gossamer.mesh.tree.memory import Memory
from gossamer.mesh.tree.pulse import Pulse
from gossamer.mesh.tree.settling import Settling
from gossamer.mesh.tree.topology import TOPOLOGY, Topology
from gossamer.mesh.tree.waves import Waves, waits

if TYPE_CHECKING:
    from gossamer.broker.core import Core
    from gossamer.mesh.mesh import Mesh

_WINDOW: Final = 65_535
# In a large mesh many announcements come together; the tree is computed once for all of them.
MANY_BROKERS: Final = 50
PAUSE_SECONDS: Final = 0.1


class Fabric:
    """One broker's links as parts of the mesh's tree."""

    def __init__(self, mesh: Mesh) -> None:
        self.mesh = mesh
        self.core: Core = mesh.core
        self.memory = Memory(self.core.journal, self.core.rooms)
        self.core.hub.namer = self.memory
        self.topology = Topology(mesh.settings.name)
        self.settling = Settling()
        self.markers = Markers(mesh, self.settling)
        self.waves = Waves(mesh, self.memory)
        self.admission = Admission(self)
        self.heartbeat = Heartbeat(self)
        self.changes = 0  # of the tree, as far as this broker's own links are in it
        self.settled_at = 0.0
        self.has_news = True  # of its own links
        self.is_dirty = False  # announcements came that the view does not have
        self._viewed_at = 0.0
        self._is_untidy = True  # something is left to do once settled
        mesh.flooding.handlers[TOPOLOGY] = self._hear_announcement
        self.settling.adopt(self.topology.view.digest, [])
        self.core.agenda.add(self.core.started_at, self.heartbeat)

    @property
    def view(self) -> View:
        return self.topology.view

    # Links ----------------------------------------------------------------------------------------

    def opened(self, link: Link, now: float) -> None:
        """A link stands; it is announced when the neighbour has answered once."""
        link.pulse = Pulse()
        self._exclude(link)
        # Nothing goes out before it is known whether this link is in the tree.
        link.session.window = 0
        self.heartbeat.ask(link, now)

    def closed(self, link: Link) -> None:
        self._exclude(link)
        self.settling.unheard(link.name)
        self.has_news = True

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
        if not waits(link):
            link.behind = set()
            link.reached = set()
        link.session.gives_plain = True
        self.mesh.neighbourhood.take_up(link)
        self.markers.ask(link)
        link.send([digests_packet(self.core)])
        self._resume(link, now)

    def _resume(self, link: Link, now: float) -> None:
        session = link.session
        if session.window == 0 and session.outlet is not None:
            session.window = _WINDOW
            session.resume(now)

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
        if self.topology.refresh():
            self._use_view(now)

    def step(self, now: float) -> bool:
        """Sends the markers that are due; if all agree, ends what was for earlier trees. Whether
        that changed what is wanted."""
        self.markers.send_due(now)
        if not (self._is_untidy and self.settling.is_settled):
            return False
        self._is_untidy = False
        self.settled_at = now
        self._use_for_all()
        if not self.waves.send_round(self.view, now):
            self._is_untidy = True
        return self._tidy(now)

    def _announce(self, now: float) -> None:
        costs: dict[str, int] = {}
        for link in self.mesh.by_name.values():
            pulse = link.pulse
            if link.connection is not None and pulse is not None and pulse.is_measured:
                costs[link.name] = pulse.cost
        flooding = self.mesh.flooding
        flooding.say(TOPOLOGY, self.topology.announce(flooding.life, costs), now)

    def _hear_announcement(self, origin: str, body: bytes, now: float) -> None:
        self.topology.heard(origin, body)
        self.is_dirty = True

    def _may_look(self, now: float) -> bool:
        if self.topology.known() < MANY_BROKERS:
            return True
        return not 0.0 <= now - self._viewed_at < PAUSE_SECONDS

    def _use_view(self, now: float) -> None:
        """Links that are in the new tree carry QoS 1 and 2 at once; the others are left later."""
        view = self.view
        neighbours = view.neighbours()
        self.settling.adopt(view.digest, neighbours)
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
        for link in returned:
            self.waves.send_to_others(link, view, now)
        if self.mesh.settings.is_joint:
            self.mesh.reaching.view_changed()

    def _use_for_all(self) -> None:
        """Settled: the links of the tree carry QoS 0 too."""
        for link in self.mesh.by_name.values():
            if link.in_tree and not link.session.takes_plain:
                link.session.takes_plain = True
                self.core.routes.changes += 1

    def _tidy(self, now: float) -> bool:
        """Links that the tree does not have are let go, unless their neighbour cannot be reached:
        what is for it is kept here."""
        has_let_go = False
        for link in self.mesh.by_name.values():
            if link.in_tree:
                if not waits(link):
                    link.behind = self.view.behind(link.name)
                    link.reached = set()
                continue
            if link.name not in self.view.tree:
                continue
            if link.is_forwarding:
                self.mesh.neighbourhood.put_down(link)
                link.send([control_packet(LEAVE, b"")])
                has_let_go = True
            self._resume(link, now)
        return has_let_go
