"""Directed messages that wait on a broker, in a room of its store.

So they outlive a restart, and are kept or gone in the transaction of what was done with them. All
of them together have a budget: how many come is for others to decide, and how long they wait.
"""

from __future__ import annotations

from typing import Final

from gossamer.broker.core import Core
from gossamer.budget.ledger import NOBODY
from gossamer.session.message import Message
from gossamer.session.message_bytes import packed_message, unpacked_message
from gossamer.session.sizes import message_bytes

# A broker that cannot be reached at all has its directed messages wait, in order.
PARKED: Final = "mesh/parked"
# With the one that has to be run before them: on two ways of a tree that changes, they came first.
EARLY: Final = "mesh/early"
# Beside the message: its place in the table, with its key, and a table of one.
_ENTRY_BYTES: Final = 400


class WaitingMessages:
    """Those of one room. They wait for something, and among those for the same by a place."""

    def __init__(self, core: Core, room: str) -> None:
        self._journal = core.journal
        self._account = core.ledger.directed
        self._room = room
        self._waiting: dict[str, dict[str, Message]] = {}
        self.most = 0  # some may have expired since
        for key, data in core.rooms.pop(room, {}).items():
            awaited, _, place = key.partition("/")
            message = unpacked_message(data)
            self._account.hold(_size(message), NOBODY)
            self._waiting.setdefault(awaited, {})[place] = message
            self.most += 1

    def keep(self, message: Message, awaited: str, place: str) -> bool:
        """Once, however often it comes; between brokers it has no name yet when it goes on. False
        if there is no room for it."""
        if place in self._waiting.get(awaited, {}):
            return True
        kept = _nameless(message)
        if self._account.take(_size(kept), NOBODY):
            return False
        self._journal.keep(self._room, f"{awaited}/{place}", packed_message(kept))
        self._waiting.setdefault(awaited, {})[place] = kept
        self.most += 1
        return True

    def waiting(self, awaited: str, now: float) -> list[tuple[str, Message]]:
        """What waits for that, by its place; each is to be brought to `taken` when it goes on."""
        found = self._waiting.get(awaited, {})
        for place in [place for place, message in found.items() if message.is_expired(now)]:
            self.taken(awaited, place)
        return sorted(found.items(), key=_place)

    def taken(self, awaited: str, place: str) -> None:
        """It waits no longer."""
        waiting = self._waiting[awaited]
        self._account.give(_size(waiting.pop(place)), NOBODY)
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


def _size(message: Message) -> int:
    return _ENTRY_BYTES + message_bytes(message)


def _place(item: tuple[str, Message]) -> str:
    return item[0]
