"""What the broker remembers from publication on, for whoever subscribes later (MQTT+, Table 2).

Of each topic under the filters that the configuration names: the last value with its validity, and
for each window of time what was counted in it. A new operator takes from it what it would have if
somebody had subscribed to it before; from then on it counts by itself.

Topics and bytes are bounded. A topic for which there is no room is not remembered until others are
gone: their values are valid no more, and the windows in which they published are over.
"""

import json
from typing import Final

from gossamer.plus.limits import topic_bytes
from gossamer.plus.operators.aggregate import Aggregate
from gossamer.plus.operators.windows import Window
from gossamer.plus.plan import Field, OperatorPlan, TemporalNode
from gossamer.plus.publication import NO_ROOM, TOO_MANY_TOPICS, Publication
from gossamer.plus.registry import AGGREGATES
from gossamer.plus.spatial import LastValue, LastValues
from gossamer.plus.state import SAVED_VERSION, OperatorResult, OperatorState, Services
from gossamer.plus.statistics import STATISTICS, STATISTICS_BYTES, Statistics
from gossamer.plus.temporal import Earlier, TemporalState
from gossamer.topics.name_tree import NameEntry, NameSearch, NameTree

# The keys of what is remembered begin with it, and those of operators do not.
REMEMBERED: Final = "remembered "
_VALUES: Final = REMEMBERED + "values"
# Entries that a search for topics looks at before it is asked again.
_STEPS: Final = 1_000


class MemoryLimits:
    """What is remembered, and how much of it."""

    def __init__(
        self, filters: list[str], topics: int, size: int, fields: list[Field] | None = None
    ) -> None:
        self.filters = filters
        self.topics = topics
        self.size = size  # bytes
        self.fields: list[Field | None] = [None]  # of payloads; None for all of it
        if fields is not None:
            self.fields += fields


class _Topic(NameEntry):
    """In the index of all topics; `holders` is in how many tables it is."""

    __slots__ = ("holders", "topic")

    def __init__(self, topic: str) -> None:
        self.topic = topic
        self.holders = 0

    def name(self) -> str:
        return self.topic


class TopicSearch:
    """Some topics at a time."""

    def __init__(self, index: NameTree, reads: tuple[str, ...]) -> None:
        self._index = index
        self._reads = reads
        self._next = 0
        self._names: NameSearch | None = None

    def is_done(self) -> bool:
        return self._names is None and self._next >= len(self._reads)

    def take(self, most: int) -> list[str]:
        """So many at most, and fewer where there is much to look through."""
        found: list[str] = []
        while len(found) < most and not self.is_done():
            names = self._names
            if names is None:
                names = self._names = self._index.search(self._reads[self._next])
                self._next += 1
            found += [entry.name() for entry in names.take(most - len(found), _STEPS)]
            if not names.is_done():
                break
            self._names = None
        return found


class Memory:
    """All that is remembered."""

    def __init__(self, limits: MemoryLimits, windows: list[Window], services: Services) -> None:
        self.limits = limits
        self._services = services
        self._index = NameTree()
        self.values = RememberedValues(self, services)
        self.windows = [
            RememberedWindow(self, services, window, field)
            for window in windows
            for field in limits.fields
        ]

    def __len__(self) -> int:
        return len(self._index)

    def states(self) -> list[OperatorState]:
        return [self.values, *self.windows]

    def accept(self, publication: Publication, now: float) -> None:
        self.values.enter(publication, now)
        for window in self.windows:
            window.enter(publication, now)

    def begin(self, now: float) -> None:
        """From now on, unless an earlier process began before."""
        for window in self.windows:
            window.begin(now)

    def covers(self, plan: OperatorPlan) -> bool:
        """Whether all that the operator reads is remembered."""
        return plan.is_within(self.limits.filters)

    def window_for(self, state: TemporalState) -> "RememberedWindow | None":
        """What is counted for such an operator, if anything is."""
        if state.plan.processor is None and not state.plan.has_steps():
            for window in self.windows:
                if window.serves(state):
                    return window
        return None

    def search(self, reads: tuple[str, ...]) -> "TopicSearch":
        """The topics that one of the filters matches; one that several match comes again."""
        return TopicSearch(self._index, reads)

    # Topics and bytes ---------------------------------------------------------------------------

    def hold(self, topic: str) -> bool:
        """A table begins to remember the topic; False if there are too many."""
        entry = self._index.get(topic)
        if entry is None:
            if len(self._index) >= self.limits.topics:
                self._services.skip(TOO_MANY_TOPICS)
                return False
            entry = _Topic(topic)
            self._index.put(entry)
        assert isinstance(entry, _Topic)
        entry.holders += 1
        return True

    def leave(self, topic: str) -> None:
        """A table remembers it no more."""
        entry = self._index.get(topic)
        assert isinstance(entry, _Topic)
        entry.holders -= 1
        if not entry.holders:
            self._index.remove(topic)

    def has_room(self, size: int) -> bool:
        held = self.values.held
        for window in self.windows:
            held += window.held
        account = self._services.account
        if held + size > self.limits.size or account.held + size > account.budget:
            account.refused += 1
            self._services.skip(NO_ROOM)
            return False
        return True


