"""What one broker of several knows of an aggregate over topics: no results, but the last values
that entered here, until they are told to those who put the values of all brokers together.

A topic that changes often is told as it is when the time has come: that is what saves messages.
What is not told yet is saved, and what was told to everybody is forgotten.
"""

import json
from itertools import islice

from gossamer.plus.limits import topic_bytes
from gossamer.plus.plan import OperatorPlan, SpatialNode
from gossamer.plus.publication import TOO_MANY_TOPICS, Publication
from gossamer.plus.rules import PASSES, SKIPPED, checks_of, judge_all
from gossamer.plus.state import SAVED_VERSION, OperatorResult, OperatorState, Services


class ToldValue:
    """The last value of a topic at the broker where it entered; one that takes no part in the
    aggregate `is_out`. Times are those of that broker's wall clock: `order` when it entered, in
    microseconds, `valid_until` in seconds."""

    __slots__ = ("is_out", "order", "valid_until", "value")

    def __init__(self, value: float, is_out: bool, order: int, valid_until: float) -> None:
        self.value = value
        self.is_out = is_out
        self.order = order
        self.valid_until = valid_until


class EnteredValues(OperatorState):
    """`publications` and their `size` in bytes are counted since somebody last asked."""

    def __init__(
        self, key: str, plan: OperatorPlan, services: Services, spatial: SpatialNode
    ) -> None:
        super().__init__(key, plan, services)
        self._field = spatial.field
        self._inner = checks_of(plan.inner)
        self._order = 0
        self._values: dict[str, ToldValue] = {}
        self._untold: dict[str, dict[str, None]] = {}  # topics, by the broker that lacks them
        self.publications = 0
        self.size = 0

    def tell_to(self, brokers: list[str]) -> None:
        """These want the values, and no others."""
        for broker in [broker for broker in self._untold if broker not in brokers]:
            del self._untold[broker]
        for broker in brokers:
            if broker not in self._untold:
                self._untold[broker] = dict.fromkeys(self._values)
        self._forget_told(list(self._values))

    def enter(self, publication: Publication, now: float) -> list[OperatorResult]:
        verdict = judge_all(self._inner, publication)
        value = publication.as_number(self._field) if verdict != SKIPPED else 0.0
        if verdict == SKIPPED or value != value:
            self.services.skip(publication.trouble)
            return []
        valid_until = self.valid_until(publication, now)
        wall_offset = self.services.wall_offset
        self._order = max(self._order + 1, int((now + wall_offset) * 1e6))
        is_out = verdict != PASSES or valid_until <= now
        self._note(
            publication.topic,
            ToldValue(value, is_out, self._order, valid_until + wall_offset),
        )
        self.publications += 1
        self.size += len(publication.topic) + len(publication.payload)
        return []

    def take_up(self, publication: Publication, order: int, now: float) -> None:
        """The last value that a topic had before this began, with the time when it entered."""
        verdict = judge_all(self._inner, publication)
        value = publication.as_number(self._field)
        known = self._values.get(publication.topic)
        if verdict == SKIPPED or value != value or (known is not None and known.order >= order):
            return
        valid_until = self.valid_until(publication, now)
        is_out = verdict != PASSES or valid_until <= now
        self._order = max(self._order, order)
        self._note(
            publication.topic,
            ToldValue(value, is_out, order, valid_until + self.services.wall_offset),
        )

    def take_untold(self, broker: str, most: int) -> dict[str, ToldValue]:
        """What that broker lacks, which it is told now: so many topics at most, the longest
        untold first."""
        untold = self._untold.get(broker)
        if not untold:
            return {}
        topics = list(islice(untold, most))
        values = {topic: self._values[topic] for topic in topics}
        for topic in topics:
            del untold[topic]
        self._forget_told(topics)
        return values

    def is_untold(self, broker: str) -> bool:
        return bool(self._untold.get(broker))

    def last_results(self, now: float) -> list[OperatorResult]:
        return []

    def part(self, name: str) -> bytes | None:
        value = self._values.get(name)
        if value is None:
            return None
        said = [SAVED_VERSION, value.value, value.is_out, value.order, value.valid_until]
        return json.dumps(said).encode()

    def restore(self, parts: list[tuple[str, bytes]], now: float) -> None:
        """Told or not, when the broker stopped: it does no harm to tell it again."""
        for topic, part in parts:
            try:
                version, value, is_out, order, valid_until = json.loads(part)
                if version != SAVED_VERSION:
                    raise ValueError(f"version {version}")
                told = ToldValue(float(value), bool(is_out), int(order), float(valid_until))
            except (ValueError, TypeError):
                self.mark(topic)
                continue
            self._order = max(self._order, told.order)
            self._note(topic, told)

    def _note(self, topic: str, value: ToldValue) -> None:
        if topic not in self._values:
            if len(self._values) >= self.services.limits.topics:
                self.services.skip(TOO_MANY_TOPICS)
                return
            if not self.reserve(topic_bytes(topic)):
                return
        self._values[topic] = value
        for topics in self._untold.values():
            topics[topic] = None
        self.mark(topic)

    def _forget_told(self, topics: list[str]) -> None:
        for topic in topics:
            if not any(topic in untold for untold in self._untold.values()):
                del self._values[topic]
                self.weigh(-topic_bytes(topic))
                self.mark(topic)
