"""One window of an operator at a broker that has subscribers to it: the counts of all brokers, each
taken once, become its result.

Nothing counts twice: a broker counts only what its own clients publish, and what a broker counted
in a window is taken once, however often it comes. A broker that counts since the window's middle
is taken too, and the result says since when; one that counts since its end has counted nothing.
"""

from __future__ import annotations

from typing import Final

from gossamer.plus.limits import BUCKET_BYTES, topic_bytes
from gossamer.plus.operators.aggregate import Aggregate
from gossamer.plus.partial_codec import Counts
from gossamer.plus.publication import TOO_MANY_TOPICS
from gossamer.plus.state import OperatorResult
from gossamer.plus.temporal import TemporalState
from gossamer.plus.values import INFINITY

# What waits for the rest of its pieces, beside its topics, and a window without any.
PART_BYTES: Final = 512


class Gathering:
    """`deadline` is when the result is sent without those that are missing; infinite until the
    window has ended here."""

    __slots__ = (
        "_parts",
        "_state",
        "counted",
        "deadline",
        "is_fired",
        "is_hurried",
        "number",
        "places",
        "sent",
        "since",
        "size",
        "topics",
    )

    def __init__(self, state: TemporalState, number: int, deadline: float) -> None:
        self._state = state
        self.number = number
        self.deadline = deadline
        self.is_hurried = True  # not waiting for brokers that cannot be reached
        self.is_fired = False
        self.counted = 0  # brokers that were in it when a result was sent last
        self.sent: dict[str, bytes] = {}  # payloads, by topic, while something may be corrected
        self.places: list[str] = []  # where the store has what came
        self.since: dict[str, float] = {}  # by broker whose counts are in it
        self.topics: Counts = {}
        self.size = PART_BYTES
        self._parts: dict[str, dict[int, Counts]] = {}
        state.weigh(PART_BYTES)

    def has_piece(self, broker: str, piece: int) -> bool:
        return broker in self.since or piece in self._parts.get(broker, ())

    def take(self, broker: str, since: float, piece: int, pieces: int, counts: Counts) -> bool:
        """A piece that it does not have; whether that was the last of the broker's."""
        if pieces > 1:
            parts = self._parts.get(broker, {})
            if len(parts) + 1 < pieces:
                size = _weight_of(counts)
                if self._state.reserve(size):
                    self.size += size
                    parts[piece] = counts
                    self._parts[broker] = parts
                return False
            self._parts.pop(broker, None)
            for early in parts.values():
                self._weigh(-_weight_of(early))
                self._merge(early)
        self._merge(counts)
        self.since[broker] = since
        return True

    def missing(self, brokers: set[str], end: float) -> list[str]:
        """Those of the brokers whose counts of the window, which ends there, are not in it."""
        since = self.since
        return sorted([each for each in brokers if not since.get(each, end) < end])

    def is_due(self, missing: list[str], reached: set[str], now: float) -> bool:
        """Whether the result is to be sent, though these are missing."""
        if self.deadline == INFINITY:
            return False
        if now >= self.deadline:
            return True
        waits = missing if not self.is_hurried else [each for each in missing if each in reached]
        return not waits

    def counted_since(self, start: float, end: float) -> float:
        """From when on it has what was published everywhere; `start` for all of the window."""
        return max([start, *[since for since in self.since.values() if since < end]])

    def note_sent(self, result: OperatorResult) -> None:
        """It may have to be corrected."""
        if result.topic not in self.sent:
            self._weigh(topic_bytes(result.topic))
        self.sent[result.topic] = result.payload

    def release(self) -> None:
        """It is needed no more."""
        self._weigh(-self.size)
        self.topics = {}
        self.sent = {}
        self._parts = {}

    def _merge(self, counts: Counts) -> None:
        """What there is no room for is left out, and counted, as it is on one broker."""
        state = self._state
        limits = state.services.limits
        for topic, aggregate in counts.items():
            known = self.topics.get(topic)
            if known is None:
                if len(self.topics) >= limits.topics:
                    state.services.skip(TOO_MANY_TOPICS)
                    continue
                size = _weight(topic, aggregate)
                if not state.reserve(size):
                    continue
                self.size += size
                self.topics[topic] = aggregate
                continue
            before = known.buckets()
            known.merge(aggregate)
            self._weigh((known.buckets() - before) * BUCKET_BYTES)

    def _weigh(self, change: int) -> None:
        self.size += change
        self._state.weigh(change)


def _weight_of(counts: Counts) -> int:
    return PART_BYTES + sum([_weight(*item) for item in counts.items()])


def _weight(topic: str, aggregate: Aggregate) -> int:
    return topic_bytes(topic) + BUCKET_BYTES * aggregate.buckets()
