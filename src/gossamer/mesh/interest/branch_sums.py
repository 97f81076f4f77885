"""What brokers measured of the branches, added up over the whole mesh along the tree: the sizes of
equation 5, and who is interested.

Each neighbour is told the sums of this broker and of all that lies behind its other neighbours. So
every broker learns the sums of the whole mesh, and a link carries a few hundred bytes at a time
however many brokers there are. A link that is lost takes what lies behind it out of the sums; while
the tree changes they may be wrong, and are right again once the news has crossed it.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from gossamer.broker.connection import Connection
from gossamer.broker.timers import Timer
from gossamer.mesh.control_messages import MEASURES, control_packet
from gossamer.mesh.json_fields import list_of, malformed, number_of, read_json, real_of, text_of
from gossamer.mesh.link import Link

if TYPE_CHECKING:
    from gossamer.mesh.mesh import Mesh

# Of all branches these many are told; a mesh with more of them floods none of the rest.
MOST_BRANCHES: Final = 256
# Of a longer name nothing is measured: it would cost more to tell than flooding could save.
LONGEST_NAME: Final = 256  # letters
# What a neighbour may say of those behind it: far more than a mesh has, and fit to be added up.
_MOST_BROKERS: Final = 1_000_000_000
_MOST_BYTES: Final = 1e18
_NONE: Final = "malformed measures"
_DIGITS: Final = 2  # so that what hardly changes is not told again
_WILDCARDS: Final = ("+", "#")
# News are passed on after so many seconds, together with what else came meanwhile.
PAUSE: Final = 0.5


class BranchPart:
    """One branch."""

    __slots__ = ("interested", "published", "subscribed")

    def __init__(self, interested: int, published: float, subscribed: float) -> None:
        self.interested = interested  # brokers, without those that want every branch
        self.published = published  # bytes, fading
        self.subscribed = subscribed

    def weight(self) -> float:
        return self.published + self.subscribed


class BranchSums:
    """Of some brokers."""

    __slots__ = ("branches", "brokers", "everywhere")

    def __init__(self) -> None:
        self.brokers = 0
        self.everywhere = 0  # brokers that want something of every branch
        self.branches: dict[str, BranchPart] = {}

    def add(self, other: BranchSums) -> None:
        self.brokers += other.brokers
        self.everywhere += other.everywhere
        for branch, part in other.branches.items():
            mine = self.branches.get(branch)
            if mine is None:
                self.branches[branch] = BranchPart(part.interested, part.published, part.subscribed)
            else:
                mine.interested += part.interested
                mine.published += part.published
                mine.subscribed += part.subscribed

    def interested(self, branch: str) -> int:
        part = self.branches.get(branch)
        return self.everywhere + (0 if part is None else part.interested)

    def busiest(self, count: int, first: dict[str, None]) -> list[str]:
        """Names of branches: those of `first`, then by weight."""
        ranked = sorted(
            (branch not in first, -part.weight(), branch) for branch, part in self.branches.items()
        )
        return [branch for _, _, branch in ranked[:count]]


def encode(sums: BranchSums, first: dict[str, None]) -> bytes:
    """If there are too many branches, those of `first` are told before others."""
    parts = {}
    for branch in sums.busiest(MOST_BRANCHES, first):
        part = sums.branches[branch]
        parts[branch] = (part.interested, _rounded(part.published), _rounded(part.subscribed))
    return json.dumps([sums.brokers, sums.everywhere, parts], sort_keys=True).encode()


def decode(body: bytes) -> BranchSums:
    """Whatever is wrong with it is the neighbour's error."""
    said = list_of(read_json(body, "measures"), 3, _NONE)
    parts = said[2] if len(said) == 3 else None
    if not isinstance(parts, dict):
        raise malformed(_NONE)
    if len(parts) > MOST_BRANCHES:
        raise malformed("measures of too many branches")
    sums = BranchSums()
    sums.brokers = number_of(said[0], 0, _MOST_BROKERS, _NONE)
    sums.everywhere = number_of(said[1], 0, _MOST_BROKERS, _NONE)
    for name, each in parts.items():
        branch = text_of(name, _NONE)
        if len(branch) > LONGEST_NAME:
            continue  # a neighbour of an earlier version tells those too
        part = list_of(each, 3, _NONE)
        if len(part) != 3:
            raise malformed(_NONE)
        sums.branches[branch] = BranchPart(
            number_of(part[0], 0, _MOST_BROKERS, _NONE),
            real_of(part[1], 0.0, _MOST_BYTES, _NONE),
            real_of(part[2], 0.0, _MOST_BYTES, _NONE),
        )
    return sums


def _rounded(size: float) -> int:
    return int(float(f"{size:.{_DIGITS - 1}e}"))


def branch_of(filter: str) -> str | None:
    """None for a filter that begins with a wildcard: it belongs to no branch."""
    first = filter.split("/", 1)[0]
    return None if first in _WILDCARDS else first


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
