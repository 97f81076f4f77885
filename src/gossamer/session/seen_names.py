"""Messages that a session has had, by their names, while some may come to it by two ways.

*One by one*: those that came to it on this broker, or after it from another. *All together*: those
that passed the brokers where it was while it was there. It has had of them what it wanted; where
they wait for others still, they may reach this broker after it.
"""

from __future__ import annotations

from typing import Final

from gossamer.session.name_bits import NameBits

# Past it, a repetition is less likely than that nobody will say that the time is over.
_MOST_NAMES: Final = 65_536


class Seen:
    __slots__ = ("_names", "_stored", "_void", "passed", "unsaved")

    def __init__(self, names: list[bytes]) -> None:
        self._names = set(names)
        self.passed: NameBits | None = None  # brokers where it was before
        self._stored: set[bytes] = set()  # those of them that wait in the store only
        self._void: set[bytes] = set()  # of those, what its client has by another way
        # Of messages that are done with: nothing else is left of them, should the broker crash.
        self.unsaved: list[bytes] = []

    def is_repeated(self, name: bytes) -> bool:
        """Whether the session had it before; from now on it has."""
        if name in self._names or (self.passed is not None and self.passed.has(name)):
            return True
        self._names.add(name)
        return False

    def done(self, name: bytes) -> None:
        """Its client has it."""
        if name:
            if name in self._stored:
                self._void.add(name)
            self._names.add(name)
            self.unsaved.append(name)

    def gave_away(self, name: bytes) -> None:
        """It waits elsewhere now, and may come back."""
        self._names.discard(name)
        self._stored.discard(name)

    def spilled(self, name: bytes) -> None:
        """It waits in the store: the session has it, but will give it away if it moves."""
        if name:
            self._names.add(name)
            self._stored.add(name)

    def came_back(self, name: bytes) -> bool:
        """From the store into memory; False if its client has it by another way."""
        self._stored.discard(name)
        if name in self._void:
            self._void.discard(name)
            return False
        return True

    def names(self) -> bytes:
        """All but those in the store, one after the other."""
        return b"".join(sorted(self._names - self._stored))

    def is_full(self) -> bool:
        return len(self._names) > _MOST_NAMES
