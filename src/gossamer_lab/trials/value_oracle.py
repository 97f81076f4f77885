"""What the last result of a sum over topics must say, once nothing is published any more.

It is of the last value of each topic, as one broker would have it that saw everything. Which value
that is, is not always certain: of two that were published at about the same time, or that nobody
acknowledged, either may be the last. Each value is another power of four (`trials/window_plan.py`),
so the sum says which values are in it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from gossamer.wire.packets import Publish
from gossamer_lab.trials.publications import PublicationKey, TrialPublication
from gossamer_lab.trials.windows import digit_of, digits_of, value_of

# A publication that nobody acknowledges has entered by then, if it ever does.
_ENTERING_SECONDS: Final = 3.0


@dataclass
class ValuePublication:
    """Published and acknowledged at these times of the trial."""

    publication: TrialPublication
    began: float
    readers: set[int]  # who had subscribed since before the round, by subscription identifier
    ended: float

    def is_certain(self) -> bool:
        return self.publication.acknowledged and self.publication.qos > 0


class ValueOracle:
    """Two brokers disagree by no more than `slack` seconds about which of two values is later."""

    def __init__(self, fault: Callable[[str], None]) -> None:
        self.fault = fault
        self.now: Callable[[], float] = lambda: 0.0
        self.slack = 0.0
        self.is_partial = True
        self.results = 0
        self._published: dict[int, ValuePublication] = {}  # by digit
        self._by_key: dict[PublicationKey, ValuePublication] = {}
        self._last: dict[int, int] = {}  # the sum that came last, by subscription identifier
        self._who: dict[int, str] = {}

    def publishing(self, publication: TrialPublication, readers: set[int]) -> None:
        value = value_of(publication)
        if value:
            now = self.now()
            made = ValuePublication(publication, now, set(readers), now + _ENTERING_SECONDS)
            self._published[digit_of(value)] = made
            self._by_key[publication.key] = made

    def acknowledged(self, key: PublicationKey) -> None:
        known = self._by_key.get(key)
        if known is not None:
            known.ended = self.now()

    def touched(self, identifier: int) -> None:
        """A subscription is in doubt: nothing is required for it that was published before."""
        for known in self._published.values():
            known.readers.discard(identifier)

    def received(self, client: str, identifier: int, packet: Publish) -> None:
        self.results += 1
        self._who[identifier] = client
        self._last[identifier] = int(float(packet.payload))
        what = f"{client} got {packet.payload.decode()} on {packet.topic}"
        topics: set[str] = set()
        for digit, count in digits_of(self._last[identifier]).items():
            known = self._published.get(digit)
            if known is None:
                self.fault(f"{what}, with something that nobody published")
                continue
            topic = known.publication.topic
            if count > 1 or topic in topics:
                self.fault(f"{what}, with more than one value of {topic}")
            topics.add(topic)

    def judge(self) -> None:
        """At rest, some seconds after the last publication."""
        if not self.is_partial:
            return  # messages may overtake each other on links that are cut
        identifiers = {each for known in self._published.values() for each in known.readers}
        for identifier in identifiers:
            there = digits_of(self._last.get(identifier, 0))
            for topic in {known.publication.topic for known in self._published.values()}:
                self._judge_topic(identifier, topic, set(there))

    def _judge_topic(self, identifier: int, topic: str, there: set[int]) -> None:
        known = {
            digit: each
            for digit, each in self._published.items()
            if each.publication.topic == topic
        }
        if not any(each.is_certain() and identifier in each.readers for each in known.values()):
            return
        certain = [each.began for each in known.values() if each.is_certain()]
        possible = {
            digit
            for digit, each in known.items()
            if not any(began > each.ended + self.slack for began in certain)
        }
        if not there & possible:
            found = [str(known[digit].publication.key) for digit in there & set(known)]
            wanted = sorted(str(known[digit].publication.key) for digit in possible)
            self.fault(
                f"{self._who.get(identifier)} has {found or 'nothing'} of {topic} in its last sum, "
                f"and not one of {wanted}"
            )
