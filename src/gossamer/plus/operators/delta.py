"""`$DELTA`: by how much a number differs from the one before it on its topic."""

from gossamer.plus.operators.kinds import SequenceKind
from gossamer.plus.plan import Field
from gossamer.plus.publication import OVERFLOW, Publication
from gossamer.plus.sequence import (
    Memory,
    NumberMemory,
    SavedMemory,
    TopicStep,
    made_number,
    seconds_of,
)
from gossamer.plus.state import OperatorState
from gossamer.plus.values import INFINITY


class Delta(TopicStep):
    forwards = False

    def take(
        self, owner: OperatorState, publication: Publication, now: float
    ) -> Publication | None:
        value = self.number(owner, publication)
        if value != value:
            return None
        topic = publication.topic
        known = self.topics.get(topic)
        if known is None:
            if self.remember(owner, topic, NumberMemory(value)):
                owner.mark(self.mark + topic)
            return None
        assert isinstance(known, NumberMemory)
        known.is_used = True
        delta = value - known.number + 0.0
        known.number = value
        owner.mark(self.mark + topic)
        if abs(delta) == INFINITY:
            owner.services.skip(OVERFLOW)
            return None
        return made_number(publication, delta)

    def read(self, saved: SavedMemory, now: float) -> Memory:
        return NumberMemory(seconds_of(saved[0]))


def _read(text: str) -> float:
    if text:
        raise ValueError("its first argument must be empty; the second may name a field")
    return 0.0


def _make(mark: str, field: Field | None, amount: float) -> TopicStep:
    return Delta(mark, field)


DELTA = SequenceKind(
    "DELTA", "difference from the value before it on its topic", "value", _read, _make
)
