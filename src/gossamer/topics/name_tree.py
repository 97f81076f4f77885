"""Topic names and what is kept under each: the retained messages, searched by filter.

A search visits only nodes that exist, level by level, and never recurses.
"""

from mypy_extensions import mypyc_attr


@mypyc_attr(acyclic=True)
class _NameNode:
    """The names that share a prefix. `value` is what the prefix itself names, None if nothing."""

    __slots__ = ("children", "value")

    def __init__(self) -> None:
        self.children: dict[str, _NameNode] | None = None
        self.value: object | None = None


class NameTree:
    """A map from topic names to objects; None is not a value."""

    def __init__(self) -> None:
        self._root = _NameNode()
        self._count = 0
        self.nodes = 0  # beside the root: what the tree costs beyond its values

    def __len__(self) -> int:
        return self._count

    def growth(self, name: str) -> int:
        """How many nodes a value under that name would add."""
        levels = name.split("/")
        node = self._root
        at = 0
        for level in levels:
            children = node.children
            child = None if children is None else children.get(level)
            if child is None:
                break
            node = child
            at += 1
        return len(levels) - at

    def get(self, name: str) -> object | None:
        node = self._root
        for level in name.split("/"):
            children = node.children
            if children is None:
                return None
            child = children.get(level)
            if child is None:
                return None
            node = child
        return node.value

    def put(self, name: str, value: object) -> None:
        """Keep the value under the name, in place of any other."""
        node = self._root
        for level in name.split("/"):
            children = node.children
            if children is None:
                children = node.children = {}
            child = children.get(level)
            if child is None:
                child = children[level] = _NameNode()
                self.nodes += 1
            node = child
        if node.value is None:
            self._count += 1
        node.value = value

    def remove(self, name: str) -> object | None:
        """Forget the name and return what was kept under it, None if nothing was."""
        levels = name.split("/")
        node = self._root
        path: list[_NameNode] = []
        for level in levels:
            children = node.children
            child = None if children is None else children.get(level)
            if child is None:
                return None
            path.append(node)
            node = child
        removed = node.value
        if removed is None:
            return None
        node.value = None
        self._count -= 1
        while path and _is_empty(node):
            node = path.pop()
            children = node.children
            assert children is not None
            del children[levels[len(path)]]
            self.nodes -= 1
            if not children:
                node.children = None
        return removed

    def values(self) -> list[object]:
        """Everything kept, also under names that start with `$`."""
        found: list[object] = []
        _collect([self._root], found)
        return found

    def search(self, filter: str) -> list[object]:
        """What is kept under the names that the filter matches, in no particular order."""
        found: list[object] = []
        levels = filter.split("/")
        nodes = _first_step(self._root, levels[0])
        if levels[0] == "#":
            _collect(nodes, found)
            return found
        for level in levels[1:]:
            if level == "#":
                _collect(nodes, found)
                return found
            nodes = _step(nodes, level)
            if not nodes:
                return found
        for node in nodes:
            if node.value is not None:
                found.append(node.value)
        return found


def _is_empty(node: _NameNode) -> bool:
    return node.value is None and node.children is None


def _first_step(root: _NameNode, level: str) -> list[_NameNode]:
    if level not in ("+", "#"):
        return _step([root], level)
    if root.children is None:
        return []
    # No leading wildcard matches `$…`: [MQTT-4.7.2-1]
    return [node for name, node in root.children.items() if not name.startswith("$")]


def _step(nodes: list[_NameNode], level: str) -> list[_NameNode]:
    """The children of the nodes that a level of a filter, not `#`, matches."""
    below: list[_NameNode] = []
    for node in nodes:
        children = node.children
        if children is None:
            continue
        if level == "+":
            below.extend(children.values())
        else:
            child = children.get(level)
            if child is not None:
                below.append(child)
    return below


def _collect(nodes: list[_NameNode], found: list[object]) -> None:
    """Append the values of the nodes and of all below them; `nodes` is used up."""
    while nodes:
        node = nodes.pop()
        if node.value is not None:
            found.append(node.value)
        if node.children is not None:
            nodes.extend(node.children.values())
