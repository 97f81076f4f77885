"""Windows that a gap ends: a topic's begins with a value, and ends when none came for so long.

Nothing of it goes by the clock on the wall, so that setting that does not matter.
"""

import json

from gossamer.plus.filter_operator import LastResults
from gossamer.plus.limits import BUCKET_BYTES, topic_bytes
from gossamer.plus.operators.aggregate import Aggregate
from gossamer.plus.plan import OperatorPlan, TemporalNode
from gossamer.plus.publication import OVERFLOW, TOO_MANY_TOPICS, Publication
from gossamer.plus.registry import AGGREGATES
from gossamer.plus.sequence import Deadlines, seconds_of
from gossamer.plus.state import SAVED_VERSION, OperatorResult, OperatorState, Services
from gossamer.plus.values import INFINITY
from gossamer.plus.window_results import WindowResults


class _OpenSession:
    """What one topic published since it spoke again, and when it did last."""

    __slots__ = ("aggregate", "latest", "size")

    def __init__(self, aggregate: Aggregate, latest: float, size: int) -> None:
        self.aggregate = aggregate
        self.latest = latest
        self.size = size


class SessionState(OperatorState):
    """The last result of each topic is kept for newcomers."""

    def __init__(
        self, key: str, plan: OperatorPlan, services: Services, temporal: TemporalNode
    ) -> None:
        super().__init__(key, plan, services)
        self._function = AGGREGATES[temporal.function]
        self._field = temporal.field
        self._gap = temporal.window.seconds
        self._results = WindowResults(plan, services, temporal)
        self._topics: dict[str, _OpenSession] = {}
        self._deadlines = Deadlines()
        self._order = 0
        self._last = LastResults()

    def enter(self, publication: Publication, now: float) -> list[OperatorResult]:
        results: list[OperatorResult] = []
        if self.due <= now:
            results = self.tick(now)
        value = publication.as_number(self._field)
        if value != value:
            self.services.skip(publication.trouble)
            return results
        topic = publication.topic
        known = self._topics.get(topic)
        if known is None:
            known = self._begin(topic, self._function.running(), now)
            if known is None:
                return results
        before = known.aggregate.buckets()
        if before and not self.reserve(0):
            return results
        self._order = max(self._order + 1, int((now + self.services.wall_offset) * 1e6))
        known.aggregate.add(value, self._order)
        known.latest = now
        grown = BUCKET_BYTES * (known.aggregate.buckets() - before)
        known.size += grown
        self.weigh(grown)
        self.mark(topic)
        return results

    def tick(self, now: float) -> list[OperatorResult]:
        results: list[OperatorResult] = []
        for topic in self._deadlines.take_due(now):
            known = self._topics.get(topic)
            if known is None:
                continue
            if known.latest + self._gap > now:
                self._deadlines.put(topic, known.latest + self._gap)
            else:
                results += self._end(topic, known)
        self._expect()
        return results

    def last_results(self, now: float) -> list[OperatorResult]:
        return self._last.valid(now)

    def clock_set(self, now: float) -> None:
        self._deadlines.forget_all()
        for topic, known in self._topics.items():
            known.latest = min(known.latest, now)
            self._deadlines.put(topic, known.latest + self._gap)
        self._expect()

    def part(self, name: str) -> bytes | None:
        known = self._topics.get(name)
        if known is None:
            return None
        return json.dumps([SAVED_VERSION, known.latest, *known.aggregate.save()]).encode()

    def restore(self, parts: list[tuple[str, bytes]], now: float) -> None:
        for topic, part in parts:
            try:
                version, latest, *saved = json.loads(part)
                if version != SAVED_VERSION:
                    raise ValueError(f"version {version}")
                aggregate = self._function.running()
                aggregate.restore(saved)
                self._begin(topic, aggregate, min(seconds_of(latest), now))
                self._order = max(self._order, aggregate.latest_order())
            except (ValueError, TypeError, IndexError):
                self.mark(topic)

    def _begin(self, topic: str, aggregate: Aggregate, now: float) -> _OpenSession | None:
        """None if there is no room for another topic."""
        if len(self._topics) >= self.services.limits.topics:
            self.services.skip(TOO_MANY_TOPICS)
            return None
        size = topic_bytes(topic) + BUCKET_BYTES * aggregate.buckets()
        if not self.reserve(size):
            return None
        known = _OpenSession(aggregate, now, size)
        self._topics[topic] = known
        self._deadlines.put(topic, now + self._gap)
        self._expect()
        return known

    def _end(self, topic: str, known: _OpenSession) -> list[OperatorResult]:
        del self._topics[topic]
        self.weigh(-known.size)
        self.mark(topic)
        value = known.aggregate.result()
        if abs(value) == INFINITY:
            self.services.skip(OVERFLOW)
            return []
        results = self._results.of([(topic, value)])
        for result in results:
            self._last.put(self, topic, result, INFINITY)
        return results

    def _expect(self) -> None:
        due = self._deadlines.next_due()
        if due == INFINITY:
            self.services.unschedule(self)
        else:
            self.services.schedule(self, due)
