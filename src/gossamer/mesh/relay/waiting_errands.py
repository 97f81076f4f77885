"""Errands that wait on a broker, in a room of its store.

So they outlive a restart, and are kept or gone in the transaction of what was done with them.
"""

from __future__ import annotations

from typing import Final

from gossamer.broker.core import Core
from gossamer.session.message import Message
from gossamer.session.packing import packed_message, unpacked_message

# A broker that cannot be reached at all has its errands wait, in order.
PARKED: Final = "mesh/parked"
# With the one that has to be run before them: on two ways of a tree that changes, they came first.
EARLY: Final = "mesh/early"


class WaitingErrands:
    """Those of one room. They wait for something, and among those for the same by a place."""

    def __init__(self, core: Core, room: str) -> None:
        self._journal = core.journal
        self._room = room
        self._waiting: dict[str, dict[str, Message]] = {}
        self.most = 0  # some may have expired since
        for key, data in core.rooms.pop(room, {}).items():
            awaited, _, place = key.partition("/")
            self._waiting.setdefault(awaited, {})[place] = unpacked_message(data)
            self.most += 1

    def keep(self, message: Message, awaited: str, place: str) -> None:
        """Once, however often it comes; between brokers it has no name yet when it goes on."""
        waiting = self._waiting.setdefault(awaited, {})
        if place not in waiting:
            kept = _nameless(message)
            self._journal.keep(self._room, f"{awaited}/{place}", packed_message(kept))
            waiting[place] = kept
            self.most += 1

    def waiting(self, awaited: str, now: float) -> list[tuple[str, Message]]:
        """What waits for that, by its place; each is to be brought to `taken` when it goes on."""
        found = self._waiting.get(awaited, {})
        for place in [place for place, message in found.items() if message.is_expired(now)]:
            self.taken(awaited, place)
        return sorted(found.items(), key=_place)

    def taken(self, awaited: str, place: str) -> None:
        """It waits no longer."""
        waiting = self._waiting[awaited]
        del waiting[place]
        if not waiting:
            del self._waiting[awaited]
        self.most -= 1
        self._journal.drop(self._room, f"{awaited}/{place}")


def _nameless(message: Message) -> Message:
    return Message(
        message.topic,
        message.payload,
        message.qos,
        False,
        message.properties,
        message.expires_at,
        message.publisher,
        message.user,
    )


def _place(item: tuple[str, Message]) -> str:
    return item[0]
