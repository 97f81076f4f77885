"""Every topic seen, as a tree that a page looks at through a small window of rows.

Children are put in order when they are looked at, and only opened branches are walked, so a window
costs little more than it shows, whatever the tree holds. Topics, kept bytes and kept numbers are
bounded.
"""

from array import array
from bisect import bisect_left
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Final

from gossamer.console.payloads import as_number

MOST_TOPICS: Final = 250_000
MOST_KEPT_BYTES: Final = 128 * 1024 * 1024  # of last payloads; past it only their beginnings
LONGEST_KEPT: Final = 256 * 1024
PREVIEW_BYTES: Final = 120
NUMBERS: Final = 40  # points of a sparkline
TAIL: Final = 50  # messages of a topic that somebody looks at
MOST_FOUND: Final = 500


@dataclass(frozen=True)
class SeenTopic:
    """One message as it came."""

    topic: str
    payload: bytes
    qos: int
    retain: bool
    at: float
    content_type: str = ""
    user: tuple[tuple[str, str], ...] = ()


class Topic:
    """One level. `count` is of the messages here and below it."""

    __slots__ = ("_names", "children", "count", "last", "name", "numbers", "parent", "tail")

    def __init__(self, name: str, parent: "Topic | None") -> None:
        self.name = name
        self.parent = parent
        self.children: dict[str, Topic] = {}
        self._names: list[str] = []
        self.count = 0
        self.last: SeenTopic | None = None
        self.numbers: array[float] | None = None
        self.tail: deque[SeenTopic] | None = None  # while somebody looks

    @property
    def names(self) -> list[str]:
        """Of the children, in order; new ones are sorted in now."""
        if len(self._names) != len(self.children):
            self._names.extend(islice(self.children, len(self._names), None))
            self._names.sort()
        return self._names

    @property
    def path(self) -> str:
        levels = []
        node = self
        while node.parent is not None:
            levels.append(node.name)
            node = node.parent
        return "/".join(reversed(levels))


@dataclass(frozen=True)
class TopicRow:
    """A line of the window; `depth` starts at 0."""

    topic: Topic
    path: str
    depth: int
    is_open: bool


class TopicModel:
    """What was seen of one broker's topics."""

    def __init__(self) -> None:
        self.root = Topic("", None)
        self.topics = 0  # that had a message
        self.left_out = 0  # messages on topics beyond the bound
        self._nodes = 0
        self._kept = 0
        self._followers: dict[Topic, int] = {}

    def add(self, seen: SeenTopic) -> None:
        node = self._place(seen.topic)
        if node is None:
            self.left_out += 1
            return
        if node.last is None:
            self.topics += 1
        else:
            self._kept -= len(node.last.payload)
        if node.tail is not None:
            node.tail.append(seen)
        node.last = self._bounded(seen)
        self._kept += len(node.last.payload)
        self._note_number(node, seen.payload)
        up: Topic | None = node
        while up is not None:
            up.count += 1
            up = up.parent

    def find(self, path: str) -> Topic | None:
        node: Topic | None = self.root
        for level in path.split("/"):
            node = node.children.get(level) if node is not None else None
        return node

    def follow(self, topic: Topic) -> None:
        """Keeps the topic's latest messages whole from now on, for one more page."""
        if topic.tail is None:
            topic.tail = deque([topic.last] if topic.last is not None else (), maxlen=TAIL)
        self._followers[topic] = self._followers.get(topic, 0) + 1

    def unfollow(self, topic: Topic) -> None:
        """One page less looks at it."""
        self._followers[topic] -= 1
        if not self._followers[topic]:
            del self._followers[topic]
            topic.tail = None

    def window(self, opened: set[str], offset: int, limit: int) -> tuple[list[TopicRow], int]:
        """Some of the rows that these opened branches make, and how many there are in all."""
        branches = self._branches(opened)
        total = _height(branches, "")
        rows: list[TopicRow] = []
        self._fill(branches, "", 0, offset, limit, rows)
        return rows, total

    def search(self, text: str) -> list[TopicRow]:
        """Topics with the text in their name, the first few in order."""
        wanted = text.lower()
        found: list[TopicRow] = []
        for topic, path in self._walk(self.root, ""):
            if topic.last is not None and wanted in path.lower():
                found.append(TopicRow(topic, path, 0, False))
                if len(found) == MOST_FOUND:
                    break
        return found

    def _place(self, path: str) -> Topic | None:
        node = self.root
        for level in path.split("/"):
            child = node.children.get(level)
            if child is None:
                if self._nodes >= MOST_TOPICS:
                    return None
                child = Topic(level, node)
                node.children[level] = child
                self._nodes += 1
            node = child
        return node

    def _bounded(self, seen: SeenTopic) -> SeenTopic:
        size = len(seen.payload)
        if size <= PREVIEW_BYTES or (size <= LONGEST_KEPT and self._kept + size <= MOST_KEPT_BYTES):
            return seen
        beginning = seen.payload[:PREVIEW_BYTES]
        return SeenTopic(seen.topic, beginning, seen.qos, seen.retain, seen.at, seen.content_type)

    @staticmethod
    def _note_number(node: Topic, payload: bytes) -> None:
        number = as_number(payload)
        if number is None:
            return
        if node.numbers is None:
            node.numbers = array("d")
        node.numbers.append(number)
        if len(node.numbers) > NUMBERS:
            del node.numbers[0]

    def _branches(self, opened: set[str]) -> dict[str, "_Branch"]:
        """The opened branches that can be seen, by path: all that a window has to know."""
        branches = {"": _Branch(self.root)}
        for path in sorted(opened):
            topic = self.find(path)
            above, slash, _ = path.rpartition("/")
            parent = branches.get(f"{above}/" if slash else "")
            if topic is None or not topic.children or parent is None:
                continue
            branches[f"{path}/"] = _Branch(topic)
            parent.opened.append((bisect_left(parent.topic.names, topic.name), f"{path}/"))
        return branches

    def _fill(
        self,
        branches: dict[str, "_Branch"],
        prefix: str,
        depth: int,
        offset: int,
        limit: int,
        rows: list[TopicRow],
    ) -> None:
        """Appends rows of a branch, skipping `offset` of them, until there are `limit` in all."""
        branch = branches[prefix]
        names = branch.topic.names
        index = 0
        for place, path in (*sorted(branch.opened), (len(names), "")):
            closed = place - index + (1 if path else 0)  # the opened one's own row is among them
            if offset < closed:
                stop = min(index + closed, index + offset + limit - len(rows))
                for name in names[index + offset : stop]:
                    child = branch.topic.children[name]
                    full = prefix + name
                    rows.append(TopicRow(child, full, depth, f"{full}/" in branches))
                offset = 0
            else:
                offset -= closed
            index += closed
            if len(rows) >= limit or not path:
                return
            height = _height(branches, path)
            if offset < height:
                self._fill(branches, path, depth + 1, offset, limit, rows)
                offset = 0
            else:
                offset -= height
            if len(rows) >= limit:
                return

    def _walk(self, node: Topic, prefix: str) -> Iterator[tuple[Topic, str]]:
        for name in node.names:
            child = node.children[name]
            path = prefix + name
            yield child, path
            yield from self._walk(child, f"{path}/")


class _Branch:
    """An opened topic, and where its own opened children stand."""

    __slots__ = ("opened", "topic")

    def __init__(self, topic: Topic) -> None:
        self.topic = topic
        self.opened: list[tuple[int, str]] = []


def _height(branches: dict[str, _Branch], prefix: str) -> int:
    branch = branches[prefix]
    return len(branch.topic.names) + sum(_height(branches, path) for _, path in branch.opened)
