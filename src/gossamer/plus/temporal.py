"""Aggregates over time: what each topic published in a window, sent when the window ends.

A spatial operator around it folds the topics' results into one, at the same moment.
"""

import json
from datetime import UTC, datetime
from typing import Final

from gossamer.plus.limits import BUCKET_BYTES, topic_bytes
from gossamer.plus.operators.aggregate import Aggregate
from gossamer.plus.plan import OperatorPlan, TemporalNode
from gossamer.plus.publication import OVERFLOW, TOO_MANY_TOPICS, Publication
from gossamer.plus.registry import AGGREGATES
from gossamer.plus.state import SAVED_VERSION, OperatorResult, OperatorState, Services
from gossamer.plus.values import INFINITY
from gossamer.plus.window_results import window_results

SINCE_PROPERTY: Final = "plus_since"  # of a result: what was published before is not in it


def written_time(wall: float) -> str:
    return datetime.fromtimestamp(wall, UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


class Earlier:
    """What the open window had counted before an operator began, topic by topic."""

    def __init__(self) -> None:
        self.latest: Publication | None = None  # of those that are in it

    def find(self, topic: str, start: float, function: str) -> Aggregate | None:
        """Of the window that began then."""
        raise NotImplementedError

    def topics(self, reads: tuple[str, ...]) -> list[str]:
        """All that one of the filters matches."""
        raise NotImplementedError

    def left(self, state: "TemporalState") -> None:
        """The state asks no more."""


class TemporalState(OperatorState):
    """One window is open while it has a value. The last window's results are kept for newcomers.

    Windows begin and end by the wall clock. One that is set forward past a window's end ends it,
    with what was counted. One that is set back moves the open window to the time that it shows,
    with what was counted; but a window that has fired is not opened again, so after less than a
    window back what comes is counted in the next one. A window that ended while the broker was
    down fires when it is back.
    """

    def __init__(
        self,
        key: str,
        plan: OperatorPlan,
        services: Services,
        temporal: TemporalNode,
        names_participants: bool = False,
    ) -> None:
        super().__init__(key, plan, services)
        self._function = AGGREGATES[temporal.function]
        self._field = temporal.field
        self._window = temporal.window
        self._results = window_results(plan, services, temporal, names_participants)
        self._start = 0.0  # by the wall clock, as the end
        self._end = INFINITY
        self._fired_until = 0.0  # the end of the last window that fired
        self._order = 0  # of the last value: the microsecond that it came in, or the next free one
        self._topics: dict[str, Aggregate] = {}
        self._topics_bytes = 0
        self._last: list[OperatorResult] = []
        self._last_bytes = 0
        self._earlier: Earlier | None = None
        # The start of the window that is still being read from an archive, and windows that ended
        # meanwhile.
        self._awaited = INFINITY
        self._held: list[tuple[float, dict[str, Aggregate]]] = []
        self._since = 0.0  # what the awaited window lacks is older than that
        self._restarts = False  # it was still being read when an earlier process ended

    def enter(self, publication: Publication, now: float) -> list[OperatorResult]:
        value = publication.as_number(self._field)
        if value != value:
            self.services.skip(publication.trouble)
            return []
        results: list[OperatorResult] = []
        wall = now + self.services.wall_offset
        while wall >= self._end:
            results += self.fire()
        self.open_for(wall)
        earlier = self._earlier
        if (
            earlier is not None
            and publication.topic not in self._topics
            and self._take_up(publication.topic, earlier)
            and earlier.latest is publication
        ):
            return results
        self.count(publication.topic, value, wall)
        return results

    def open_for(self, wall: float) -> None:
        """For a value of that time."""
        if not self._start <= wall < self._end or not self._topics:
            self._open(wall)

    def count(self, topic: str, value: float, wall: float) -> None:
        """A value that belongs to the open window."""
        self._order = max(self._order + 1, int(wall * 1e6))
        self._count(topic, value)

    def tick(self, now: float) -> list[OperatorResult]:
        return self.fire()

    def require(self, least: int) -> None:
        """So many topics in a result that folds them."""
        self._results.least = least

    def is_open(self) -> bool:
        """Whether a window has a value, or may have one that was counted before it began."""
        return bool(self._topics) or self._earlier is not None or self._is_awaited()

    def follow(self, fired_until: float, order: int) -> None:
        """Windows up to that time are over, and values up to that order have come."""
        self._fired_until = max(self._fired_until, fired_until)
        self._order = max(self._order, order)

    def look_back(self, earlier: Earlier, now: float) -> None:
        """The open window has more than this state counts: it takes that up when it comes to the
        topic, and all the rest at the end."""
        if not self._topics:
            self._open(now + self.services.wall_offset)
        self._earlier = earlier

    def take_rest(self) -> None:
        """Everything that was counted before and not looked for yet; nothing is taken later."""
        earlier = self._earlier
        if earlier is None:
            return
        self._earlier = None
        earlier.left(self)
        for topic in earlier.topics(self.plan.reads):
            if topic not in self._topics:
                self._take_up(topic, earlier)

    def await_past(self, order: int, now: float) -> tuple[float, float]:
        """The open window has results only when what it had before this moment is in. When it
        begins and ends, by the wall clock."""
        wall = now + self.services.wall_offset
        if self._end == INFINITY:
            self._open(wall)
        self._order = max(self._order, order)
        self._awaited = self._start
        self._since = wall
        self.mark("")
        return self._start, self._end

    def is_awaiting(self) -> bool:
        """Whether something is still being read for it."""
        return self._awaited != INFINITY

    def _is_awaited(self) -> bool:
        """Whether that is for the open window."""
        return self._awaited == self._start and self._end != INFINITY

    def is_to_be_read_again(self) -> bool:
        """Whether an earlier process ended before all was in; asked once."""
        restarts = self._restarts
        self._restarts = False
        return restarts

    def merge_past(self, topic: str, counts: Aggregate, start: float) -> None:
        """What a topic had in the awaited window."""
        table = self._table(start)
        if table is None:
            return
        known = table.get(topic)
        if known is None:
            if table is not self._topics:
                table[topic] = counts
            elif self._begin(topic, counts):
                self.mark(topic)
            return
        before = known.buckets()
        known.merge(counts)
        if table is self._topics:
            self._weigh_buckets(known.buckets() - before)
            self.mark(topic)

    def past_is_in(self, is_whole: bool) -> list[OperatorResult]:
        """The results that have waited; they say since when they count if not all could be had."""
        held = self._held
        awaited = self._awaited
        self._held = []
        self._awaited = INFINITY
        if is_whole:
            self._since = 0.0
        self.mark("")
        results: list[OperatorResult] = []
        for start, topics in held:
            found = self._told(start, awaited, self.results_from(topics))
            if found:
                self.remember(found)
            results += found
        return results

    def _table(self, start: float) -> dict[str, Aggregate] | None:
        """What was counted in the window that began then."""
        if self._start == start and self._end != INFINITY:
            return self._topics
        for held, topics in self._held:
            if held == start:
                return topics
        return None

    def _told(
        self, start: float, awaited: float, results: list[OperatorResult]
    ) -> list[OperatorResult]:
        """With the time from which on they count, if that is within the window."""
        if self._since > start == awaited:
            for result in results:
                result.user = [*result.user, (SINCE_PROPERTY, written_time(self._since))]
        return results

    def released(self) -> None:
        if self._earlier is not None:
            self._earlier.left(self)
            self._earlier = None

    def last_results(self, now: float) -> list[OperatorResult]:
        return list(self._last)

    def clock_set(self, now: float) -> None:
        wall = now + self.services.wall_offset
        if self.is_open() and wall < self._start:
            self._open(wall)
        elif self.is_open():
            self.services.schedule(self, self._end - self.services.wall_offset)

    def part(self, name: str) -> bytes | None:
        if not name:
            last = [[result.topic, result.payload.decode()] for result in self._last]
            # If it is awaited, what else is saved is not all.
            said = [SAVED_VERSION, self._start, last, self._is_awaited(), self._fired_until]
            return json.dumps(said).encode()
        aggregate = self._topics.get(name)
        if aggregate is None:
            return None
        return json.dumps([SAVED_VERSION, *aggregate.save()]).encode()

    def restore(self, parts: list[tuple[str, bytes]], now: float) -> None:
        start = wall = now + self.services.wall_offset
        for name, part in parts:
            try:
                version, *saved = json.loads(part)
                if version != SAVED_VERSION:
                    raise ValueError(f"version {version}")
                if name:
                    aggregate = self._function.running()
                    aggregate.restore(saved)
                    if not self.holds(name):
                        raise ValueError("no room for another topic")
                    self._topics[name] = aggregate
                    self._order = max(self._order, aggregate.latest_order())
                    size = self.size_of(name) + BUCKET_BYTES * aggregate.buckets()
                    self._topics_bytes += size
                    self.weigh(size)
                else:
                    start = float(saved[0])
                    if len(saved) > 3 and isinstance(saved[2], bool):
                        self._restarts = saved[2]
                        self._fired_until = float(saved[3])
                    self.remember(
                        [OperatorResult(topic, text.encode()) for topic, text in saved[1]]
                    )
            except (ValueError, TypeError, IndexError, AttributeError):
                self.mark(name)
        if self._restarts:
            for topic in self._topics:
                self.mark(topic)
            self.weigh(-self._topics_bytes)
            self._topics_bytes = 0
            self._topics = {}
        if self._topics or self._restarts:
            self._open(min(start, wall))
        elif self._last:
            self._fired_until = self._window.end(self._window.start(start))

    def _open(self, wall: float) -> None:
        self._start = self._window.start(wall)
        if self._start < self._fired_until <= wall + self._window.seconds:
            self._start = self._fired_until
        self._end = self._window.end(self._start)
        self.mark("")
        self.services.schedule(self, self._end - self.services.wall_offset)

    def _count(self, topic: str, value: float) -> None:
        aggregate = self._topics.get(topic)
        if aggregate is None:
            aggregate = self._function.running()
            if not self._begin(topic, aggregate):
                return
        if not aggregate.grows:
            aggregate.add(value, self._order)
            self.mark(topic)
            return
        before = aggregate.buckets()
        if before and not self.reserve(0):
            return  # a sketch takes nothing more where there is no room for another bucket
        aggregate.add(value, self._order)
        self._weigh_buckets(aggregate.buckets() - before)
        self.mark(topic)

    def _weigh_buckets(self, grown: int) -> None:
        if grown:
            self.weigh(grown * BUCKET_BYTES)
            self._topics_bytes += grown * BUCKET_BYTES

    def _take_up(self, topic: str, earlier: Earlier) -> bool:
        """Whether the topic had been counted."""
        aggregate = earlier.find(topic, self._start, self._function.keyword)
        if aggregate is None or not self._begin(topic, aggregate):
            return False
        self.mark(topic)
        return True

    def _begin(self, topic: str, aggregate: Aggregate) -> bool:
        """False if there is no room for another topic."""
        if len(self._topics) >= self.services.limits.topics:
            self.services.skip(TOO_MANY_TOPICS)
            return False
        size = self.size_of(topic) + BUCKET_BYTES * aggregate.buckets()
        if not self.reserve(size):
            return False
        if not self.holds(topic):
            self.weigh(-size)
            return False
        self._topics_bytes += size
        self._topics[topic] = aggregate
        return True

    def holds(self, topic: str) -> bool:
        """It begins to count the topic; False if it may not."""
        return True

    def size_of(self, topic: str) -> int:
        """What counting it takes, without buckets."""
        return topic_bytes(topic)

    def fire(self) -> list[OperatorResult]:
        """The window ends."""
        start = self._start
        if self._is_awaited():
            self._held.append((start, self.close()))
            return []
        results = self._told(start, start, self.results_from(self.close()))
        self._since = 0.0
        if results:
            self.remember(results)
        return results

    def close(self) -> dict[str, Aggregate]:
        """What the open window counted, which it is not any more."""
        self.take_rest()
        topics = self._topics
        for topic in topics:
            self.mark(topic)
        self.mark("")
        self._topics = {}
        self.weigh(-self._topics_bytes)
        self._topics_bytes = 0
        self._fired_until = self._end
        self._end = INFINITY
        self.services.unschedule(self)
        return topics

    def results_from(self, topics: dict[str, Aggregate]) -> list[OperatorResult]:
        """What the counts of one window become."""
        values: list[tuple[str, float]] = []
        for topic, aggregate in topics.items():
            value = aggregate.result()
            if abs(value) == INFINITY:
                self.services.skip(OVERFLOW)
            else:
                values.append((topic, value))
        return self._results.of(values)

    def remember(self, results: list[OperatorResult]) -> None:
        """They cost less than the topics that they are of, which are gone now."""
        self._last = results
        self.weigh(-self._last_bytes)
        self._last_bytes = sum([topic_bytes(result.topic) for result in results])
        self.weigh(self._last_bytes)
