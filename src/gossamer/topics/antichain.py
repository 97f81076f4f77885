"""Filters of which none contains another, searched both ways: for a container, for the contained.

Patterns that start with `$` must be kept in an antichain of their own: then a wildcard covers every
level it meets, also the first. Containers are found by walking a tree of patterns; where a set is
built to make that walk long, the rarest level of the pattern in question decides instead.
"""

from typing import Final

from gossamer.topics.containment import END, covers, pattern
from gossamer.topics.postings import Postings

FEW: Final = 64  # Testing so few candidates one by one is cheaper than intersecting bits.
PATIENCE: Final = 256  # Steps of a walk before a shorter list of candidates is looked for.

WORTH_LISTING: Final = 512  # Candidates beyond which going on with the walk is the better bet.


class Member:
    """A filter that may lie in an antichain, under a number while it does."""

    __slots__ = ("filter", "number")

    def __init__(self, filter: str) -> None:
        self.filter = filter
        self.number = -1


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
        node = self._root
        at = 0
        nodes: list[dict[str, object]] = []
        depths: list[int] = []
        steps = 0
        while True:
            steps += 1
            if steps == PATIENCE:
                candidates = self._candidates(symbols)
                if candidates is not None:
                    return self._first_cover(candidates, symbols)
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
                    elif symbol == END or covers(pattern(below.filter), symbols, at + 1):
                        return below
                if symbol != "+" and symbol != END:
                    below = node.get("+")
                    if below is not None:
                        if isinstance(below, Member):
                            if covers(pattern(below.filter), symbols, at + 1):
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

    def _candidates(self, symbols: list[str]) -> list[int] | None:
        """The members that one position leaves as containers, None if each leaves too many."""
        best = WORTH_LISTING
        best_at = -1
        shorter = 0  # Members closed by `#` before this position.
        for at, symbol in enumerate(symbols):
            shorter += self._postings.size(at, "#")
            left = shorter
            if symbol != "#":
                left += self._postings.size(at, symbol)
                if symbol != "+" and symbol != END:
                    left += self._postings.size(at, "+")
            if left < best:
                best = left
                best_at = at
        if best_at < 0:
            return None
        found: list[int] = []
        for depth in range(best_at + 1):
            found.extend(self._postings.numbers(depth, "#"))
        symbol = symbols[best_at]
        if symbol != "#":
            found.extend(self._postings.numbers(best_at, symbol))
            if symbol != "+" and symbol != END:
                found.extend(self._postings.numbers(best_at, "+"))
        return found

    def _first_cover(self, numbers: list[int], symbols: list[str]) -> Member | None:
        for number in numbers:
            member = self._members[number]
            assert member is not None
            if covers(pattern(member.filter), symbols, 0):
                return member
        return None

    def contained(self, symbols: list[str]) -> list[Member]:
        """The members that the pattern covers."""
        found: list[Member] = []
        if symbols[-1] == END and "+" not in symbols:
            return found  # It covers itself alone.
        narrowest = self._postings.narrowest(symbols)
        if narrowest is None:
            return found
        if narrowest.size > FEW:
            for number in self._postings.covered(symbols):
                member = self._members[number]
                assert member is not None
                found.append(member)
            return found
        for number in narrowest.numbers():
            member = self._members[number]
            assert member is not None
            if covers(symbols, pattern(member.filter), 0):
                found.append(member)
        return found
