"""Topic names and what is kept under each: the retained messages, searched by filter.

A search is a cursor: it takes a few steps at a time and goes on where it stopped, whatever has come
and gone in between. Of one name it gives no more than one entry, and it passes over none that was
there all the time; what is gone when it comes by is not given.

Where only one name lies below a level, its entry stands there itself instead of a chain of nodes.
A node of very many children has them in parts, so that no dictionary grows, and none is listed, in
one long step. Nothing recurses.
"""

from typing import Final, TypeAlias

from mypy_extensions import mypyc_attr

from gossamer.topics.names import matches

# A node with more children than this has them in so many parts.
WIDE: Final = 4_096
_PARTS: Final = 64
_UNKNOWN: Final = -1


@mypyc_attr(acyclic=True)
class NameEntry:
    """What the tree holds for one name; subclasses carry it, in whatever form they like."""

    __slots__ = ()

    def name(self) -> str:
        raise NotImplementedError


@mypyc_attr(acyclic=True)
class _NameNode:
    """The names that share a prefix; `entry` is what the prefix itself names.

    A node stays until nothing is below it, also if that is one entry only: a search may be inside.
    """

    __slots__ = ("_children", "_parts", "entry")

    def __init__(self) -> None:
        self.entry: NameEntry | None = None
        self._children: dict[str, _Below] | None = None
        self._parts: list[dict[str, _Below]] | None = None

    def below(self, level: str) -> "_Below | None":
        children = self._children
        if children is not None:
            return children.get(level)
        parts = self._parts
        return None if parts is None else parts[hash(level) % _PARTS].get(level)

    def place(self, level: str, below: "_Below") -> None:
        """In place of what is there, if anything is."""
        children = self._children
        parts = self._parts
        if parts is not None:
            parts[hash(level) % _PARTS][level] = below
        elif children is None:
            self._children = {level: below}
        else:
            children[level] = below
            if len(children) > WIDE:
                self._divide(children)

    def _divide(self, children: "dict[str, _Below]") -> None:
        parts: list[dict[str, _Below]] = [{} for _ in range(_PARTS)]
        for level, below in children.items():
            parts[hash(level) % _PARTS][level] = below
        self._parts = parts
        self._children = None

    def take_away(self, level: str) -> None:
        children = self._children
        parts = self._parts
        if children is not None:
            del children[level]
            if not children:
                self._children = None
        elif parts is not None:
            part = parts[hash(level) % _PARTS]
            del part[level]
            if not part and not any(parts):
                self._parts = None

    def is_empty(self) -> bool:
        return self.entry is None and self._children is None and self._parts is None

    def pages(self) -> int:
        """In how many parts its children are."""
        if self._parts is not None:
            return _PARTS
        return 0 if self._children is None else 1

    def page(self, number: int) -> list[str]:
        """The levels of the children in that part."""
        parts = self._parts
        if parts is not None:
            return list(parts[number])
        children = self._children
        return [] if children is None else list(children)


_Below: TypeAlias = _NameNode | NameEntry


class NameTree:
    """A map from topic names to entries."""

    __slots__ = ("_count", "_root", "nodes")

    def __init__(self) -> None:
        self._root = _NameNode()
        self._count = 0
        self.nodes = 0  # beside the root: what the tree costs beyond its entries

    def __len__(self) -> int:
        return self._count

    def growth(self, name: str) -> int:
        """How many nodes an entry of that name would add."""
        levels = name.split("/")
        node = self._root
        for at, level in enumerate(levels, 1):
            below = node.below(level)
            if below is None:
                return 0
            if not isinstance(below, _NameNode):
                other = below.name()
                return 0 if other == name else 1 + _common(levels, other.split("/"), at)
            node = below
        return 0

    def get(self, name: str) -> NameEntry | None:
        node = self._root
        for level in name.split("/"):
            below = node.below(level)
            if below is None:
                return None
            if not isinstance(below, _NameNode):
                return below if below.name() == name else None
            node = below
        return node.entry

    def put(self, entry: NameEntry) -> None:
        """Keep it under its name, in place of any other."""
        name = entry.name()
        levels = name.split("/")
        node = self._root
        at = 0
        for level in levels:
            at += 1
            below = node.below(level)
            if below is None:
                node.place(level, entry)
                self._count += 1
                return
            if isinstance(below, _NameNode):
                node = below
            elif below.name() == name:
                node.place(level, entry)
                return
            else:
                others = below.name().split("/")
                end = at + _common(levels, others, at)
                node = self._lower(node, below, others, at, end)
                at = end
                break
        if at < len(levels):
            node.place(levels[at], entry)
            self._count += 1
            return
        if node.entry is None:
            self._count += 1
        node.entry = entry

    def _lower(
        self, node: _NameNode, entry: NameEntry, levels: list[str], at: int, end: int
    ) -> _NameNode:
        """The entry stands where another has to pass: it goes down to the level where their ways
        part. The node that has it there now."""
        self.nodes += 1 + end - at
        last = below = _NameNode()
        if end == len(levels):
            last.entry = entry
        else:
            last.place(levels[end], entry)
        while end > at:
            end -= 1
            above = _NameNode()
            above.place(levels[end], below)
            below = above
        node.place(levels[at - 1], below)
        return last

    def remove(self, name: str) -> NameEntry | None:
        """Forget the name and return what was kept under it, None if nothing was."""
        levels = name.split("/")
        node = self._root
        path: list[_NameNode] = []
        removed: NameEntry | None = None
        for level in levels:
            path.append(node)
            below = node.below(level)
            if below is None:
                return None
            if not isinstance(below, _NameNode):
                if below.name() != name:
                    return None
                removed = below
                node.take_away(level)
                break
            node = below
        else:
            path.append(node)
            removed = node.entry
            if removed is None:
                return None
            node.entry = None
        self._count -= 1
        while len(path) > 1 and path[-1].is_empty():
            path.pop()
            path[-1].take_away(levels[len(path) - 1])
            self.nodes -= 1
        return removed

    def search(self, filter: str) -> "NameSearch":
        """The entries whose names the filter matches, in no particular order."""
        return NameSearch(self._root, filter, False)

    def everything(self) -> "NameSearch":
        """All entries, also of names that start with `$`."""
        return NameSearch(self._root, "#", True)


