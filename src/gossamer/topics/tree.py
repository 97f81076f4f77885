"""The subscription trie: which of a million filters match this topic?

Matching visits only nodes that exist and costs no recursion, so no set of filters makes it slower
than walking the tree. Filters are stored as given; callers validate them first.
"""

from mypy_extensions import mypyc_attr


@mypyc_attr(allow_interpreted_subclasses=True)
class Entry:
    """What the tree holds for one filter; subclass it to carry the subscribers."""

    def __init__(self, filter: str) -> None:
        self.filter = filter


class _Node:
    """The filters that share a prefix. `rest` is the entry of prefix/#, `entry` of the prefix."""

    __slots__ = ("children", "entry", "plus", "rest")

    def __init__(self) -> None:
        self.children: dict[str, _Node] | None = None
        self.plus: _Node | None = None
        self.entry: Entry | None = None
        self.rest: Entry | None = None

    def child(self, level: str) -> "_Node | None":
        if level == "+":
            return self.plus
        children = self.children
        return None if children is None else children.get(level)

    def make_child(self, level: str) -> "_Node":
        node = _Node()
        if level == "+":
            self.plus = node
        elif self.children is None:
            self.children = {level: node}
        else:
            self.children[level] = node
        return node

    def drop_child(self, level: str) -> None:
        children = self.children
        if level == "+":
            self.plus = None
        elif children is not None:
            del children[level]
            if not children:
                self.children = None

    def is_bare(self) -> bool:
        return (
            self.children is None and self.plus is None and self.entry is None and self.rest is None
        )


class FilterTree:
    """A set of entries, one for each filter."""

    def __init__(self) -> None:
        self._root = _Node()
        self._count = 0

    def __len__(self) -> int:
        return self._count

    def get(self, filter: str) -> Entry | None:
        node = self._root
        for level in filter.split("/"):
            if level == "#":
                return node.rest
            child = node.child(level)
            if child is None:
                return None
            node = child
        return node.entry

    def put(self, entry: Entry) -> None:
        """Add the entry; one with the same filter is replaced."""
        node = self._root
        for level in entry.filter.split("/"):
            if level == "#":
                if node.rest is None:
                    self._count += 1
                node.rest = entry
                return
            child = node.child(level)
            node = node.make_child(level) if child is None else child
        if node.entry is None:
            self._count += 1
        node.entry = entry

    def remove(self, filter: str) -> Entry | None:
        """Take the filter's entry out and return it, None if there was none."""
        levels = filter.split("/")
        multi = levels[-1] == "#"
        if multi:
            levels.pop()
        node = self._root
        path: list[_Node] = []
        for level in levels:
            child = node.child(level)
            if child is None:
                return None
            path.append(node)
            node = child
        if multi:
            removed = node.rest
            node.rest = None
        else:
            removed = node.entry
            node.entry = None
        if removed is None:
            return None
        self._count -= 1
        while path and node.is_bare():
            node = path.pop()
            node.drop_child(levels[len(path)])
        return removed

    def match(self, topic: str) -> list[Entry]:
        """The entries whose filters match the topic, in no particular order."""
        found: list[Entry] = []
        levels = topic.split("/")
        depth = len(levels)
        node = self._root
        at = 0
        if topic.startswith("$"):  # No leading wildcard matches it: [MQTT-4.7.2-1]
            first = node.child(levels[0])
            if first is None:
                return found
            node = first
            at = 1
        branches: list[_Node] = []
        branch_depths: list[int] = []
        while True:
            while True:
                rest = node.rest
                if rest is not None:
                    found.append(rest)
                if at == depth:
                    entry = node.entry
                    if entry is not None:
                        found.append(entry)
                    break
                plus = node.plus
                if plus is not None:
                    branches.append(plus)
                    branch_depths.append(at + 1)
                children = node.children
                if children is None:
                    break
                child = children.get(levels[at])
                if child is None:
                    break
                node = child
                at += 1
            if not branches:
                return found
            node = branches.pop()
            at = branch_depths.pop()
