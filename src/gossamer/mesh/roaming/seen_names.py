"""Which messages a session has had, while its old broker may send some after it.

What its client has at QoS 2 must be known after a crash too. It is kept in a room of the store, in
the transaction in which the client's answer is.
"""

from __future__ import annotations

from typing import Final

from gossamer.broker.core import Core
from gossamer.session.message import NAME_BYTES
from gossamer.session.records import QUEUED, DeliveryRecord
from gossamer.session.seen_names import Seen
from gossamer.session.session import Session

# A room of the store for each session, with runs of names by the first of them.
_ROOMS: Final = "mesh/seen/"


class SeenNames:
    def __init__(self, core: Core) -> None:
        self._core = core
        self._watched: dict[str, Session] = {}  # by client id

    def load(self) -> None:
        """What is kept of sessions that are no more is dropped."""
        for room in list(self._core.rooms):
            if room.startswith(_ROOMS) and room[len(_ROOMS) :] not in self._core.sessions:
                del self._core.rooms[room]
                self._core.journal.drop_room(room)

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

    def restore(self, session: Session) -> None:
        """After a restart."""
        names: list[bytes] = []
        for delivery in session.left_over():
            if delivery.message is not None:
                names.append(delivery.message.name[-NAME_BYTES:])
        for run in self._core.rooms.pop(_ROOMS + session.client_id, {}).values():
            names += [run[start : start + NAME_BYTES] for start in range(0, len(run), NAME_BYTES)]
        session.seen = Seen(names)
        if session.spilled:
            for name in self._core.journal.spilled_names(session.client_id):
                session.seen.spilled(name[-NAME_BYTES:])
        self._watched[session.client_id] = session

    def forget(self, session: Session) -> None:
        """Nothing comes to it by another way any more."""
        session.seen = None
        if self._watched.pop(session.client_id, None) is not None:
            self._core.journal.drop_room(_ROOMS + session.client_id)

    def end_turn(self) -> None:
        for session in self._watched.values():
            seen = session.seen
            if seen is not None and seen.unsaved:
                room = _ROOMS + session.client_id
                self._core.journal.keep(room, seen.unsaved[0].hex(), b"".join(seen.unsaved))
                seen.unsaved = []


def came_before(session: Session, delivery: DeliveryRecord) -> bool:
    """Whether a message that was not sent yet has reached the session here already."""
    message = delivery.message
    if session.seen is None or message is None or not message.name or delivery.share:
        return False
    return session.seen.is_repeated(message.name[-NAME_BYTES:]) and delivery.state == QUEUED
