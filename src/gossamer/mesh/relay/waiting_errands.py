"""Errands that wait on a broker, each like a retained message that never leaves it.

So they outlive a restart, and are kept or gone in the transaction of what was done with them.
"""

from __future__ import annotations

from typing import Final

from gossamer.broker.core import Core
from gossamer.broker.neighbours import ERRAND_TOPIC, LOCAL_TOPICS
from gossamer.session.message import Message

# A broker that cannot be reached at all has its errands wait, in order.
PARKED: Final = "parked/"
# Under the one that has to be run before them: on two ways of a tree that changes, they came first.
EARLY: Final = "early/"

# Most errands carry nothing, and a retained message without a payload is none.
_MARK: Final = b"e"


class WaitingErrands:
    """Those of one kind."""

    def __init__(self, core: Core, kind: str) -> None:
        self._core = core
        self._under = LOCAL_TOPICS[1] + kind
        self.most = len(self.below("", core.started_at))  # some may have expired since

    def keep(self, message: Message, place: str) -> None:
        """Once, however often it comes."""
        kept = _moved(message, self._under + place, _MARK + message.payload, True)
        if not self._core.retained.has(kept.topic):
            self.most += 1
            self._core.retained.keep(kept, kept)

    def below(self, place: str, now: float) -> list[Message]:
        """What waits there, by its place; each is to be brought to `taken` when it goes on."""
        return sorted(self._core.retained.search(f"{self._under}{place}#", now), key=_topic)

    def taken(self, kept: Message) -> Message:
        """It waits no longer; as it travels."""
        self.most -= 1
        self._core.retained.discard(kept.topic)
        return as_errand(kept)


def as_errand(kept: Message) -> Message:
    return _moved(kept, ERRAND_TOPIC, kept.payload[len(_MARK) :], False)


def _moved(message: Message, topic: str, payload: bytes, retain: bool) -> Message:
    """The same on another topic; between brokers it has no name yet."""
    return Message(
        topic,
        payload,
        message.qos,
        retain,
        message.properties,
        message.expires_at,
        message.publisher,
        message.user,
    )


def _topic(message: Message) -> str:
    return message.topic
