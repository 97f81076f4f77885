"""`$EVERY;10s` passes one publication of each topic in ten seconds: the first at once, and of those
that come within ten seconds of it the last, when they are over."""

from gossamer.plus.durations import read_wait
from gossamer.plus.encodings import ENCODINGS, PLAIN
from gossamer.plus.operators.kinds import SequenceKind
from gossamer.plus.plan import Field
from gossamer.plus.publication import BAD_TTL, NO_ROOM, Publication, valid_until
from gossamer.plus.sequence import Deadlines, Memory, SavedMemory, TopicStep, seconds_of
from gossamer.plus.state import OperatorState
from gossamer.plus.values import INFINITY


class Sample(Memory):
    """When one passed last, and the payload that waits; `ends` is when that is valid no more, 0.0
    where its publisher did not say so, and `encoding` how it is to be read."""

    __slots__ = ("encoding", "ends", "owed", "passed_at")

    def __init__(self, passed_at: float) -> None:
        super().__init__()
        self.passed_at = passed_at
        self.owed: bytes | None = None
        self.ends = 0.0
        self.encoding = PLAIN

    def save(self) -> SavedMemory:
        if self.owed is None:
            return [self.passed_at]
        ends = None if self.ends == INFINITY else self.ends
        saved: SavedMemory = [self.passed_at, self.owed.hex(), ends]
        return [*saved, self.encoding] if self.encoding else saved


class Every(TopicStep):
    """What had to wait is its payload alone: it is a result, and no publication of anybody's."""

    is_timed = True

    def __init__(self, mark: str, field: Field | None, seconds: float) -> None:
        super().__init__(mark, field)
        self._seconds = seconds
        self._deadlines = Deadlines()

    def take(
        self, owner: OperatorState, publication: Publication, now: float
    ) -> Publication | None:
        topic = publication.topic
        known = self.topics.get(topic)
        if known is None:
            if not self.remember(owner, topic, Sample(now)):
                return None
            owner.mark(self.mark + topic)
            return publication
        assert isinstance(known, Sample)
        known.is_used = True
        if known.owed is None and now >= known.passed_at + self._seconds:
            known.passed_at = now
            owner.mark(self.mark + topic)
            return publication
        self._wait(owner, known, publication)
        return None

    def _wait(self, owner: OperatorState, known: Sample, publication: Publication) -> None:
        grown = len(publication.payload) - self.cost(known)
        if grown > 0 and not owner.has_room(grown):
            owner.services.skip(NO_ROOM)
            return
        owner.weigh(grown)
        known.owed = publication.payload
        known.encoding = publication.encoding
        known.ends = publication.expires_at
        properties = publication.properties
        if properties is not None and properties.user:
            try:
                known.ends = valid_until(
                    publication.expires_at, properties.user, 0.0, owner.services.wall_offset
                )
            except ValueError:
                owner.services.skip(BAD_TTL)
        self._expect(publication.topic, known)
        owner.mark(self.mark + publication.topic)

    def _expect(self, topic: str, known: Sample) -> None:
        self._deadlines.put(topic, known.passed_at + self._seconds)
        self.due = self._deadlines.next_due()

    def tick(self, owner: OperatorState, now: float) -> list[Publication]:
        found: list[Publication] = []
        for topic in self._deadlines.take_due(now):
            known = self.topics.get(topic)
            if known is None:
                continue
            assert isinstance(known, Sample)
            if known.owed is None:
                continue
            if known.passed_at + self._seconds > now:
                self._deadlines.put(topic, known.passed_at + self._seconds)
                continue
            if known.ends == 0.0 or known.ends > now:
                found.append(Publication(topic, known.owed, known.ends, None, known.encoding))
                known.passed_at = now
            owner.weigh(-self.cost(known))
            known.owed = None
            owner.mark(self.mark + topic)
        self.due = self._deadlines.next_due()
        return found

    def clock_set(self, now: float) -> None:
        self._deadlines.forget_all()
        for topic, known in self.topics.items():
            assert isinstance(known, Sample)
            known.passed_at = min(known.passed_at, now)
            if known.owed is not None:
                self._expect(topic, known)
        self.due = self._deadlines.next_due()

    def cost(self, memory: Memory) -> int:
        assert isinstance(memory, Sample)
        return len(memory.owed) if memory.owed is not None else 0

    def restore(self, owner: OperatorState, topic: str, part: bytes, now: float) -> None:
        super().restore(owner, topic, part, now)
        known = self.topics.get(topic)
        if isinstance(known, Sample) and known.owed is not None:
            self._expect(topic, known)

    def read(self, saved: SavedMemory, now: float) -> Memory:
        memory = Sample(min(seconds_of(saved[0]), now))
        if len(saved) > 1:
            owed = saved[1]
            if not isinstance(owed, str):
                raise TypeError("expected a text")
            memory.owed = bytes.fromhex(owed)
            memory.ends = INFINITY if saved[2] is None else seconds_of(saved[2])
            if len(saved) > 3 and saved[3] in ENCODINGS:
                memory.encoding = str(saved[3])
        return memory


def _read(text: str) -> float:
    return read_wait(text, "$EVERY;10s")


def _make(mark: str, field: Field | None, amount: float) -> TopicStep:
    return Every(mark, field, amount)


EVERY = SequenceKind(
    "EVERY",
    "passes one publication of each topic in a time: the first, and the last when it is over",
    "payload",
    _read,
    _make,
    has_field=False,
)