class _Visit:
    """A node in which a search is, and which of its children it has still to see."""

    __slots__ = ("_page", "_pages", "at", "depth", "levels", "node")

    def __init__(self, node: _NameNode, depth: int, wanted: str) -> None:
        self.node = node
        self.depth = depth  # which level of the filter its children are held against
        self.at = 0
        is_wild = wanted in ("+", "#")
        self.levels: list[str] = [] if is_wild else [wanted]
        self._page = 0
        self._pages = _UNKNOWN if is_wild else 0

    def turn_page(self) -> bool:
        """To levels that were not listed yet; False if there are none."""
        node = self.node
        pages = node.pages()
        if self._pages == _UNKNOWN:
            self._pages = pages
        # Children that were divided since have all been listed; if all were in parts and are not
        # now, they are gone, and others have come.
        while self._page < self._pages <= pages:
            self.levels = node.page(self._page)
            self.at = 0
            self._page += 1
            if self.levels:
                return True
        return False


class NameSearch:
    """What one filter matches, a few steps at a time."""

    __slots__ = ("_filter", "_path", "_takes_all", "_wanted")

    def __init__(self, root: _NameNode, filter: str, takes_all: bool) -> None:
        self._filter = filter
        self._wanted = filter.split("/")
        self._takes_all = takes_all
        self._path = [_Visit(root, 0, self._wanted[0])]

    def is_done(self) -> bool:
        return not self._path

    def take(self, most: int, steps: int) -> list[NameEntry]:
        """The next entries, `most` at most; fewer, or none, if it took so many steps to look."""
        found: list[NameEntry] = []
        path = self._path
        while path and steps > 0 and len(found) < most:
            visit = path[-1]
            at = visit.at
            if at == len(visit.levels):
                if not visit.turn_page():
                    path.pop()
                continue
            steps -= 1
            level = visit.levels[at]
            visit.at = at + 1
            below = visit.node.below(level)
            if below is None:
                continue
            depth = visit.depth
            wanted = self._wanted[depth]
            if len(path) == 1 and level.startswith("$") and self._passes_over(wanted):
                continue
            if isinstance(below, _NameNode):
                self._enter(below, depth if wanted == "#" else depth + 1, found)
            elif wanted == "#" or matches(self._filter, below.name()):
                found.append(below)
        while path and path[-1].at == len(path[-1].levels) and not path[-1].turn_page():
            path.pop()
        return found

    def _passes_over(self, wanted: str) -> bool:
        """No leading wildcard matches `$…`: [MQTT-4.7.2-1]"""
        return wanted in ("+", "#") and not self._takes_all

    def _enter(self, node: _NameNode, depth: int, found: list[NameEntry]) -> None:
        wanted = self._wanted
        is_end = depth == len(wanted)
        entry = node.entry
        # The parent level counts too: `a/#` matches `a`.
        if entry is not None and (is_end or wanted[depth] == "#"):
            found.append(entry)
        if not is_end:
            self._path.append(_Visit(node, depth, wanted[depth]))


def _common(levels: list[str], others: list[str], start: int) -> int:
    """How many levels from there on are the same, one after the other."""
    end = min(len(levels), len(others))
    at = start
    while at < end and levels[at] == others[at]:
        at += 1
    return at - start
