"""`$ABSENT;5min`: 1 once a topic has been silent for five minutes, and 0 when it speaks again.

The time begins with the topic's first publication; where the filter names the topic, with the
subscription.
"""

from typing import Final

from gossamer.plus.durations import read_wait
from gossamer.plus.operators.kinds import SequenceKind
from gossamer.plus.plan import Field
from gossamer.plus.publication import Publication
from gossamer.plus.sequence import Deadlines, Memory, SavedMemory, TopicStep, seconds_of
from gossamer.plus.state import OperatorState
from gossamer.plus.values import INFINITY

SILENT: Final = b"1"
SPEAKS: Final = b"0"


class Heard(Memory):
    """When it was heard of last, and whether it was said to be silent since."""

    __slots__ = ("at", "is_silent")

    def __init__(self, at: float) -> None:
        super().__init__()
        self.at = at
        self.is_silent = False

    def save(self) -> SavedMemory:
        return [self.at, float(self.is_silent)]


class Absent(TopicStep):
    forwards = False
    is_timed = True
    forgets = False  # whoever is silent would be forgotten first

    def __init__(self, mark: str, field: Field | None, seconds: float) -> None:
        super().__init__(mark, field)
        self._seconds = seconds
        self._deadlines = Deadlines()

    def begin(self, owner: OperatorState, topics: list[str], now: float) -> None:
        for topic in topics:
            if topic not in self.topics and self.remember(owner, topic, Heard(now)):
                self._expect(topic, now)
                owner.mark(self.mark + topic)

    def take(
        self, owner: OperatorState, publication: Publication, now: float
    ) -> Publication | None:
        topic = publication.topic
        known = self.topics.get(topic)
        if known is None:
            self.begin(owner, [topic], now)
            return None
        assert isinstance(known, Heard)
        known.at = now
        owner.mark(self.mark + topic)
        if not known.is_silent:
            return None
        known.is_silent = False
        self._expect(topic, now)
        return Publication(topic, SPEAKS, INFINITY)

    def _expect(self, topic: str, heard: float) -> None:
        self._deadlines.put(topic, heard + self._seconds)
        self.due = self._deadlines.next_due()

    def tick(self, owner: OperatorState, now: float) -> list[Publication]:
        found: list[Publication] = []
        for topic in self._deadlines.take_due(now):
            known = self.topics.get(topic)
            if known is None:
                continue
            assert isinstance(known, Heard)
            if known.is_silent:
                continue
            if known.at + self._seconds > now:
                self._deadlines.put(topic, known.at + self._seconds)
                continue
            known.is_silent = True
            owner.mark(self.mark + topic)
            found.append(Publication(topic, SILENT, INFINITY))
        self.due = self._deadlines.next_due()
        return found

    def clock_set(self, now: float) -> None:
        self._deadlines.forget_all()
        self.due = INFINITY
        for topic, known in self.topics.items():
            assert isinstance(known, Heard)
            known.at = min(known.at, now)
            if not known.is_silent:
                self._expect(topic, known.at)

    def restore(self, owner: OperatorState, topic: str, part: bytes, now: float) -> None:
        super().restore(owner, topic, part, now)
        known = self.topics.get(topic)
        if isinstance(known, Heard) and not known.is_silent:
            self._expect(topic, known.at)

    def read(self, saved: SavedMemory, now: float) -> Memory:
        memory = Heard(min(seconds_of(saved[0]), now))
        memory.is_silent = bool(seconds_of(saved[1]))
        return memory


def _read(text: str) -> float:
    return read_wait(text, "$ABSENT;5min")


def _make(mark: str, field: Field | None, amount: float) -> TopicStep:
    return Absent(mark, field, amount)


ABSENT = SequenceKind(
    "ABSENT",
    "1 when nothing came on a topic for a time, 0 when something comes again",
    "value",
    _read,
    _make,
    has_field=False,
    starts_retained=False,
)
