"""The links of a whole mesh, given to all its brokers, so that none has to announce its own.

In a real mesh every broker floods its links and holds those of all others. In one process that
makes a million announcements of a thousand brokers, and each would compute the same tree. Here it
is computed once. All else is as it ships: links are made and asked, markers show when everybody
uses the tree, interest is advertised. It serves meshes whose links never fail.
"""

from __future__ import annotations

from collections.abc import Iterable

from gossamer.mesh.tree.spanning_tree import Announcement, Announcements, TreeView, view_of


class LinkMap:
    """Pairs of brokers by name, which join all of them; one link costs as much as another."""

    def __init__(self, links: Iterable[tuple[str, str]]) -> None:
        self._announcements: dict[str, Announcement] = {}
        name = ""
        for one, other in links:
            for name, neighbour in ((one, other), (other, one)):
                own = self._announcements.setdefault(name, Announcement(b"", {}))
                own.costs[neighbour] = 0
        self._view = view_of(name, self._announcements) if name else None

    def neighbours(self, name: str) -> int:
        """How many a broker has."""
        own = self._announcements.get(name)
        return 0 if own is None else len(own.costs)

    def view(self, name: str) -> TreeView:
        """As that broker sees it; the tree is the same object for all of them."""
        assert self._view is not None
        return TreeView(name, self._view.tree, self._view.digest)


class KnownLinks(Announcements):
    """One broker's: it uses the tree from the moment that all its own links stand."""

    __slots__ = ("_has_all", "_links")

    def __init__(self, name: str, links: LinkMap) -> None:
        super().__init__(name)
        self._links = links
        self._has_all = False

    def announce(self, life: int, costs: dict[str, int]) -> bytes:
        """Everybody knows it already, so there is nothing to say."""
        self._has_all = len(costs) == self._links.neighbours(self._name) > 0
        return b""

    def refresh(self) -> bool:
        before = self.view.digest
        if self._has_all:
            self.view = self._links.view(self._name)
        return self.view.digest != before
