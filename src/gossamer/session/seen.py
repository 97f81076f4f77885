"""Messages that a session has had, by their names, while some may come to it by two ways."""

from typing import Final

# Past it, a repetition is less likely than that nobody will say that the time is over.
_MOST_NAMES: Final = 65_536


class Seen:
    __slots__ = ("_names", "unsaved")

    def __init__(self, names: list[bytes]) -> None:
        self._names = set(names)
        # Of messages that are done with: nothing else is left of them, should the broker crash.
        self.unsaved: list[bytes] = []

    def is_repeated(self, name: bytes) -> bool:
        """Whether the session had it before; from now on it has."""
        if name in self._names:
            return True
        self._names.add(name)
        return False

    def done(self, name: bytes) -> None:
        """Its client has it."""
        if name:
            self._names.add(name)
            self.unsaved.append(name)

    def gave_away(self, name: bytes) -> None:
        """It waits elsewhere now, and may come back."""
        self._names.discard(name)

    def names(self) -> bytes:
        """All of them, one after the other."""
        return b"".join(sorted(self._names))

    def is_full(self) -> bool:
        return len(self._names) > _MOST_NAMES
