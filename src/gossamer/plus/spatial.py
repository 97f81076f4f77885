"""Aggregates over topics: the last valid values of all that match, at each publication."""

import json
from heapq import heapify, heappop, heappush
from typing import Final

from gossamer.plus.entered_values import ToldValue
from gossamer.plus.limits import topic_bytes
from gossamer.plus.plan import OperatorPlan, SpatialNode
from gossamer.plus.publication import OVERFLOW, TOO_MANY_TOPICS, Publication
from gossamer.plus.registry import AGGREGATES
from gossamer.plus.result_topics import ReplyTopic
from gossamer.plus.rules import PASSES, SKIPPED, admits_all, checks_of, judge_all
from gossamer.plus.state import SAVED_VERSION, OperatorResult, OperatorState, Services
from gossamer.plus.values import INFINITY

# How a value came here: from a client, over a link as it was published, or told by the broker where
# it was published.
HERE: Final = 0
DRAWN: Final = 1
TOLD: Final = 2
# Topics of which it is remembered when they left, for what is told late.
_MOST_LEFT: Final = 1_000


_NO_ORDER: Final = -1


class LastValue:
    __slots__ = ("expires_at", "order", "queued_at", "source", "value")

    def __init__(self, value: float, expires_at: float, order: int, source: int = HERE) -> None:
        self.value = value
        self.expires_at = expires_at
        # The microsecond that it came in, by the clock of the broker where it entered, or the next
        # free one: no two values have the same.
        self.order = order
        self.source = source
        self.queued_at = 0.0  # the time of its entry in the heap, never after `expires_at`


class LastValues:
    """The last value of each topic, for as long as it is valid.

    Expiry costs nothing while values keep coming: a topic has one entry in the heap of expiry
    times, and it is looked at again only when that time has come.
    """

    __slots__ = ("_expiries", "values")

    def __init__(self) -> None:
        self.values: dict[str, LastValue] = {}
        self._expiries: list[tuple[float, str]] = []

    def put(self, topic: str, value: LastValue) -> LastValue | None:
        """The value that it replaces, if any."""
        old = self.values.get(topic)
        self.values[topic] = value
        if old is not None and old.queued_at <= value.expires_at:
            value.queued_at = old.queued_at
        else:
            value.queued_at = value.expires_at
            heappush(self._expiries, (value.expires_at, topic))
            # Expiry times that keep shrinking leave an entry behind each time.
            if len(self._expiries) > 2 * len(self.values) + 64:
                self._rebuild()
        return old

    def remove(self, topic: str) -> LastValue | None:
        return self.values.pop(topic, None)

    def next_look(self) -> float:
        """Before then, none is expired."""
        return self._expiries[0][0] if self._expiries else INFINITY

    def take_expired(self, now: float) -> list[tuple[str, LastValue]]:
        """Removes those that are no longer valid and returns them."""
        expired: list[tuple[str, LastValue]] = []
        while self._expiries and self._expiries[0][0] <= now:
            at, topic = heappop(self._expiries)
            value = self.values.get(topic)
            if value is None or value.queued_at != at:
                continue
            if value.expires_at <= now:
                del self.values[topic]
                expired.append((topic, value))
            else:
                value.queued_at = value.expires_at
                heappush(self._expiries, (value.expires_at, topic))
        return expired

    def _rebuild(self) -> None:
        for value in self.values.values():
            value.queued_at = value.expires_at
        self._expiries = [(value.expires_at, topic) for topic, value in self.values.items()]
        heapify(self._expiries)


