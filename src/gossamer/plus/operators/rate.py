"""`$RATE`: by how much a number changes in a second; `$RATE;1h`, in an hour.

Values that came at the same moment have no time between them: each is compared with the latest that
came before that moment.
"""

from gossamer.plus.durations import read_duration
from gossamer.plus.operators.kinds import SequenceKind
from gossamer.plus.plan import Field
from gossamer.plus.publication import OVERFLOW, Publication
from gossamer.plus.sequence import Memory, SavedMemory, TopicStep, made_number, seconds_of
from gossamer.plus.state import OperatorState
from gossamer.plus.values import INFINITY


class TimedNumbers(Memory):
    """The last value, and the last that came before that one's time; none if `before_at` is
    infinite."""

    __slots__ = ("at", "before", "before_at", "number")

    def __init__(self, number: float, at: float) -> None:
        super().__init__()
        self.number = number
        self.at = at
        self.before = 0.0
        self.before_at = INFINITY

    def save(self) -> SavedMemory:
        if self.before_at == INFINITY:
            return [self.number, self.at]
        return [self.number, self.at, self.before, self.before_at]


class Rate(TopicStep):
    forwards = False

    def __init__(self, mark: str, field: Field | None, seconds: float) -> None:
        super().__init__(mark, field)
        self._seconds = seconds

    def take(
        self, owner: OperatorState, publication: Publication, now: float
    ) -> Publication | None:
        value = self.number(owner, publication)
        if value != value:
            return None
        topic = publication.topic
        known = self.topics.get(topic)
        if known is None:
            if self.remember(owner, topic, TimedNumbers(value, now)):
                owner.mark(self.mark + topic)
            return None
        assert isinstance(known, TimedNumbers)
        known.is_used = True
        if now > known.at:
            known.before = known.number
            known.before_at = known.at
        known.at = now
        known.number = value
        owner.mark(self.mark + topic)
        if known.before_at >= now:
            return None
        rate = (value - known.before) / (now - known.before_at) * self._seconds + 0.0
        if rate - rate != 0.0:
            owner.services.skip(OVERFLOW)
            return None
        return made_number(publication, rate)

    def clock_set(self, now: float) -> None:
        for known in self.topics.values():
            assert isinstance(known, TimedNumbers)
            if known.at > now:
                known.at = now
                known.before_at = INFINITY

    def read(self, saved: SavedMemory, now: float) -> Memory:
        memory = TimedNumbers(seconds_of(saved[0]), min(seconds_of(saved[1]), now))
        if len(saved) > 2 and seconds_of(saved[3]) < memory.at:
            memory.before = seconds_of(saved[2])
            memory.before_at = seconds_of(saved[3])
        return memory


def _read(text: str) -> float:
    seconds = read_duration(text) if text else 1.0
    if not seconds:
        raise ValueError("needs a time that is not 0, as in $RATE;1h")
    return seconds


def _make(mark: str, field: Field | None, amount: float) -> TopicStep:
    return Rate(mark, field, amount)


RATE = SequenceKind(
    "RATE",
    "change from the value before it on its topic, for each second or for the argument",
    "value",
    _read,
    _make,
    starts_retained=False,
)
