"""The tree that everybody computes alike: a minimum spanning tree of the links both ends announce.

A link costs the larger of what its two ends say, so nobody can make one look cheaper than the other
end finds it. Where costs are the same, names decide. One link that dies changes one link of the
tree, and nothing else.

Every broker floods an announcement of its own links: a version (this broker's life and a counter,
so no two are the same) and its connected neighbours, each with a cost.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

from gossamer.mesh.gossip.item import is_name
from gossamer.wire import reasons
from gossamer.wire.errors import ProtocolError

DIGEST_BYTES = 16
TOPOLOGY: Final = 1  # the kind of gossip that an announcement is
# Links of one broker; a peer that announces more is no broker of ours.
MOST_LINKS: Final = 1_024
# A version is this broker's life, and a counter.
LIFE_BYTES: Final = 10
_VERSION_BYTES: Final = 16


class Announcement:
    """What one broker says of its own links, and a version that no other announcement has."""

    __slots__ = ("costs", "version")

    def __init__(self, version: bytes, costs: dict[str, int]) -> None:
        self.version = version
        self.costs = costs  # by neighbour


class TreeView:
    """What follows from the announcements, for one broker: who is joined to it, and the tree."""

    __slots__ = ("_hops", "digest", "name", "tree")

    def __init__(self, name: str, tree: dict[str, list[str]], digest: bytes) -> None:
        self.name = name
        self.tree = tree  # by member: its neighbours in the tree
        self.digest = digest  # of all members' announcements
        self._hops: dict[str, str] | None = None

    def neighbours(self) -> list[str]:
        return self.tree.get(self.name, [])

    def next_hop(self, name: str) -> str:
        """The neighbour on the way to that broker, "" if there is none."""
        return self._all_hops().get(name, "")

    def behind(self, neighbour: str) -> set[str]:
        """Everybody whom this neighbour leads to."""
        return {name for name, hop in self._all_hops().items() if hop == neighbour}

    def _all_hops(self) -> dict[str, str]:
        hops = self._hops
        if hops is None:
            hops = {}
            for neighbour in self.neighbours():
                hops[neighbour] = neighbour
                waiting = [neighbour]
                while waiting:
                    for name in self.tree[waiting.pop()]:
                        if name != self.name and name not in hops:
                            hops[name] = neighbour
                            waiting.append(name)
            self._hops = hops
        return hops


def view_of(name: str, announcements: dict[str, Announcement]) -> TreeView:
    """The same tree and digest for every broker of the component that has the same announcements,
    in whatever order they came."""
    members = _component(name, announcements)
    edges: list[tuple[int, str, str]] = []
    for one in members:
        costs = announcements[one].costs
        for other, cost in costs.items():
            if one < other and other in members:
                back = announcements[other].costs.get(one)
                if back is not None:
                    edges.append((max(cost, back), one, other))
    edges.sort()
    tree: dict[str, list[str]] = {member: [] for member in members}
    for one, other in _kruskal(members, edges):
        tree[one].append(other)
        tree[other].append(one)
    return TreeView(name, tree, _digest(members, announcements))


def _component(name: str, announcements: dict[str, Announcement]) -> dict[str, None]:
    """Everybody who can be reached over links that both ends announce, sorted."""
    found: set[str] = {name}
    waiting = [name]
    while waiting:
        one = waiting.pop()
        for other in announcements[one].costs:
            if other not in found:
                known = announcements.get(other)
                if known is not None and one in known.costs:
                    found.add(other)
                    waiting.append(other)
    return dict.fromkeys(sorted(found))


def _kruskal(members: dict[str, None], edges: list[tuple[int, str, str]]) -> list[tuple[str, str]]:
    leaders = {member: member for member in members}
    chosen: list[tuple[str, str]] = []
    for _, one, other in edges:
        first = _leader(leaders, one)
        second = _leader(leaders, other)
        if first != second:
            leaders[first] = second
            chosen.append((one, other))
    return chosen


def _leader(leaders: dict[str, str], member: str) -> str:
    leader = member
    while leaders[leader] != leader:
        leader = leaders[leader]
    while leaders[member] != leader:
        following = leaders[member]
        leaders[member] = leader
        member = following
    return leader


def _digest(members: dict[str, None], announcements: dict[str, Announcement]) -> bytes:
    digest = blake2b(digest_size=DIGEST_BYTES)
    for member in members:
        digest.update(member.encode())
        digest.update(b"\0")
        digest.update(announcements[member].version)
    return digest.digest()


class Announcements:
    """Announcements by broker, and the view that follows from them.

    A subclass may know them from elsewhere (`sim/known_links.py`).
    """

    __slots__ = ("_announcements", "_counter", "_name", "view")

    def __init__(self, name: str) -> None:
        self._name = name
        self._counter = 0
        self._announcements = {name: Announcement(b"", {})}
        self.view: TreeView = view_of(name, self._announcements)

    def announce(self, life: int, costs: dict[str, int]) -> bytes:
        """This broker's links are these: what to say to everybody, if anything."""
        self._counter += 1
        counter = self._counter.to_bytes(_VERSION_BYTES - LIFE_BYTES, "big")
        version = life.to_bytes(LIFE_BYTES, "big") + counter
        announcement = Announcement(version, costs)
        self._announcements[self._name] = announcement
        return encode_announcement(announcement)

    def heard(self, origin: str, body: bytes) -> None:
        """ProtocolError if that is no announcement."""
        self._announcements[origin] = decode_announcement(body)

    def refresh(self) -> bool:
        """Computes the view anew; whether it is another one."""
        before = self.view.digest
        self.view = view_of(self._name, self._announcements)
        return self.view.digest != before

    def known(self) -> int:
        """How many brokers were heard of, this one included."""
        return len(self._announcements)


def encode_announcement(announcement: Announcement) -> bytes:
    parts = [announcement.version]
    for name, cost in announcement.costs.items():
        spelled = name.encode()
        parts.append(bytes((cost, len(spelled))))
        parts.append(spelled)
    return b"".join(parts)


def decode_announcement(body: bytes) -> Announcement:
    costs: dict[str, int] = {}
    position = _VERSION_BYTES
    end = len(body)
    while position < end:
        after = position + 2 + (body[position + 1] if position + 1 < end else end)
        if after > end or len(costs) >= MOST_LINKS:
            raise _malformed("is truncated" if after > end else "names too many links")
        try:
            name = str(body[position + 2 : after], "utf-8")
        except UnicodeDecodeError:
            name = ""
        if not is_name(name):
            raise _malformed("names nobody")
        costs[name] = body[position]
        position = after
    if end < _VERSION_BYTES:
        raise _malformed("is truncated")
    return Announcement(body[:_VERSION_BYTES], costs)


def _malformed(what: str) -> ProtocolError:
    return ProtocolError(reasons.MALFORMED_PACKET, f"a neighbour sent an announcement that {what}")