class SpatialState(OperatorState):
    """A publication changes one value and costs the same with ten topics and ten thousand.

    With a minimum interval, a result that comes too early is owed: it is sent when the interval is
    over, with the values valid then.

    While it `learns`, other brokers tell what their clients published: the latest value of a topic
    counts, by the clocks of the brokers where values entered. What comes over a link as it was
    published (`is_drawn`) counts only where nothing else is known of its topic.
    """

    def __init__(
        self,
        key: str,
        plan: OperatorPlan,
        services: Services,
        spatial: SpatialNode,
        names_participants: bool,
        every: float,
    ) -> None:
        super().__init__(key, plan, services)
        function = AGGREGATES[spatial.function]
        self._field = spatial.field
        self._aggregate = function.moving()
        self._write = function.write
        self._inner = checks_of(plan.inner)
        self._outer = checks_of(plan.outer)
        self._reply = ReplyTopic(plan, names_participants)
        self.every = every
        self._sent_at = -INFINITY
        self._last = LastValues()
        self._order = 0
        self._first_order = 0
        self.least = 0  # topics that must take part
        self.learns = False
        self.is_drawn = False  # what enters next
        self._orders: set[int] = set()  # of all values, once something was told
        self._left: dict[str, int] = {}  # topics that took no part any more, and from when on

    def learn(self, values: dict[str, ToldValue], now: float) -> list[OperatorResult]:
        """What another broker tells."""
        self._expire(now)
        if not self._orders:
            self._orders = {value.order for value in self._last.values.values()}
        has_changed = False
        for topic, told in values.items():
            if not self._is_news(topic, told):
                continue
            expires_at = told.valid_until - self.services.wall_offset
            if not told.is_out and expires_at > now:
                order = self._free(told.order)
                if self._put(topic, told.value, expires_at, order, TOLD):
                    has_changed = True
            else:
                if len(self._left) >= _MOST_LEFT:
                    del self._left[next(iter(self._left))]
                self._left[topic] = told.order
                if self._leave(topic):
                    has_changed = True
        return self._send(now) if has_changed else []

    def topics(self) -> int:
        return len(self._last.values)

    def _is_news(self, topic: str, told: ToldValue) -> bool:
        old = self._last.values.get(topic)
        if old is None:
            return told.order > self._left.get(topic, -1)
        if old.source == DRAWN:
            return self.learns  # else all that is published comes here, in its order
        return told.order > old.order

    def enter(self, publication: Publication, now: float) -> list[OperatorResult]:
        self._expire(now)
        verdict = judge_all(self._inner, publication)
        if verdict == SKIPPED:
            self.services.skip(publication.trouble)
            return []
        value = publication.as_number(self._field)
        if value != value:
            self.services.skip(publication.trouble)
            return []
        expires_at = self.valid_until(publication, now)
        takes_part = verdict == PASSES and expires_at > now
        return self._enter_value(publication.topic, value, expires_at, takes_part, now)

    def leave(self, topic: str, now: float) -> list[OperatorResult]:
        self._expire(now)
        return self._send(now) if self._leave(topic) else []

    def begin_after(self, order: int) -> None:
        """What was published before it began has an order up to that."""
        self._order = max(self._order, order)
        self._first_order = self._order
        # No two may have the same; the one that none has keeps them noted from now on.
        self._orders = {value.order for value in self._last.values.values()}
        self._orders.add(_NO_ORDER)

    def first_order(self) -> int:
        """Whatever is in from before it began has a lower one."""
        return self._first_order

    def put_past(self, topic: str, value: float, expires_at: float, order: int) -> None:
        """A value from before it began, on a topic that has none since."""
        known = self._last.values.get(topic)
        if known is None or known.order < self._first_order:
            self._put(topic, value, expires_at, self._free(order))

    def valid_values(self, now: float) -> list[tuple[str, LastValue]]:
        """In the order in which they came."""
        self._expire(now)
        return sorted(self._last.values.items(), key=lambda item: item[1].order)

    def take_up(self, publication: Publication, order: int, now: float) -> None:
        """The last value that a topic had before it began, in its place of the order."""
        verdict = judge_all(self._inner, publication)
        value = publication.as_number(self._field)
        if verdict == SKIPPED or value != value:
            return
        expires_at = self.valid_until(publication, now)
        if verdict == PASSES and expires_at > now:
            self._put(publication.topic, value, expires_at, self._free(order))
        else:
            self._leave(publication.topic)

    def _free(self, order: int) -> int:
        while order in self._orders:
            order += 1
        return order

    def tick(self, now: float) -> list[OperatorResult]:
        self._expire(now)
        self._sent_at = now
        return self._results()

    def last_results(self, now: float) -> list[OperatorResult]:
        """Made anew from the values valid now."""
        self._expire(now)
        return self._results()

    def clock_set(self, now: float) -> None:
        if self._sent_at > now:
            self._sent_at = now
        if self.due != INFINITY and self.due > now + self.every:
            self.services.schedule(self, now + self.every)

    def part(self, name: str) -> bytes | None:
        value = self._last.values.get(name)
        if value is None:
            return None
        saved = [SAVED_VERSION, value.value, value.expires_at, value.order]
        return json.dumps(saved).encode()

    def restore(self, parts: list[tuple[str, bytes]], now: float) -> None:
        found: list[tuple[int, str, float, float]] = []
        for topic, part in parts:
            try:
                version, value, expires_at, order = json.loads(part)
                if version == SAVED_VERSION and expires_at > now:
                    found.append((int(order), topic, float(value), float(expires_at)))
                else:
                    self.mark(topic)
            except (ValueError, TypeError):
                self.mark(topic)
        for order, topic, value, expires_at in sorted(found):
            self._order = order
            if self._put(topic, value, expires_at, order):
                self.changed.discard(topic)

    def _enter_value(
        self, topic: str, value: float, expires_at: float, takes_part: bool, now: float
    ) -> list[OperatorResult]:
        self._order = max(self._order + 1, int((now + self.services.wall_offset) * 1e6))
        if self.learns and self._is_outdated(topic):
            return []
        if takes_part:
            source = DRAWN if self.is_drawn else HERE
            is_put = self._put(topic, value, expires_at, self._order, source)
            return self._send(now) if is_put else []
        # The topic's last value is one that takes no part: whatever it had before is outdated.
        return self._send(now) if self._leave(topic) else []

    def _is_outdated(self, topic: str) -> bool:
        """Whether what enters now is no news of the topic. What was drawn may be late, and nothing
        says when it entered."""
        old = self._last.values.get(topic)
        if old is None:
            return self.is_drawn and topic in self._left
        if self.is_drawn:
            return old.source != DRAWN
        return old.source == TOLD and old.order >= self._order

    def _put(
        self, topic: str, value: float, expires_at: float, order: int, source: int = HERE
    ) -> bool:
        """False if there is no room for another topic."""
        values = self._last.values
        if topic not in values and len(values) >= self.services.limits.topics:
            self.services.skip(TOO_MANY_TOPICS)
            return False
        if topic not in values and not self.reserve(topic_bytes(topic)):
            return False
        old = self._last.put(topic, LastValue(value, expires_at, order, source))
        if self._orders:
            self._orders.add(order)
        if old is not None:
            self._orders.discard(old.order)
            self._aggregate.remove(old.value, old.order)
        else:
            self._reply.join(topic)
        self._aggregate.add(value, order)
        self.mark(topic)
        return True

    def _leave(self, topic: str) -> bool:
        """Whether it took part."""
        old = self._last.remove(topic)
        if old is None:
            return False
        self._forget(topic, old)
        return True

    def _expire(self, now: float) -> None:
        if now < self._last.next_look():
            return
        for topic, value in self._last.take_expired(now):
            self._forget(topic, value)

    def _forget(self, topic: str, value: LastValue) -> None:
        self.weigh(-topic_bytes(topic))
        self._orders.discard(value.order)
        self._aggregate.remove(value.value, value.order)
        self._reply.leave(topic)
        self.mark(topic)

    def _send(self, now: float) -> list[OperatorResult]:
        if self.every > 0.0:
            if self.due != INFINITY:
                return []
            if self._sent_at <= now < self._sent_at + self.every:
                self.services.schedule(self, self._sent_at + self.every)
                return []
            self._sent_at = now
        return self._results()

    def _results(self) -> list[OperatorResult]:
        if not self._last.values or len(self._last.values) < self.least:
            return []
        value = self._aggregate.result()
        if abs(value) == INFINITY:
            self.services.skip(OVERFLOW)
            return []
        if not admits_all(self._outer, value):
            return []
        result = OperatorResult(self._reply.topic(), self._write(value))
        result.user = self._reply.properties()
        return [result]
