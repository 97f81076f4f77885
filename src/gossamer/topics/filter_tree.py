"""The subscription trie: which of a million filters match this topic?

Matching visits only nodes that exist and costs no recursion, so no set of filters makes it slower
than walking the tree. Where only one entry lies below a level, it stands there itself instead of a
chain of nodes. Filters are stored as given; callers validate them first.
"""

from typing import TypeAlias

from mypy_extensions import mypyc_attr


@mypyc_attr(allow_interpreted_subclasses=True)
class TreeEntry:
    """What the tree holds for one filter; subclass it to carry the subscribers."""

    __slots__ = ("filter",)

    def __init__(self, filter: str) -> None:
        self.filter = filter


class _FilterNode:
    """The filters that share a prefix. `rest` is the entry of prefix/#, `entry` of the prefix."""

    __slots__ = ("children", "entry", "plus", "rest")

    def __init__(self) -> None:
        self.children: dict[str, _Below] | None = None
        self.plus: _Below | None = None
        self.entry: TreeEntry | None = None
        self.rest: TreeEntry | None = None

    def below(self, level: str) -> "_Below | None":
        if level == "+":
            return self.plus
        children = self.children
        return None if children is None else children.get(level)

    def place(self, level: str, below: "_Below") -> None:
        if level == "+":
            self.plus = below
        elif self.children is None:
            self.children = {level: below}
        else:
            self.children[level] = below

    def clear(self, level: str) -> None:
        children = self.children
        if level == "+":
            self.plus = None
        elif children is not None:
            del children[level]
            if not children:
                self.children = None

    def hold(self, entry: TreeEntry, levels: list[str], at: int) -> None:
        """Put an entry where nothing is in its way; `at` is its first level below this node."""
        if at == len(levels):
            self.entry = entry
        elif levels[at] == "#":
            self.rest = entry
        else:
            self.place(levels[at], entry)

    def is_wide(self) -> bool:
        """Whether it has children, and not one alone; a dictionary is slow to tell its first once
        many that came before are deleted."""
        return self.children is not None and len(self.children) > 1

    def contents(self) -> "list[_Below]":
        """All that lies directly below one that is not wide."""
        found: list[_Below] = []
        if self.entry is not None:
            found.append(self.entry)
        if self.rest is not None:
            found.append(self.rest)
        if self.plus is not None:
            found.append(self.plus)
        if self.children is not None:
            for below in self.children.values():
                found.append(below)
        return found


_Below: TypeAlias = "_FilterNode | TreeEntry"


class FilterTree:
    """A set of entries, one for each filter."""

    def __init__(self) -> None:
        self._root = _FilterNode()
        self._count = 0
        self.nodes = 0  # beside the root: what the tree costs beyond its entries

    def __len__(self) -> int:
        return self._count

    def growth(self, filter: str) -> int:
        """How many nodes an entry for the filter would add."""
        levels = filter.split("/")
        node = self._root
        at = 0
        while at < len(levels) and levels[at] != "#":
            below = node.below(levels[at])
            if below is None:
                return 0
            at += 1
            if isinstance(below, _FilterNode):
                node = below
                continue
            if below.filter == filter:
                return 0
            other = below.filter.split("/")
            added = 1
            while at < len(levels) and at < len(other) and levels[at] == other[at] != "#":
                at += 1
                added += 1
            return added
        return 0

    def get(self, filter: str) -> TreeEntry | None:
        node = self._root
        for level in filter.split("/"):
            if level == "#":
                return node.rest
            below = node.below(level)
            if below is None:
                return None
            if isinstance(below, TreeEntry):
                return below if below.filter == filter else None
            node = below
        return node.entry

    def put(self, entry: TreeEntry) -> None:
        """Add the entry; one with the same filter is replaced."""
        levels = entry.filter.split("/")
        node = self._root
        at = 0
        while at < len(levels) and levels[at] != "#":
            level = levels[at]
            below = node.below(level)
            if below is None:
                node.place(level, entry)
                self._count += 1
                return
            at += 1
            if isinstance(below, _FilterNode):
                node = below
            elif below.filter == entry.filter:
                node.place(level, entry)
                return
            else:
                between = _FilterNode()
                self.nodes += 1
                between.hold(below, below.filter.split("/"), at)
                node.place(level, between)
                node = between
        if (node.entry if at == len(levels) else node.rest) is None:
            self._count += 1
        node.hold(entry, levels, at)

    def remove(self, filter: str) -> TreeEntry | None:
        """Take the filter's entry out and return it, None if there was none."""
        removed = self.get(filter)
        if removed is None:
            return None
        self._count -= 1
        levels = filter.split("/")
        node = self._root
        path: list[_FilterNode] = []
        for level in levels:
            if level == "#":
                node.rest = None
                break
            below = node.below(level)
            if not isinstance(below, _FilterNode):
                node.clear(level)
                break
            path.append(node)
            node = below
        else:
            node.entry = None
        while path and not node.is_wide():
            left = node.contents()
            if len(left) > 1 or (left and isinstance(left[0], _FilterNode)):
                break
            node = path.pop()
            self.nodes -= 1
            if left:
                node.place(levels[len(path)], left[0])
            else:
                node.clear(levels[len(path)])
        return removed

    def match(self, topic: str) -> list[TreeEntry]:
        """The entries whose filters match the topic, in no particular order."""
        found: list[TreeEntry] = []
        levels = topic.split("/")
        depth = len(levels)
        node = self._root
        at = 0
        leading_wildcards = not topic.startswith("$")  # [MQTT-4.7.2-1]
        branches: list[_FilterNode] = []
        branch_depths: list[int] = []
        while True:
            while True:
                if at > 0 or leading_wildcards:
                    rest = node.rest
                    if rest is not None:
                        found.append(rest)
                    plus = node.plus
                    if plus is not None and at < depth:
                        if isinstance(plus, _FilterNode):
                            branches.append(plus)
                            branch_depths.append(at + 1)
                        elif _tail_matches(plus.filter, levels, at + 1):
                            found.append(plus)
                if at == depth:
                    entry = node.entry
                    if entry is not None:
                        found.append(entry)
                    break
                children = node.children
                if children is None:
                    break
                below = children.get(levels[at])
                if below is None:
                    break
                at += 1
                if isinstance(below, _FilterNode):
                    node = below
                else:
                    if below.filter == topic or _tail_matches(below.filter, levels, at):
                        found.append(below)
                    break
            if not branches:
                return found
            node = branches.pop()
            at = branch_depths.pop()


def _tail_matches(filter: str, levels: list[str], start: int) -> bool:
    """Whether the filter matches the levels from `start` on; those before are known to match."""
    wanted = filter.split("/")
    depth = len(levels)
    at = start
    while at < len(wanted):
        level = wanted[at]
        if level == "#":
            return True
        if at == depth or (level != "+" and level != levels[at]):
            return False
        at += 1
    return at == depth
