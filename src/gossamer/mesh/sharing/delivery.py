"""One member of a shared group gets a message, wherever in the mesh it is connected.

The broker where the message enters decides: a member of its own that is connected, else a broker
that has one, each in turn, else one with a member that will come back. The message goes to that
broker as a directed message, beside what plain subscriptions bring there; so filters of shared
subscriptions are told to nobody, and what comes from a neighbour is for no group. Where a directed
message finds no member any more, that broker decides anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gossamer.broker.geofences import without_place
from gossamer.broker.sharing import Group, Sharing, give_to_member
from gossamer.broker.subscriptions import find_group
from gossamer.mesh.directed.message import DirectedMessage, Fields
from gossamer.mesh.directed.router import DirectedHandler
from gossamer.mesh.json_fields import malformed
from gossamer.mesh.link import Link
from gossamer.mesh.sharing.directory import AWAY, ONLINE
from gossamer.session.message import Message
from gossamer.session.session import Session

if TYPE_CHECKING:
    from gossamer.mesh.mesh import Mesh

KIND: Final = "share"
# Brokers that may look for a member, one after the other, before the group counts as empty.
_MOST_VISITS: Final = 16
_MOST_NAMED: Final = 1_000  # of those, by a neighbour that allows more


class MeshSharing(Sharing):
    def __init__(self, mesh: Mesh) -> None:
        self._mesh = mesh
        self._core = mesh.core

    def distant(self, topic: str) -> list[str]:
        return self._mesh.directory.matching(topic)

    def share(
        self,
        message: Message,
        groups: list[Group],
        distant: list[str],
        origin: Session | None,
        now: float,
    ) -> None:
        if origin is not None and origin.is_peer:
            return  # where it was published, it was shared
        names: set[str] = set()
        for group in groups:
            names.add(group.name)
            self.assign(group.name, group, message, [], now)
        for name in distant:
            if name not in names:
                self.assign(name, None, message, [], now)

    def hand_on(self, name: str, group: Group | None, message: Message, now: float) -> None:
        self.assign(name, group, message, [], now)

    def leads(self, name: str) -> bool:
        """The first by name of those that have a member connected, or at least one."""
        own = self._mesh.settings.name
        levels = {own: self._mesh.directory.own_level(name)}
        for broker, level in self._mesh.directory.elsewhere.get(name, {}).items():
            if self._mesh.reachability.is_reached(broker):
                levels[broker] = level
        best = max(levels.values())
        return own == min(broker for broker, level in levels.items() if level == best)

    def assign(
        self, name: str, group: Group | None, message: Message, visited: list[str], now: float
    ) -> None:
        """Gives it to a member here, or sends it to a broker that has one."""
        member = None if group is None else group.choose(message, now)
        if member is not None and member.session.outbox is not None:
            give_to_member(name, member, message, now)
            return
        others = self._others(name, visited)
        if others and others[0][0] == ONLINE and self._send(others, name, message, visited, now):
            return
        if member is not None:
            give_to_member(name, member, message, now)
        elif others and not self._send(others, name, message, visited, now):
            broker = others[0][1]
            self._mesh.router.put_aside(DirectedMessage(KIND, broker, {}, message), broker, now)

    def _others(self, name: str, visited: list[str]) -> list[tuple[int, str]]:
        """Who else has members, the best first: whom we reach before others, those who have one
        connected before those who have one away, and those not asked yet before those who were."""
        levels = self._mesh.directory.elsewhere.get(name)
        if not levels or len(visited) >= _MOST_VISITS:
            return []
        reaching = self._mesh.reachability
        turns = self._mesh.directory.turns
        ranked: dict[tuple[bool, bool, int], list[str]] = {}
        for broker, level in levels.items():
            if reaching.next_hop(broker) is not None:
                rank = (broker in visited, not reaching.is_reached(broker), -level)
                ranked.setdefault(rank, []).append(broker)
        found: list[tuple[int, str]] = []
        for rank in sorted(ranked):
            brokers = ranked[rank]
            first = turns.get(name, 0) % len(brokers)
            is_certain = not rank[0] and not rank[1]
            level = -rank[2] if is_certain else min(AWAY, -rank[2])
            found += [(level, broker) for broker in brokers[first:] + brokers[:first]]
        turns[name] = turns.get(name, 0) + 1
        return found

    def _send(
        self,
        others: list[tuple[int, str]],
        name: str,
        message: Message,
        visited: list[str],
        now: float,
    ) -> bool:
        fields: Fields = {"group": name, "visited": [*visited, self._mesh.settings.name]}
        for _, broker in others:
            if self._mesh.router.send(
                DirectedMessage(KIND, broker, fields, message), message.qos, now
            ):
                return True
        return False


class SharedHandler(DirectedHandler):
    """A message for a group of which somebody thinks that it has a member here."""

    def __init__(self, mesh: Mesh, sharing: MeshSharing) -> None:
        self._mesh = mesh
        self._sharing = sharing

    def check(self, directed: DirectedMessage) -> None:
        directed.text("group")
        directed.texts("visited", _MOST_NAMED)
        if not directed.message.topic:
            raise malformed("a shared message without a topic")

    def run(self, directed: DirectedMessage, origin: Link, now: float) -> None:
        core = self._mesh.core
        name = directed.text("group")
        group = find_group(core, name)
        message = directed.message
        if (
            group is not None
            and core.permissions.guards_positions
            and not all(core.locations.may_see(each.session, message) for each in group.members)
        ):
            message = without_place(message)
        self._sharing.assign(name, group, message, directed.texts("visited", _MOST_NAMED), now)
