"""What is kept of sessions that move, so that it outlives restarts: where each is, and which
messages it has had.

    state / broker / when the session began / the last of the directed messages with which it went
    away / the number of the last delivery that goes along with it / brokers that pass messages on

A session that moved away stays for a while, to pass on what still comes for it here. Meanwhile a
message may reach its client by both brokers. What a client has at QoS 2 must be known after a crash
too: it is kept in the transaction in which the client's answer is.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import Final

from gossamer.broker.core import Core
from gossamer.session.message_names import NAME_BYTES
from gossamer.session.name_bits import NameBits, unpacked_names
from gossamer.session.records import QUEUED, DeliveryRecord
from gossamer.session.seen_names import Seen
from gossamer.session.session import Session

HERE: Final = ""
AGREEMENT: Final = "settling"  # here, but that broker may still send messages after it
ARRIVING: Final = "arriving"  # its messages are on their way from that broker
MOVED: Final = "moved"  # to that broker, which has not said yet that it is there
TAKEN: Final = "taken"  # that broker has it

# The room of the store that has it, by client id.
_ROOM: Final = "mesh/moves"
# A room of the store for each session, with runs of names by their digests.
_ROOMS: Final = "mesh/seen/"
_PASSED: Final = "passed"  # beside them: what passed the brokers where the session was


class TransferState:
    """Of one session. No broker's name has a slash."""

    __slots__ = ("broker", "last", "number", "passing", "since", "state")

    def __init__(self, text: str) -> None:
        parts = [*text.split("/"), "", "", "", "", ""]
        self.state = parts[0]
        self.broker = parts[1]
        self.since = int(parts[2]) if parts[2].isdecimal() else 0  # microseconds
        self.last = parts[3]
        # Deliveries with a greater number came to the session after it had left, where it was or
        # where it is now.
        self.number = int(parts[4]) if parts[4].isdecimal() else 0
        # Brokers that pass on to this one what comes for the session there.
        self.passing: dict[str, None] = dict.fromkeys([name for name in parts[5:] if name])
        if self.broker and not self.passing and not self.is_away():
            self.passing[self.broker] = None  # as 0.1.0 wrote it

    def text(self) -> str:
        """Of the last three only what it needs: they were not there in 0.1.0."""
        is_away = self.is_away()
        last = self.last if is_away else ""
        number = str(self.number) if is_away or self.state == ARRIVING else ""
        parts = [self.state, self.broker, str(self.since), last, number, *self.passing]
        return "/".join(parts).rstrip("/")

    def is_here(self) -> bool:
        return self.state in (HERE, AGREEMENT)

    def is_away(self) -> bool:
        return self.state in (MOVED, TAKEN)


class TransferStates:
    """The whereabouts of every session that has any; whoever changes one saves it."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._by_client: dict[str, TransferState] = {}
        self._saved: dict[str, str] = {}

    def load(self) -> None:
        """What the store kept, of sessions that are still there."""
        for client_id, written in self._core.rooms.pop(_ROOM, {}).items():
            if client_id in self._core.sessions:
                text = written.decode("utf-8", "replace")
                self._by_client[client_id] = TransferState(text)
                self._saved[client_id] = text
            else:
                self._core.journal.drop(_ROOM, client_id)

    def of(self, session: Session) -> TransferState:
        where = self._by_client.get(session.client_id)
        if where is None:
            where = TransferState("")
            self._by_client[session.client_id] = where
        return where

    def passing(self, session: Session) -> list[str]:
        """The brokers that pass on to this one what comes for the session there."""
        where = self._by_client.get(session.client_id)
        return [] if where is None else list(where.passing)

    def save(self, session: Session) -> None:
        """As long as the session is kept at all."""
        client_id = session.client_id
        text = self.of(session).text()
        if session.persistent and self._saved.get(client_id) != text:
            self._saved[client_id] = text
            self._core.journal.keep(_ROOM, client_id, text.encode())

    def forget(self, session: Session) -> None:
        """The session is no more."""
        self._by_client.pop(session.client_id, None)
        if self._saved.pop(session.client_id, None) is not None:
            self._core.journal.drop(_ROOM, session.client_id)


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

    def had(self, session: Session, names: bytes, passed: NameBits) -> None:
        """On another broker; they may still be on their way to this one."""
        seen = session.seen
        if seen is None:
            return
        for start in range(0, len(names), NAME_BYTES):
            seen.done(names[start : start + NAME_BYTES])
        seen.passed = passed
        if session.persistent:
            self._core.journal.keep(_ROOMS + session.client_id, _PASSED, passed.packed())

    def restore(self, session: Session) -> None:
        """After a restart."""
        names: list[bytes] = []
        for delivery in session.left_over():
            if delivery.message is not None:
                names.append(delivery.message.name[-NAME_BYTES:])
        kept = self._core.rooms.pop(_ROOMS + session.client_id, {})
        passed = unpacked_names(kept.pop(_PASSED, b""))
        for run in kept.values():
            names += [run[start : start + NAME_BYTES] for start in range(0, len(run), NAME_BYTES)]
        session.seen = Seen(names)
        session.seen.passed = passed
        if session.lane.messages:
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
                # Called by what it holds: some are done with twice, by two subscriptions, and a run
                # must not take the place of another that begins alike.
                run = b"".join(seen.unsaved)
                self._core.journal.keep(room, blake2b(run, digest_size=8).hexdigest(), run)
                seen.unsaved = []


def came_before(session: Session, delivery: DeliveryRecord) -> bool:
    """Whether a message that was not sent yet has reached the session here already."""
    message = delivery.message
    if session.seen is None or message is None or not message.name or delivery.share:
        return False
    return session.seen.is_repeated(message.name[-NAME_BYTES:]) and delivery.state == QUEUED
