"""The tree that everybody computes alike: a minimum spanning tree of the links both ends announce.

A link costs the larger of what its two ends say, so nobody can make one look cheaper than the other
end finds it. Where costs are the same, names decide. One link that dies changes one link of the
tree, and nothing else.
"""

from __future__ import annotations

from hashlib import blake2b

DIGEST_BYTES = 16


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

    def root(self) -> str:
        """For people: something to call the tree by."""
        return min(self.tree)

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
