"""Sums over the whole mesh, gathered along the tree.

Each neighbour is told the sums of this broker and of all that lies behind its other neighbours. So
every broker learns the sums of the whole mesh, and a link carries a few hundred bytes at a time
however many brokers there are. A link that is lost takes what lies behind it out of the sums; while
the tree changes they may be wrong, and are right again once the news has crossed it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gossamer.broker.connection import Connection
from gossamer.broker.timers import Timer
from gossamer.mesh.control_messages import MEASURES, control_packet
from gossamer.mesh.interest.branch_sums import BranchSums, decode, encode
from gossamer.mesh.link import Link

if TYPE_CHECKING:
    from gossamer.mesh.mesh import Mesh

# News are passed on after so many seconds, together with what else came meanwhile.
PAUSE: Final = 0.5


class _SentSums:
    """What a neighbour was told last, and on which connection."""

    __slots__ = ("body", "connection")

    def __init__(self, body: bytes, connection: Connection) -> None:
        self.body = body
        self.connection = connection


class TreeSums:
    """One broker's part in it. It passes on what it hears in any mode."""

    def __init__(self, mesh: Mesh) -> None:
        self.own = BranchSums()
        self.own.brokers = 1
        self.known: dict[str, None] = {}  # branches that matter to the whole mesh
        self._mesh = mesh
        self._heard: dict[str, tuple[Connection | None, BranchSums]] = {}
        self._told: dict[str, _SentSums] = {}
        self._is_due = False

    def hear(self, link: Link, body: bytes, now: float) -> None:
        self._heard[link.name] = (link.connection, decode(body))
        self.tell_soon(now)

    def total(self) -> BranchSums:
        """Of the whole mesh, as far as it is known here."""
        return self._without("")

    def tell_soon(self, now: float) -> None:
        if not self._is_due:
            self._is_due = True
            self._mesh.core.timers.add(now + PAUSE, _SumsTimer(self))

    def tell(self) -> None:
        """Whoever knows it otherwise."""
        self._is_due = False
        for link in self._mesh.by_name.values():
            connection = link.connection
            if connection is None or not link.is_forwarding:
                continue
            body = encode(self._without(link.name), self.known)
            told = self._told.get(link.name)
            if told is None or told.connection is not connection or told.body != body:
                self._told[link.name] = _SentSums(body, connection)
                link.send([control_packet(MEASURES, body)])

    def _without(self, name: str) -> BranchSums:
        """What this broker and all but one of its neighbours have measured; drops what lies behind
        links that are gone."""
        sums = BranchSums()
        sums.add(self.own)
        for heard, (connection, behind) in list(self._heard.items()):
            link = self._mesh.by_name.get(heard)
            if link is None or link.connection is not connection or not link.is_forwarding:
                del self._heard[heard]
            elif heard != name:
                sums.add(behind)
        return sums


class _SumsTimer(Timer):
    def __init__(self, gathering: TreeSums) -> None:
        self._gathering = gathering

    def fire(self, now: float) -> float:
        self._gathering.tell()
        return 0.0
