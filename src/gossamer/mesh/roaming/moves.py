"""Where the sessions of clients are on their moves, kept so that it outlives restarts.

    state / broker / when the session began / the last of the directed messages with which it went
    away

A session that moved away stays for a while, to pass on what still comes for it here.
"""

from typing import Final

from gossamer.broker.core import Core
from gossamer.session.session import Session

HERE: Final = ""
AGREEMENT: Final = "settling"  # here, but that broker may still send messages after it
ARRIVING: Final = "arriving"  # its messages are on their way from that broker
MOVED: Final = "moved"  # to that broker, which has not said yet that it is there
TAKEN: Final = "taken"  # that broker has it

# The room of the store that has it, by client id.
_ROOM: Final = "mesh/moves"


class MoveState:
    """Of one session. No broker's name has a slash."""

    __slots__ = ("broker", "last", "since", "state")

    def __init__(self, text: str) -> None:
        parts = [*text.split("/"), "", "", "", ""]
        self.state = parts[0]
        self.broker = parts[1]
        self.since = int(parts[2]) if parts[2].isdecimal() else 0  # microseconds
        self.last = parts[3]

    def text(self) -> str:
        text = f"{self.state}/{self.broker}/{self.since}"
        return f"{text}/{self.last}" if self.last and self.is_away() else text

    def is_here(self) -> bool:
        return self.state in (HERE, AGREEMENT)

    def is_away(self) -> bool:
        return self.state in (MOVED, TAKEN)


class Moves:
    """The whereabouts of every session that has any; whoever changes one saves it."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._by_client: dict[str, MoveState] = {}
        self._saved: dict[str, str] = {}

    def load(self) -> None:
        """What the store kept, of sessions that are still there."""
        for client_id, written in self._core.rooms.pop(_ROOM, {}).items():
            if client_id in self._core.sessions:
                text = written.decode("utf-8", "replace")
                self._by_client[client_id] = MoveState(text)
                self._saved[client_id] = text
            else:
                self._core.journal.drop(_ROOM, client_id)

    def of(self, session: Session) -> MoveState:
        where = self._by_client.get(session.client_id)
        if where is None:
            where = MoveState("")
            self._by_client[session.client_id] = where
        return where

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
