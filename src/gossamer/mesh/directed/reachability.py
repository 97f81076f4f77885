"""Which brokers are behind which link, and which of them can be reached now.

Neighbours on a tree tell each other whom they reach by their other links. What was heard is kept
with the store: a message for a broker waits in the queue of the link that led there last, also
after a restart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gossamer.mesh.control_messages import REACH, control_packet
from gossamer.wire import reasons
from gossamer.wire.errors import ProtocolError

if TYPE_CHECKING:
    from gossamer.mesh.link import Link
    from gossamer.mesh.mesh import Mesh

# The room of the store that has who is behind whom, by the neighbours' names.
_ROOM: Final = "mesh/behind"
# Brokers of one mesh; a neighbour that invents names cannot fill the memory.
_MOST_BROKERS: Final = 10_000
_UP: Final = "+"
_DOWN: Final = "-"


class Reachability:
    """Changes are told at the end of the turn."""

    def __init__(self, mesh: Mesh) -> None:
        self._mesh = mesh
        self._behind: dict[str, dict[str, bool]] = {}  # by link: names, and whether it is reached
        self._told: dict[str, str] = {}
        self._changed = True
        self.changes = 0
        for name, names in mesh.core.rooms.pop(_ROOM, {}).items():
            self._behind[name] = _read(names)

    def next_hop(self, name: str) -> Link | None:
        """The link that leads there, connected or not."""
        links = self._mesh.by_name
        tree_links = self._mesh.tree_links
        if tree_links is not None:
            hop = tree_links.view.next_hop(name)
            if hop:
                return links.get(hop)
        if name in links:
            return links[name]
        found: Link | None = None
        for link_name, names in self._behind.items():
            if name in names and link_name in links:
                link = links[link_name]
                if names[name] and link.connection is not None:
                    return link
                found = found or link
        return found

    def is_reached(self, name: str) -> bool:
        tree_links = self._mesh.tree_links
        if tree_links is not None:
            return name in tree_links.view.tree
        link = self.next_hop(name)
        if link is None or link.connection is None:
            return False
        return link.name == name or self._behind[link.name][name]

    def known(self) -> list[str]:
        """Every other broker that was ever heard of and not forgotten."""
        names: dict[str, None] = dict.fromkeys(self._mesh.by_name)
        for behind in self._behind.values():
            names.update(dict.fromkeys(behind))
        names.pop(self._mesh.settings.name, None)
        return list(names)

    def link_changed(self, name: str) -> None:
        """It stands or is gone: either way the neighbour is told everything when it stands."""
        self._told.pop(name, None)
        self._touch()

    def forget(self, name: str) -> None:
        """The neighbour will not come back."""
        if self._behind.pop(name, None) is not None:
            self._mesh.core.journal.drop(_ROOM, name)
        self.link_changed(name)

    def hear(self, link: Link, body: bytes) -> None:
        heard = _read(body)
        heard.pop(self._mesh.settings.name, None)
        self._set(link.name, heard)

    def view_changed(self) -> None:
        """The mesh keeps a tree: it says who is behind which link."""
        tree_links = self._mesh.tree_links
        assert tree_links is not None
        reached = tree_links.view.tree
        for name in self._mesh.by_name:
            names = {each: False for each in self._behind.get(name, {}) if each not in reached}
            for each in sorted(tree_links.view.behind(name)):
                if each != name:
                    names[each] = True
            self._set(name, names)
        self._touch()

    def _set(self, link: str, names: dict[str, bool]) -> None:
        if self._behind.get(link) == names:
            return
        self._behind[link] = names
        self._mesh.core.journal.keep(_ROOM, link, _written(names))
        self._touch()

    def end_turn(self) -> None:
        if not self._changed or self._mesh.tree_links is not None:
            return
        self._changed = False
        for link in self._mesh.by_name.values():
            if link.connection is None:
                continue
            names = _written(self._reached_without(link))
            if self._told.get(link.name) != names.decode():
                self._told[link.name] = names.decode()
                link.send([control_packet(REACH, names)])

    def _reached_without(self, asking: Link) -> dict[str, bool]:
        names: dict[str, bool] = {}
        for link in self._mesh.by_name.values():
            if link is asking:
                continue
            is_up = link.connection is not None
            names[link.name] = is_up
            for name, is_reached in self._behind.get(link.name, {}).items():
                if name != asking.name:
                    names[name] = (is_up and is_reached) or names.get(name, False)
        return names

    def _touch(self) -> None:
        self._changed = True
        self.changes += 1


def _written(names: dict[str, bool]) -> bytes:
    return "\n".join((_UP if names[name] else _DOWN) + name for name in sorted(names)).encode()


def _read(body: bytes) -> dict[str, bool]:
    names: dict[str, bool] = {}
    try:
        lines = body.decode().split("\n") if body else []
    except UnicodeDecodeError:
        lines = [""]
    for line in lines:
        if line[:1] not in (_UP, _DOWN) or len(line) < 2 or len(lines) > _MOST_BROKERS:
            raise ProtocolError(reasons.MALFORMED_PACKET, "a neighbour sent malformed broker names")
        names[line[1:]] = line[0] == _UP
    return names
