"""What a broker remembers of a neighbour beside its session, so that it outlives restarts.

    own epoch : the neighbour's epoch : the mode in which its interests were told : forwarding

`forwarding` is "f" while messages for all that is behind the neighbour are queued for it.

An epoch names a life of packet identifiers: a broker that lost its state begins another.
"""

from typing import Final

from gossamer.broker.core import Core

# The room of the store that has the notes, by the neighbours' names.
_ROOM: Final = "mesh/neighbours"


class Note:
    """What is remembered of one neighbour."""

    __slots__ = ("is_forwarding", "mode", "own", "theirs")

    def __init__(self, text: str) -> None:
        parts = [*text.split(":"), "", "", "", ""]
        self.own = parts[0]
        self.theirs = parts[1]
        self.mode = parts[2]
        self.is_forwarding = parts[3] == "f"

    def text(self) -> str:
        text = f"{self.own}:{self.theirs}:{self.mode}"
        return text + ":f" if self.is_forwarding else text


class Notes:
    """Of all neighbours; whoever changes one saves it."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self._saved: dict[str, str] = {}
        self._notes: dict[str, Note] = {}
        for name, text in core.rooms.pop(_ROOM, {}).items():
            self._saved[name] = text.decode("utf-8", "replace")
            self._notes[name] = Note(self._saved[name])

    def of(self, name: str) -> Note:
        note = self._notes.get(name)
        if note is None:
            note = Note("")
            self._notes[name] = note
        return note

    def save(self, name: str) -> None:
        text = self.of(name).text()
        if self._saved.get(name) != text:
            self._saved[name] = text
            self._core.journal.keep(_ROOM, name, text.encode())

    def forget(self, name: str) -> None:
        """With the neighbour's session."""
        self._notes.pop(name, None)
        if self._saved.pop(name, None) is not None:
            self._core.journal.drop(_ROOM, name)
