"""Operators that follow each topic by itself: what it publishes beside what it published before.

A step takes a publication and gives one on, the same or another, or none. What it remembers of a
topic is bounded in topics and bytes, charged to the operation that the step belongs to (its
`owner`), and saved with it.
"""

import json
from collections import OrderedDict
from heapq import heapify, heappop, heappush
from typing import Final

from gossamer.plus.limits import topic_bytes
from gossamer.plus.plan import Field
from gossamer.plus.publication import NO_ROOM, TOO_MANY_TOPICS, Publication
from gossamer.plus.state import SAVED_VERSION, OperatorState
from gossamer.plus.values import INFINITY, write_number

# Of what was saved; all but the version.
SavedMemory = list[float | str | None]

# Where there is no room, the first of so many topics goes that was not heard of since the last
# look.
_LOOKS: Final = 64
# Entries without a point are swept out once there are more of them than others, and than this.
_FEW: Final = 64


class Memory:
    """Of one topic."""

    __slots__ = ("is_used",)

    def __init__(self) -> None:
        self.is_used = True  # since somebody looked for one that can go

    def save(self) -> SavedMemory:
        raise NotImplementedError


class NumberMemory(Memory):
    """Of a topic of which one number is enough."""

    __slots__ = ("number",)

    def __init__(self, number: float) -> None:
        super().__init__()
        self.number = number

    def save(self) -> SavedMemory:
        return [self.number]


class Step:
    """`due` is when it has something to say though nothing is published; infinite for never."""

    forwards = True  # what it gives on is what it took
    is_timed = False  # it may be due

    def __init__(self) -> None:
        self.due = INFINITY

    def take(
        self, owner: OperatorState, publication: Publication, now: float
    ) -> Publication | None:
        raise NotImplementedError

    def tick(self, owner: OperatorState, now: float) -> list[Publication]:
        """Called once `due` has come."""
        return []

    def begin(self, owner: OperatorState, topics: list[str], now: float) -> None:
        """These topics are known to be read, whether they publish or not."""

    def clock_set(self, now: float) -> None:
        """`now` may be before what was taken last."""

    def part(self, topic: str) -> bytes | None:
        """What to save of the topic; None for nothing."""
        return None

    def restore(self, owner: OperatorState, topic: str, part: bytes, now: float) -> None:
        """Raises ValueError, TypeError or IndexError for what `part` did not make."""


class TopicStep(Step):
    """`mark` is what the names of its parts begin with."""

    forgets = True  # where there is no room, for topics that were not heard of for long

    def __init__(self, mark: str, field: Field | None) -> None:
        super().__init__()
        self.mark = mark
        self.field = field
        self.topics: OrderedDict[str, Memory] = OrderedDict()

    def read(self, saved: SavedMemory, now: float) -> Memory:
        raise NotImplementedError

    def number(self, owner: OperatorState, publication: Publication) -> float:
        """NaN, counted, where there is none."""
        value = publication.as_number(self.field)
        if value != value:
            owner.services.skip(publication.trouble)
        return value

    def remember(self, owner: OperatorState, topic: str, memory: Memory) -> bool:
        """A topic that it did not know. False if there is no room for it."""
        size = topic_bytes(topic)
        while len(self.topics) >= owner.services.limits.topics or not owner.has_room(size):
            if not self.forgets or not self.topics:
                is_full = len(self.topics) >= owner.services.limits.topics
                owner.services.skip(TOO_MANY_TOPICS if is_full else NO_ROOM)
                return False
            self._forget_one(owner)
        owner.weigh(size)
        self.topics[topic] = memory
        return True

    def cost(self, memory: Memory) -> int:
        """Of what it holds beside the topic's own share."""
        return 0

    def part(self, topic: str) -> bytes | None:
        memory = self.topics.get(topic)
        if memory is None:
            return None
        return json.dumps([SAVED_VERSION, *memory.save()]).encode()

    def restore(self, owner: OperatorState, topic: str, part: bytes, now: float) -> None:
        version, *saved = json.loads(part)
        if version != SAVED_VERSION:
            raise ValueError(f"version {version}")
        memory = self.read(saved, now)
        if topic in self.topics:  # it was expected from the subscription on
            self.topics[topic] = memory
        elif self.remember(owner, topic, memory):
            owner.weigh(self.cost(memory))

    def _forget_one(self, owner: OperatorState) -> None:
        topic, memory = self.topics.popitem(last=False)
        looks = 1
        while memory.is_used and looks < _LOOKS:
            memory.is_used = False
            self.topics[topic] = memory
            topic, memory = self.topics.popitem(last=False)
            looks += 1
        owner.weigh(-topic_bytes(topic) - self.cost(memory))
        owner.services.account.evicted += 1
        owner.mark(self.mark + topic)


class Deadlines:
    """By topic, when it is due. One that is put off costs nothing until its old time has come.

    Who asks knows when each topic is due by now: what is taken out is only to be looked at.
    """

    __slots__ = ("_times", "_waiting")

    def __init__(self) -> None:
        self._times: list[tuple[float, str]] = []
        self._waiting: dict[str, float] = {}  # the earliest entry of each topic

    def next_due(self) -> float:
        return self._times[0][0] if self._times else INFINITY

    def put(self, topic: str, due: float) -> None:
        known = self._waiting.get(topic)
        if known is not None and known <= due:
            return
        self._waiting[topic] = due
        heappush(self._times, (due, topic))
        if len(self._times) > 2 * len(self._waiting) + _FEW:
            self._times = [(due, topic) for topic, due in self._waiting.items()]
            heapify(self._times)

    def take_due(self, now: float) -> list[str]:
        """The topics whose entry has come, which they have no more."""
        found: list[str] = []
        while self._times and self._times[0][0] <= now:
            due, topic = heappop(self._times)
            if self._waiting.get(topic) == due:
                del self._waiting[topic]
                found.append(topic)
        return found

    def forget_all(self) -> None:
        self._times = []
        self._waiting = {}


def made_number(publication: Publication, value: float) -> Publication:
    """In place of it, and valid as long."""
    made = Publication(
        publication.topic, write_number(value), publication.expires_at, publication.properties
    )
    made.settle_number(value)
    return made


def seconds_of(item: float | str | None) -> float:
    """A time, or a number, that was saved."""
    if isinstance(item, str) or item is None:
        raise TypeError("expected a number")
    found = float(item)
    if found - found != 0.0:
        raise ValueError("expected a finite number")
    return found
