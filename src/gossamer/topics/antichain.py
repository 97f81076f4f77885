"""Filters of which none contains another, searched both ways: for a container, for the contained.

Patterns that start with `$` must be kept in an antichain of their own: then a wildcard covers every
level it meets, also the first. Both searches walk a tree of patterns; where a set is built to make
that walk long, they give it up and ask which levels occur where instead.
"""

from typing import Final

from gossamer.topics.containment import END, covers, pattern
from gossamer.topics.postings import Postings

FEW: Final = 64  # Testing so few candidates one by one is cheaper than intersecting bits.
PATIENCE: Final = 128  # Steps of a walk that cost about as much as intersecting bits instead.
SIGNATURE_BITS: Final = 61  # Prime, and small enough for a compiled integer to need no object.


class Member:
    """A filter that may lie in an antichain, under a number while it does."""

    __slots__ = ("filter", "number", "signature")

    def __init__(self, filter: str) -> None:
        self.filter = filter
        self.number = -1
        self.signature = 0


class Antichain:
    """The members and two indexes of them: a tree of their symbols, and postings.

    A node of the tree is a dict from symbol to the node below, or to the member itself where it is
    the only one there: most members cost one item, however many levels they have.
    """

    def __init__(self) -> None:
        self._root: dict[str, object] = {}
        self._postings = Postings()
        self._members: list[Member | None] = []
        self._free: list[int] = []

    def members(self) -> list[Member]:
        return [member for member in self._members if member is not None]

    def put(self, member: Member, symbols: list[str]) -> None:
        """Add a member, whose pattern is `symbols`, that no other contains or is contained in."""
        if self._free:
            member.number = self._free.pop()
            self._members[member.number] = member
        else:
            member.number = len(self._members)
            self._members.append(member)
        member.signature = signature_of(symbols)
        self._postings.add(member.number, symbols)
        node = self._root
        at = 0
        while True:
            symbol = symbols[at]
            below = node.get(symbol)
            if below is None:
                node[symbol] = member
                return
            at += 1
            if isinstance(below, Member):
                deeper: dict[str, object] = {pattern(below.filter)[at]: below}
                node[symbol] = deeper
                node = deeper
            else:
                assert isinstance(below, dict)
                node = below

    def take(self, member: Member, symbols: list[str]) -> None:
        """Remove a member."""
        self._members[member.number] = None
        self._free.append(member.number)
        self._postings.discard(member.number, symbols)
        member.number = -1
        node = self._root
        path = [node]
        at = 0
        while True:
            below = node[symbols[at]]
            if isinstance(below, Member):
                break
            assert isinstance(below, dict)
            node = below
            path.append(node)
            at += 1
        del node[symbols[at]]
        while len(path) > 1 and len(node) < 2:
            only = next(iter(node.values()), None)
            if isinstance(only, dict):
                return
            path.pop()
            at -= 1
            node = path[-1]
            if only is None:
                del node[symbols[at]]
            else:
                node[symbols[at]] = only

    def container(self, symbols: list[str]) -> Member | None:
        """A member that covers the pattern, if one does."""
        signature = signature_of(symbols)
        node = self._root
        at = 0
        nodes: list[dict[str, object]] = []
        depths: list[int] = []
        steps = 0
        while True:
            steps += 1
            if steps == PATIENCE:
                return self._container_by_postings(symbols, signature)
            rest = node.get("#")
            if rest is not None:
                assert isinstance(rest, Member)
                return rest
            symbol = symbols[at]
            deeper: dict[str, object] | None = None
            if symbol != "#":
                below = node.get(symbol)
                if below is not None:
                    if not isinstance(below, Member):
                        assert isinstance(below, dict)
                        deeper = below
                    elif symbol == END or _covers(below, symbols, signature, at + 1):
                        return below
                if symbol != "+" and symbol != END:
                    below = node.get("+")
                    if below is not None:
                        if isinstance(below, Member):
                            if _covers(below, symbols, signature, at + 1):
                                return below
                        else:
                            assert isinstance(below, dict)
                            if deeper is not None:
                                nodes.append(deeper)
                                depths.append(at + 1)
                            deeper = below
            if deeper is not None:
                node = deeper
                at += 1
            elif nodes:
                node = nodes.pop()
                at = depths.pop()
            else:
                return None

    def containers(self, symbols: list[str], most: int) -> list[Member]:
        """Members that cover the pattern, so many at most; not all of them, if to find them takes
        too many steps."""
        found: list[Member] = []
        signature = signature_of(symbols)
        nodes = [self._root]
        depths = [0]
        for _ in range(PATIENCE):
            if not nodes or len(found) >= most:
                break
            node = nodes.pop()
            at = depths.pop()
            rest = node.get("#")
            if rest is not None:
                assert isinstance(rest, Member)
                found.append(rest)
            symbol = symbols[at]
            if symbol == "#":
                continue
            wild = "+" if symbol != "+" and symbol != END else symbol
            for level in (symbol, wild) if wild != symbol else (symbol,):
                below = node.get(level)
                if isinstance(below, dict):
                    nodes.append(below)
                    depths.append(at + 1)
                elif below is not None:
                    assert isinstance(below, Member)
                    if symbol == END or _covers(below, symbols, signature, at + 1):
                        found.append(below)
        return found[:most]

    def _container_by_postings(self, symbols: list[str], signature: int) -> Member | None:
        for number in self._postings.covering(symbols, FEW):
            member = self._members[number]
            assert member is not None
            if _covers(member, symbols, signature, 0):
                return member
        return None

    def contained(self, symbols: list[str]) -> list[Member]:
        """The members that the pattern covers."""
        if symbols[-1] == END and "+" not in symbols:
            return []  # It covers itself alone.
        found = self._contained_by_walk(symbols)
        if found is not None:
            return found
        found = []
        signature = signature_of(symbols)
        for number in self._postings.covered(symbols, FEW):
            member = self._members[number]
            assert member is not None
            if signature & ~member.signature == 0 and covers(symbols, pattern(member.filter), 0):
                found.append(member)
        return found

    def _contained_by_walk(self, symbols: list[str]) -> list[Member] | None:
        """The members that the pattern covers, None if finding them takes too many steps."""
        found: list[Member] = []
        patience = PATIENCE
        nodes = [self._root]
        depths = [0]
        while nodes:
            node = nodes.pop()
            at = depths.pop()
            symbol = symbols[at]
            if symbol == "#":
                _collect(node, found)
                continue
            if symbol == "+":
                patience -= len(node)
                if patience < 0:
                    return None
                every = [below for level, below in node.items() if level not in ("#", END)]
            else:
                patience -= 1
                below = node.get(symbol)
                every = [] if below is None else [below]
            for below in every:
                if not isinstance(below, Member):
                    assert isinstance(below, dict)
                    nodes.append(below)
                    depths.append(at + 1)
                elif symbol == END or covers(symbols, pattern(below.filter), at + 1):
                    found.append(below)
        return found


def _covers(member: Member, symbols: list[str], signature: int, start: int) -> bool:
    """Whether the member covers the pattern; before `start` they are known to agree."""
    return member.signature & ~signature == 0 and covers(pattern(member.filter), symbols, start)


def _collect(node: dict[str, object], found: list[Member]) -> None:
    """Append every member below the node."""
    nodes = [node]
    while nodes:
        for below in nodes.pop().values():
            if isinstance(below, Member):
                found.append(below)
            else:
                assert isinstance(below, dict)
                nodes.append(below)


def signature_of(symbols: list[str]) -> int:
    """A few bits of every literal level: a pattern has all the bits of any that covers it."""
    signature = 0
    for at, symbol in enumerate(symbols):
        if symbol != "+" and symbol != "#":
            signature |= 1 << ((hash(symbol) & 0xFFFF) + at * 7) % SIGNATURE_BITS
    return signature