class RememberedValue(LastValue):
    """The payload that a topic had last."""

    __slots__ = ("content_type", "payload")

    def __init__(
        self, payload: bytes, content_type: str | None, expires_at: float, order: int
    ) -> None:
        super().__init__(0.0, expires_at, order)
        self.payload = payload
        self.content_type = content_type

    def size(self, topic: str) -> int:
        return topic_bytes(topic) + len(self.payload)


class RememberedValues(OperatorState):
    """By topic, whatever it is: a number, a document, an image if it is not too large."""

    def __init__(self, memory: Memory, services: Services) -> None:
        filters = tuple(memory.limits.filters)
        plan = OperatorPlan("", "#", filters, (), None, (), None, None)
        super().__init__(_VALUES, plan, services)
        self._memory = memory
        self._last = LastValues()
        self.order = 0  # of the latest: the microsecond that it came in, or the next free one

    def enter(self, publication: Publication, now: float) -> list[OperatorResult]:
        self._expire(now)
        topic = publication.topic
        self.order = max(self.order + 1, int((now + self.services.wall_offset) * 1e6))
        value = RememberedValue(
            publication.payload,
            publication.content_type(),
            self.valid_until(publication, now),
            self.order,
        )
        is_fit = len(value.payload) <= self.services.limits.last_result_bytes
        if not is_fit or value.expires_at <= now or not self._put(topic, value):
            self._forget(topic)
        return []

    def find(self, topic: str, now: float) -> RememberedValue | None:
        """What is valid of that topic."""
        value = self._last.values.get(topic)
        if value is None or value.expires_at <= now:
            return None
        assert isinstance(value, RememberedValue)
        return value

    def last_results(self, now: float) -> list[OperatorResult]:
        return []

    def part(self, name: str) -> bytes | None:
        value = self._last.values.get(name)
        if value is None:
            return None
        assert isinstance(value, RememberedValue)
        head = [SAVED_VERSION, value.expires_at, value.order, value.content_type]
        return json.dumps(head).encode() + b"\n" + value.payload

    def restore(self, parts: list[tuple[str, bytes]], now: float) -> None:
        for topic, part in parts:
            try:
                head, _, payload = part.partition(b"\n")
                version, expires_at, order, content_type = json.loads(head)
                if version != SAVED_VERSION or expires_at <= now:
                    raise ValueError("of another version, or not valid any more")
                value = RememberedValue(payload, content_type, float(expires_at), int(order))
            except (ValueError, TypeError):
                self.mark(topic)
                continue
            self.order = max(self.order, value.order)
            if self._put(topic, value):
                self.changed.discard(topic)

    def _put(self, topic: str, value: RememberedValue) -> bool:
        old = self._last.values.get(topic)
        before = 0
        if old is not None:
            assert isinstance(old, RememberedValue)
            before = old.size(topic)
        growth = value.size(topic) - before
        if growth > 0 and not self._memory.has_room(growth):
            return False
        if old is None and not self._memory.hold(topic):
            return False
        self.weigh(growth)
        self._last.put(topic, value)
        self.mark(topic)
        return True

    def _expire(self, now: float) -> None:
        for topic, value in self._last.take_expired(now):
            self._left(topic, value)

    def _forget(self, topic: str) -> None:
        old = self._last.remove(topic)
        if old is not None:
            self._left(topic, old)

    def _left(self, topic: str, value: LastValue) -> None:
        assert isinstance(value, RememberedValue)
        self.weigh(-value.size(topic))
        self._memory.leave(topic)
        self.mark(topic)


