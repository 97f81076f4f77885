"""The subscription trie: which of a million filters match this topic?

Matching visits only nodes that exist and costs no recursion, so no set of filters makes it slower
than walking the tree; of the topic it cuts out only the levels that a node has to look up. Where
only one entry lies below a level, it stands there itself instead of a chain of nodes. Filters are
stored as given; callers validate them first.
"""

from typing import Final, TypeAlias

from mypy_extensions import i64, mypyc_attr

_SEPARATOR: Final = 0x2F
_PLUS: Final = 0x2B
_HASH: Final = 0x23


@mypyc_attr(allow_interpreted_subclasses=True, acyclic=True)
class TreeEntry:
    """What the tree holds for one filter; subclass it to carry the subscribers."""

    __slots__ = ("filter",)

    def __init__(self, filter: str) -> None:
        self.filter = filter


class FilterNode:
    """The filters that share a prefix. `rest` is the entry of prefix/#, `entry` of the prefix.

    Not acyclic, though it is: a chain of as many as a filter has levels may be let go of at once,
    and only what the collector knows is then taken apart without a stack as deep as the chain.
    """

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


_Below: TypeAlias = "FilterNode | TreeEntry"


class FilterTree:
    """A set of entries, one for each filter."""

    def __init__(self) -> None:
        self._root = FilterNode()
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
            if isinstance(below, FilterNode):
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
            if isinstance(below, FilterNode):
                node = below
            elif below.filter == entry.filter:
                node.place(level, entry)
                return
            else:
                between = FilterNode()
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
        path: list[FilterNode] = []
        for level in levels:
            if level == "#":
                node.rest = None
                break
            below = node.below(level)
            if not isinstance(below, FilterNode):
                node.clear(level)
                break
            path.append(node)
            node = below
        else:
            node.entry = None
        while path and not node.is_wide():
            left = node.contents()
            if len(left) > 1 or (left and isinstance(left[0], FilterNode)):
                break
            node = path.pop()
            self.nodes -= 1
            if left:
                node.place(levels[len(path)], left[0])
            else:
                node.clear(levels[len(path)])
        return removed

    def match(self, topic: str) -> list[TreeEntry]:
        """The entries whose filters match the topic, in no particular order.

        Levels are read where they stand: `start` is where the next one begins, one past the end
        when none is left. Filters of one node have the same text so far, which differs from the
        topic's in length by `shift` where a level of it is a wildcard.
        """
        found: list[TreeEntry] = []
        length: i64 = len(topic)
        node = self._root
        start: i64 = 0
        shift: i64 = 0
        wildcards = not topic.startswith("$")  # at the first level: [MQTT-4.7.2-1]
        branches: list[FilterNode] | None = None  # hardly ever any, and a list for each would cost
        places: list[int] = []
        while True:
            while True:
                plus: _Below | None = None
                if wildcards or start > 0:
                    rest = node.rest
                    if rest is not None:
                        found.append(rest)
                    plus = node.plus
                if start > length:
                    entry = node.entry
                    if entry is not None:
                        found.append(entry)
                    break
                children = node.children
                if children is None and plus is None:
                    break
                end: i64 = topic.find("/", start)
                if end < 0:
                    end = length
                if plus is not None:
                    plus_shift = shift + start + 1 - end
                    if isinstance(plus, TreeEntry):
                        if _tail_matches(plus.filter, end + 1 + plus_shift, topic, end + 1):
                            found.append(plus)
                    else:
                        if branches is None:
                            branches = []
                        branches.append(plus)
                        places.append(end + 1)
                        places.append(plus_shift)
                if children is None:
                    break
                below = children.get(topic[start:end])
                if below is None:
                    break
                start = end + 1
                if isinstance(below, TreeEntry):
                    if _tail_matches(below.filter, start + shift, topic, start):
                        found.append(below)
                    break
                node = below
            if not branches:
                return found
            node = branches.pop()
            shift = places.pop()
            start = places.pop()


def _tail_matches(filter: str, at: i64, topic: str, start: i64) -> bool:
    """Whether the filter from `at` on matches the topic from `start` on, both where a level begins
    or one past their end; what is before is known to match."""
    filter_length: i64 = len(filter)
    length: i64 = len(topic)
    while at <= filter_length:
        first: i64 = ord(filter[at]) if at < filter_length else _SEPARATOR
        if first == _HASH:
            return True
        if start > length:
            return False
        if first == _PLUS:
            at += 2
            while start < length and ord(topic[start]) != _SEPARATOR:
                start += 1
            start += 1
            continue
        while True:
            wanted: i64 = ord(filter[at]) if at < filter_length else _SEPARATOR
            there: i64 = ord(topic[start]) if start < length else _SEPARATOR
            if wanted != there:
                return False
            at += 1
            start += 1
            if wanted == _SEPARATOR:
                break
    return start > length
