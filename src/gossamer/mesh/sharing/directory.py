"""Which shared groups have members on which broker: every broker knows it of every other.

Brokers keep one entry for each of each other's groups; it travels like a retained message, so the
directory reaches everybody and heals as retained messages do. It says no more than whether
a member is connected, or only one that may come back: a group that is used changes it rarely.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from gossamer.broker.delivery import publish
from gossamer.broker.mesh_port import SHARED_TOPICS
from gossamer.broker.sharing import Group
from gossamer.broker.subscription_tree import Tap
from gossamer.broker.subscriptions import find_group
from gossamer.plus.grammar import is_operator_filter
from gossamer.session.message import Message
from gossamer.session.session import Session
from gossamer.topics.filter_tree import FilterTree, TreeEntry
from gossamer.topics.names import split_share

if TYPE_CHECKING:
    from gossamer.mesh.mesh import Mesh

_PREFIX: Final = SHARED_TOPICS + "groups/"

# What members a broker has.
NONE: Final = 0
AWAY: Final = 1  # only such as are away and may come back
ONLINE: Final = 2


class _Names(TreeEntry):
    """The groups with one filter."""

    def __init__(self, filter: str) -> None:
        super().__init__(filter)
        self.names: dict[str, int] = {}  # to the number of brokers that have members


class GroupDirectory(Tap):
    def __init__(self, mesh: Mesh) -> None:
        self._mesh = mesh
        self._core = mesh.core
        self.elsewhere: dict[str, dict[str, int]] = {}  # group, then broker, to its level
        self.turns: dict[str, int] = {}  # of groups elsewhere: how often one was chosen
        self.changes = 0  # of the groups that there are
        self._told: dict[str, int] = {}  # groups of this broker's own
        self._by_topic: dict[str, str] = {}  # of others' groups
        self._touched: dict[str, None] = {}
        self._tree = FilterTree()
        self._core.routes.add_tap(_PREFIX + "#", self)

    def load(self, now: float) -> None:
        """What the store kept; clients that were connected then are not now."""
        for message in self._core.shared.search(_PREFIX + "#", now):
            self._enter(message.topic, message.payload)
        for name in self._told:
            self._touched[name] = None
        for session in self._core.sessions.values():
            self.presence_changed(session)

    # This broker's own --------------------------------------------------------------------------

    def changed(self, name: str) -> None:
        self._touched[name] = None

    def presence_changed(self, session: Session) -> None:
        for subscription in session.subscriptions.values():
            if subscription.share:
                self._touched[subscription.record.filter] = None

    def own_level(self, name: str) -> int:
        group = find_group(self._core, name)
        return NONE if group is None else level_of(group)

    def end_turn(self, now: float) -> None:
        if not self._touched:
            return
        touched = list(self._touched)
        self._touched.clear()
        for name in touched:
            level = self.own_level(name)
            if level != self._told.get(name, NONE):
                self.changes += 1
                if level:
                    self._told[name] = level
                else:
                    del self._told[name]
                self._tell(_topic(self._mesh.settings.name, name), name, level, now)

    def forget(self, broker: str, now: float) -> None:
        """That broker will not come back."""
        for name, levels in list(self.elsewhere.items()):
            if broker in levels:
                self._tell(_topic(broker, name), name, NONE, now)

    def _tell(self, topic: str, name: str, level: int, now: float) -> None:
        payload = f"{level}{name}".encode() if level else b""
        publish(self._core, Message(topic, payload, 1, True, None, 0.0, "", ""), None, now)

    # Others' ------------------------------------------------------------------------------------

    def matching(self, topic: str) -> list[str]:
        names: list[str] = []
        if self.elsewhere:
            for entry in self._tree.match(topic):
                assert isinstance(entry, _Names)
                names.extend(entry.names)
        return names

    def take(self, message: Message, origin: Session | None, now: float) -> None:
        """News of somebody's group; what is kept decides, since this may be old."""
        kept = self._core.shared.search(message.topic, now)
        self._enter(message.topic, kept[0].payload if kept else b"")

    def _enter(self, topic: str, payload: bytes) -> None:
        broker, _, _ = topic[len(_PREFIX) :].partition("/")
        text = payload.decode("utf-8", "replace")
        level = int(text[0]) if text[:1] in ("1", "2") else NONE
        name = text[1:] if level else self._by_topic.get(topic, "")
        if broker == self._mesh.settings.name:
            if name and level:
                self._told.setdefault(name, level)
        elif name:
            self._set(topic, name, broker, level)

    def filters(self) -> set[str]:
        """What the groups of all brokers read, but for operators' groups."""
        found = {split_share(name)[1] for name in (*self._told, *self.elsewhere)}
        return {filter for filter in found if not is_operator_filter(filter)}

    def _set(self, topic: str, name: str, broker: str, level: int) -> None:
        self.changes += 1
        levels = self.elsewhere.setdefault(name, {})
        was_there = broker in levels
        if level:
            levels[broker] = level
            self._by_topic[topic] = name
        else:
            levels.pop(broker, None)
            self._by_topic.pop(topic, None)
            if not levels:
                del self.elsewhere[name]
                self.turns.pop(name, None)
        filter = split_share(name)[1]
        if was_there != bool(level) and not is_operator_filter(filter):
            self._count(filter, name, 1 if level else -1)

    def _count(self, filter: str, name: str, change: int) -> None:
        entry = self._tree.get(filter)
        if entry is None:
            entry = _Names(filter)
            self._tree.put(entry)
        assert isinstance(entry, _Names)
        count = entry.names.get(name, 0) + change
        if count > 0:
            entry.names[name] = count
        else:
            entry.names.pop(name, None)
            if not entry.names:
                self._tree.remove(filter)
        self._core.routes.changed(filter)


def level_of(group: Group) -> int:
    level = NONE
    for member in group.members:
        if member.session.outbox is not None:
            return ONLINE
        if member.session.persistent:
            level = AWAY
    return level


def _topic(broker: str, name: str) -> str:
    return f"{_PREFIX}{broker}/{blake2b(name.encode(), digest_size=16).hexdigest()}"