class RememberedWindow(TemporalState):
    """What each topic published in the open window of one length: payloads that are numbers, or
    one field of them. `since` is from when on that was counted, by the wall clock."""

    def __init__(
        self, memory: Memory, services: Services, window: Window, field: Field | None
    ) -> None:
        filters = tuple(memory.limits.filters)
        temporal = TemporalNode(window, next(iter(AGGREGATES)), field)
        plan = OperatorPlan("", "#", filters, (), None, (), temporal, None)
        name = window.keyword if field is None else f"{window.keyword} {field.text}"
        super().__init__(REMEMBERED + name, plan, services, temporal)
        self._function = STATISTICS
        self._memory = memory
        self._steps = () if field is None else field.steps
        self._watchers: dict[str, TemporalState] = {}
        self.earlier = _EarlierCounts(self)
        self.since = 0.0

    def serves(self, state: TemporalState) -> bool:
        temporal = state.plan.temporal
        assert temporal is not None
        steps = () if temporal.field is None else temporal.field.steps
        own, window = self._window, temporal.window
        is_same = window.seconds == own.seconds and window.zone is own.zone
        return window.tumbles and is_same and steps == self._steps

    def begin(self, now: float) -> None:
        wall = now + self.services.wall_offset
        self.since = wall if self.since == 0.0 else min(self.since, wall)
        self.mark("")

    def show(self, state: TemporalState, now: float) -> bool:
        """Lets an operator that begins now take from it, until its window ends. Whether there is
        anything to take."""
        state.follow(self._fired_until, self._order)
        if not self.is_open():
            return False
        state.look_back(self.earlier, now)
        self._watchers[state.key] = state
        return True

    def watched_no_more(self, state: TemporalState) -> None:
        self._watchers.pop(state.key, None)

    def enter(self, publication: Publication, now: float) -> list[OperatorResult]:
        wall = now + self.services.wall_offset
        if wall >= self._end:
            self.fire()
        value = publication.as_number(self._field)
        if value == value:  # what is no number is no fault: nobody has asked for one
            self.open_for(wall)
            self.count(publication.topic, value, wall)
            self.earlier.latest = publication
        return []

    def fire(self) -> list[OperatorResult]:
        for state in list(self._watchers.values()):
            state.take_rest()
        for topic in self.close():
            self._memory.leave(topic)
        return []

    def reserve(self, size: int) -> bool:
        if not self._memory.has_room(size):
            return False
        self.weigh(size)
        return True

    def find(self, topic: str, start: float) -> Statistics | None:
        if start != self._start:
            return None
        found = self._topics.get(topic)
        if found is None:
            return None
        assert isinstance(found, Statistics)
        return found

    def topics(self, reads: tuple[str, ...]) -> list[str]:
        found: list[str] = []
        search = self._memory.search(reads)
        while not search.is_done():
            found += search.take(_STEPS)
        return found

    def part(self, name: str) -> bytes | None:
        if name:
            return super().part(name)
        said = [SAVED_VERSION, self._start, [], self.since, self._fired_until]
        said.append(list(self.plan.reads))
        return json.dumps(said).encode()

    def restore(self, parts: list[tuple[str, bytes]], now: float) -> None:
        for name, part in parts:
            if not name:
                try:
                    _, _, _, since, fired_until, filters = json.loads(part)
                    self._fired_until = float(fired_until)
                    # Of other filters nobody can say since when all of it is counted.
                    if filters == list(self.plan.reads):
                        self.since = float(since)
                except (ValueError, TypeError):
                    self.mark(name)
        super().restore(parts, now)

    def holds(self, topic: str) -> bool:
        return self._memory.hold(topic)

    def size_of(self, topic: str) -> int:
        return topic_bytes(topic) + STATISTICS_BYTES


class _EarlierCounts(Earlier):
    """How operators see it."""

    def __init__(self, window: RememberedWindow) -> None:
        super().__init__()
        self._window = window

    def find(self, topic: str, start: float, function: str) -> Aggregate | None:
        found = self._window.find(topic, start)
        return None if found is None else found.of(function)

    def topics(self, reads: tuple[str, ...]) -> list[str]:
        return self._window.topics(reads)

    def left(self, state: TemporalState) -> None:
        self._window.watched_no_more(state)
