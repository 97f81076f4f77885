"""Which brokers are behind which link, and which of them can be reached now.

The tree says it. What it said last is kept with the store: a message for a broker that is not in
the tree now waits in the queue of the link that led there last, also after a restart.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from gossamer.mesh.link import Link
    from gossamer.mesh.mesh import Mesh

# The room of the store that has who is behind whom, by the neighbours' names.
_ROOM: Final = "mesh/behind"
_UP: Final = "+"
_DOWN: Final = "-"


class Reachability:
    """`changes` grows whenever an answer may be another one."""

    def __init__(self, mesh: Mesh) -> None:
        self._mesh = mesh
        self._behind: dict[str, dict[str, bool]] = {}  # by link: names, and whether it is reached
        self.changes = 0
        for name, names in mesh.core.rooms.pop(_ROOM, {}).items():
            self._behind[name] = _read(names)

    def next_hop(self, name: str) -> Link | None:
        """The link that leads there, connected or not."""
        links = self._mesh.by_name
        hop = self._mesh.tree_links.view.next_hop(name) or name
        if hop in links:
            return links[hop]
        found: Link | None = None
        for link_name, names in self._behind.items():
            if name in names and link_name in links:
                link = links[link_name]
                if names[name] and link.connection is not None:
                    return link
                found = found or link
        return found

    def is_reached(self, name: str) -> bool:
        return name in self._mesh.tree_links.view.tree

    def link_changed(self) -> None:
        """One stands or is gone."""
        self.changes += 1

    def forget(self, name: str) -> None:
        """The neighbour will not come back."""
        if self._behind.pop(name, None) is not None:
            self._mesh.core.journal.drop(_ROOM, name)
        self.changes += 1

    def view_changed(self) -> None:
        """There is another tree; whom it does not have stays behind the link that led there."""
        view = self._mesh.tree_links.view
        for link in self._mesh.by_name:
            behind = self._behind.get(link, {})
            names = {each: False for each in behind if each not in view.tree}
            for each in sorted(view.behind(link)):
                if each != link:
                    names[each] = True
            if link not in self._behind or names != behind:
                self._behind[link] = names
                self._mesh.core.journal.keep(_ROOM, link, _written(names))
        self.changes += 1


def _written(names: dict[str, bool]) -> bytes:
    return "\n".join((_UP if names[name] else _DOWN) + name for name in sorted(names)).encode()


def _read(stored: bytes) -> dict[str, bool]:
    lines = stored.decode("utf-8", "replace").split("\n")
    return {line[1:]: line[0] == _UP for line in lines if len(line) > 1}
