"""What the results of windows must say, whatever befalls the brokers that count them.

Of each result it is known which publications are in it, and how often (`trials/window_plan.py`). In
the end every acknowledged publication at QoS 1 and 2 is in the results of whoever has subscribed
since before the round, at QoS 2 exactly once; nothing is in two of them, and nothing that nobody
published. Each is counted by the clock of the broker where it entered: a result has what entered in
one window. One that lacks something names the broker where that entered, or says that it began
late; what comes later corrects it, at most once for each broker.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from gossamer.mesh.aggregates.subscribed import (
    CORRECTION_PROPERTY,
    MISSING_PROPERTY,
)
from gossamer.plus.publication import read_time
from gossamer.plus.temporal import SINCE_PROPERTY
from gossamer.wire.packets import Publish
from gossamer_lab.trials.publications import PublicationKey, TrialPublication
from gossamer_lab.trials.windows import OVER_TOPICS, TICK, digit_of, digits_of, value_of

# The broker that a client is connected to, and what its clock shows.
Whereabouts = Callable[[str], tuple[str, float]]
_NEVER: Final = math.inf


@dataclass
class WindowPublication:
    """`first` and `last` are numbers of windows: it is counted in one of them, or between."""

    publication: TrialPublication
    first: int
    brokers: set[str]
    readers: set[int]  # who had subscribed since before the round, by subscription identifier
    last: float = _NEVER

    def surely(self) -> float:
        """The window that it is counted in, if that is certain."""
        return self.first if self.first == self.last else _NEVER


@dataclass
class WindowResult:
    """The latest of one window and topic: how often each digit is in it."""

    counts: dict[int, int]
    corrections: int = 0


class WindowOracle:
    """`slack` is by how many windows clocks may be set back; `is_partial` unless messages travel:
    then they count when they arrive. In a mesh that `is_calm` nothing is ever missing."""

    def __init__(self, fault: Callable[[str], None]) -> None:
        self.fault = fault
        self.whereabouts: Whereabouts = lambda client: ("", 0.0)
        self.brokers = 0
        self.slack = 0
        self.is_partial = True
        self.is_calm = False
        self.results = 0
        self.incomplete = 0
        self.corrections = 0
        self._published: dict[int, WindowPublication] = {}  # by digit
        self._by_key: dict[PublicationKey, WindowPublication] = {}
        self._results: dict[tuple[int, str], list[WindowResult]] = {}

    def publishing(self, publication: TrialPublication, readers: set[int]) -> None:
        """`readers` are the subscriptions that all brokers have known since before the round."""
        value = value_of(publication)
        if not value:
            return
        broker, wall = self.whereabouts(publication.key.publisher)
        first = self._number(wall) - self.slack
        made = WindowPublication(publication, first, {broker}, set(readers))
        self._published[digit_of(value)] = made
        self._by_key[publication.key] = made

    def acknowledged(self, key: PublicationKey) -> None:
        known = self._by_key.get(key)
        if known is not None:
            broker, wall = self.whereabouts(key.publisher)
            known.brokers.add(broker)
            known.last = self._number(wall) + self.slack

    def touched(self, identifier: int) -> None:
        """A subscription is in doubt: nothing is required for it that was published before."""
        for known in self._published.values():
            known.readers.discard(identifier)

    def received(self, client: str, identifier: int, prefix: str, packet: Publish) -> None:
        """A result, for this subscription."""
        if packet.retain:
            return  # the last one, once more
        what = f"{client} got {packet.payload.decode()} on {packet.topic}"
        counts = self._read(packet.payload, what)
        if counts is None:
            return
        topic = packet.topic.removeprefix(prefix)
        is_of_all = prefix.startswith(OVER_TOPICS)
        for digit, count in counts.items():
            publication = self._published[digit].publication
            if not is_of_all and publication.topic != topic:
                self.fault(f"{what}, with {publication.key} of another topic")
            if count > 1 and publication.qos != 1:
                self.fault(f"{what}, with {publication.key} {count} times")
        user = packet.properties.user if packet.properties is not None else []
        missing = {value for name, value in user if name == MISSING_PROPERTY}
        begins = [value for name, value in user if name == CORRECTION_PROPERTY]
        self.results += 1
        self.incomplete += 1 if missing else 0
        is_late = any(name == SINCE_PROPERTY for name, _ in user)
        if self.is_calm and not is_late and (missing or begins):
            self.fault(f"{what}, without {missing}, though nothing happened")
        number = self._window_of(counts, begins, what)
        self._enter(identifier, packet.topic, counts, bool(begins), what)
        if number == _NEVER or is_late:
            return
        for digit, known in self._published.items():
            publication = known.publication
            if (
                digit not in counts
                and known.surely() == number
                and publication.acknowledged
                and publication.qos
                and identifier in known.readers
                and (is_of_all or publication.topic == topic)
                and not known.brokers & missing
            ):
                self.fault(f"{what}, without {publication.key} of {known.brokers}, and not said so")

    def judge(self) -> None:
        """At rest, when all windows have ended."""
        for known in self._published.values():
            publication = known.publication
            for identifier in known.readers:
                count = self._count(identifier, publication)
                if publication.acknowledged and publication.qos and not count:
                    self.fault(
                        f"{publication.key} of {known.brokers} in {known.first} to {known.last} is "
                        f"in no window of subscription {identifier}"
                    )
                if count > 1 and publication.qos != 1:
                    self.fault(f"{publication.key} is {count} times in windows of {identifier}")

    def _count(self, identifier: int, publication: TrialPublication) -> int:
        digit = digit_of(value_of(publication))
        return sum(
            result.counts.get(digit, 0)
            for (reader, _), results in self._results.items()
            if reader == identifier
            for result in results
        )

    def _read(self, payload: bytes, what: str) -> dict[int, int] | None:
        """How often it has each digit."""
        try:
            total = int(float(payload))
        except ValueError:
            self.fault(f"{what}, which is no sum")
            return None
        counts = digits_of(total)
        if not counts or not set(counts) <= set(self._published):
            self.fault(f"{what}, with something that nobody published")
            return None
        return counts

    def _window_of(self, counts: dict[int, int], begins: list[str], what: str) -> float:
        """The number of the window that a result is of, if that is certain."""
        if not self.is_partial:
            return _NEVER
        spans = [self._published[digit] for digit in counts]
        first: float = max(known.first for known in spans)
        last = min(known.last for known in spans)
        if begins:
            number = self._number(read_time(begins[0]))
            first, last = max(first, number), min(last, number)
        if first > last:
            self.fault(f"{what}, of several windows: {[(s.first, s.last) for s in spans]} {begins}")
        return first if first == last else _NEVER

    def _enter(
        self, identifier: int, topic: str, counts: dict[int, int], is_correction: bool, what: str
    ) -> None:
        """Beside those of other windows, or in the place of what it corrects."""
        results = self._results.setdefault((identifier, topic), [])
        if is_correction:
            self.corrections += 1
            for earlier in results:
                if all(counts.get(digit, 0) >= times for digit, times in earlier.counts.items()):
                    earlier.counts = counts
                    earlier.corrections += 1
                    if earlier.corrections > self.brokers:
                        self.fault(f"{what}, a window that was corrected too often")
                    return
        for earlier in results:
            for digit in counts.keys() & earlier.counts.keys():
                publication = self._published[digit].publication
                if publication.qos != 1:
                    self.fault(f"{what}, with {publication.key} of an earlier window")
        results.append(WindowResult(counts))

    def _number(self, wall: float) -> int:
        return math.floor(wall / TICK.seconds)
