"""`$CHANGED;0.5` passes a number that differs by more from the last one of its topic that passed;
`$CHANGED`, whatever differs from it at all."""

from hashlib import blake2b
from typing import Final

from gossamer.plus.operators.kinds import SequenceKind
from gossamer.plus.plan import Field
from gossamer.plus.publication import Publication
from gossamer.plus.sequence import Memory, NumberMemory, SavedMemory, TopicStep, seconds_of
from gossamer.plus.state import OperatorState
from gossamer.plus.values import read_number

# Longer texts are known by their digest, which is as long.
_DIGEST_BYTES: Final = 32
ANY_CHANGE: Final = -1.0


class PassedText(Memory):
    __slots__ = ("text",)

    def __init__(self, text: bytes) -> None:
        super().__init__()
        self.text = text

    def save(self) -> SavedMemory:
        return [self.text.hex()]


class ChangedBy(TopicStep):
    """The deadband: small steps add up until they are one that counts."""

    def __init__(self, mark: str, field: Field | None, most: float) -> None:
        super().__init__(mark, field)
        self._most = most

    def take(
        self, owner: OperatorState, publication: Publication, now: float
    ) -> Publication | None:
        value = self.number(owner, publication)
        if value != value:
            return None
        topic = publication.topic
        known = self.topics.get(topic)
        if known is None:
            if not self.remember(owner, topic, NumberMemory(value)):
                return None
        else:
            assert isinstance(known, NumberMemory)
            known.is_used = True
            if abs(value - known.number) <= self._most:
                return None
            known.number = value
        owner.mark(self.mark + topic)
        return publication

    def read(self, saved: SavedMemory, now: float) -> Memory:
        return NumberMemory(seconds_of(saved[0]))


class Changed(TopicStep):
    """Of any payload, or any field."""

    def take(
        self, owner: OperatorState, publication: Publication, now: float
    ) -> Publication | None:
        text = publication.payload
        if self.field is not None:
            found = publication.as_text(self.field)
            if found is None:
                owner.services.skip(publication.trouble)
                return None
            text = found.encode("utf-8", "surrogatepass")
        if len(text) > _DIGEST_BYTES:
            text = blake2b(text, digest_size=_DIGEST_BYTES).digest()
        topic = publication.topic
        known = self.topics.get(topic)
        if known is None:
            if not self.remember(owner, topic, PassedText(text)):
                return None
        else:
            assert isinstance(known, PassedText)
            known.is_used = True
            if text == known.text:
                return None
            known.text = text
        owner.mark(self.mark + topic)
        return publication

    def read(self, saved: SavedMemory, now: float) -> Memory:
        text = saved[0]
        if not isinstance(text, str):
            raise TypeError("expected a text")
        return PassedText(bytes.fromhex(text))


def _read(text: str) -> float:
    if not text:
        return ANY_CHANGE
    most = read_number(text.encode())
    if not 0.0 <= most < float("inf"):
        raise ValueError(f"needs a number from 0 on, as in $CHANGED;0.5, not {text[:40]!r}")
    return most


def _make(mark: str, field: Field | None, amount: float) -> TopicStep:
    return Changed(mark, field) if amount == ANY_CHANGE else ChangedBy(mark, field, amount)


CHANGED = SequenceKind(
    "CHANGED",
    "passes what differs from the last that passed, numbers by more than the argument",
    "payload",
    _read,
    _make,
)
