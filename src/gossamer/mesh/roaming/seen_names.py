"""Which messages a session has had, while its old broker may send some after it.

What its client has at QoS 2 must be known after a crash too. It is kept like a retained message
that never leaves this broker, in the transaction in which the client's answer is.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

from gossamer.broker.core import Core
from gossamer.broker.neighbours import LOCAL_TOPICS
from gossamer.session.message import Message
from gossamer.session.naming import NAME_BYTES
from gossamer.session.records import QUEUED, DeliveryRecord
from gossamer.session.seen import Seen
from gossamer.session.session import Session

_KEPT_UNDER: Final = LOCAL_TOPICS[1] + "seen/"


class SeenNames:
    def __init__(self, core: Core) -> None:
        self._core = core
        self._watched: dict[str, Session] = {}  # by client id

    def watch(self, session: Session) -> None:
        """From now on, unless it is watched already."""
        if session.seen is None:
            session.seen = Seen([])
        self._watched[session.client_id] = session

    def had(self, session: Session, names: bytes) -> None:
        """On another broker; they may still be on their way to this one."""
        if session.seen is not None:
            for start in range(0, len(names), NAME_BYTES):
                session.seen.done(names[start : start + NAME_BYTES])

    def restore(self, session: Session, now: float) -> None:
        """After a restart."""
        names: list[bytes] = []
        for delivery in session.left_over():
            if delivery.message is not None:
                names.append(delivery.message.name[-NAME_BYTES:])
        for kept in self._core.retained.search(_topic(session, "#"), now):
            at = range(0, len(kept.payload), NAME_BYTES)
            names += [kept.payload[start : start + NAME_BYTES] for start in at]
        session.seen = Seen(names)
        self._watched[session.client_id] = session

    def forget(self, session: Session, now: float) -> None:
        """Nothing comes to it by another way any more."""
        session.seen = None
        if self._watched.pop(session.client_id, None) is not None:
            for kept in self._core.retained.search(_topic(session, "#"), now):
                self._core.retained.discard(kept.topic)

    def end_turn(self) -> None:
        for session in self._watched.values():
            seen = session.seen
            if seen is not None and seen.unsaved:
                topic = _topic(session, seen.unsaved[0].hex())
                names = b"".join(seen.unsaved)
                seen.unsaved = []
                kept = Message(topic, names, 1, True, None, 0.0, "", "")
                self._core.retained.keep(kept, kept)


def came_before(session: Session, delivery: DeliveryRecord) -> bool:
    """Whether a message that was not sent yet has reached the session here already."""
    message = delivery.message
    if session.seen is None or message is None or not message.name or delivery.share:
        return False
    return session.seen.is_repeated(message.name[-NAME_BYTES:]) and delivery.state == QUEUED


def _topic(session: Session, last: str) -> str:
    digest = blake2b(session.client_id.encode(), digest_size=16).hexdigest()
    return f"{_KEPT_UNDER}{digest}/{last}"
