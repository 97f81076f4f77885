"""Names for messages while sessions move, on a mesh that needs none otherwise.

A session that moves may get a message by its old broker and by its new one; the name tells. Every
broker gives names from when it hears of a move, to what is published there and to what comes
without: where the two ways part, the move is known. On a mesh that keeps its own tree all messages
have names anyway.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Final

from gossamer.broker.timers import Timer
from gossamer.session.message import NAME_BYTES, MessageNamer

if TYPE_CHECKING:
    from gossamer.mesh.mesh import Mesh

# The kind of the words that ask everybody for names.
MOVING: Final = 0x4D
# Longer than a departed session lingers before it asks again.
_NAMING_SECONDS: Final = 60.0
_SOURCE_BYTES: Final = NAME_BYTES // 2


class MoveNamer(MessageNamer):
    def __init__(self) -> None:
        self._own = secrets.token_bytes(_SOURCE_BYTES)
        self._counter = 0
        self.is_naming = False

    def name(self, qos: int) -> bytes:
        if not self.is_naming or qos == 0:
            return b""
        self._counter += 1
        return self._own + self._counter.to_bytes(NAME_BYTES - _SOURCE_BYTES, "big")


class MoveNames(Timer):
    """As a timer it ends the naming."""

    def __init__(self, mesh: Mesh) -> None:
        self._mesh = mesh
        self._namer = MoveNamer()
        self._until = 0.0

    def ask(self, now: float) -> None:
        """A session moves from here or to here: everybody is to give names for a while."""
        if self.begin(now):
            self._mesh.flooding.say(MOVING, b"", now, lasting=False)

    def heard(self, origin: str, body: bytes, now: float) -> None:
        self.begin(now)

    def begin(self, now: float) -> bool:
        """False where everything has a name in any case."""
        hub = self._mesh.core.hub
        if type(hub.namer) is MessageNamer:
            hub.namer = self._namer
        if hub.namer is not self._namer:
            return False
        self._until = now + _NAMING_SECONDS
        if not self._namer.is_naming:
            self._namer.is_naming = True
            self._mesh.core.timers.add(self._until, self)
        return True

    def fire(self, now: float) -> float:
        if now < self._until:
            return self._until
        self._namer.is_naming = False
        return 0.0
