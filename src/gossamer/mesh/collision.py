"""Two brokers have several ways to connect, as when each dials the other: one connection stands.

The broker whose name is first decides, alone, and its last word holds at both ends.

- A broker proves itself on one dialled connection at a time, and on none while the neighbour is
  connected. What it dials beside that one fails, and is dialled again later.
- The first broker refuses a neighbour that dials while a connection that it dialled itself stands,
  or has its proof and no answer yet. Any other it takes, in place of the one that it had.
- The second broker takes whatever the first has decided for, in place of the connection that it
  had: one on which the first has proved itself, or has accepted it.

Why one stands: call a connection chosen from when the first broker sends its proof or its
acceptance. It chooses only while it has no other that is chosen, except that the second broker
proves itself anew, which that does only after it has lost the one before. So chosen ones follow
each other in time, and without a loss the first one chosen is the only one. The second broker
never refuses it nor gives it up for another, since every reason to do so is a later choice of the
first's. Nor does a dial that is refused close anything but itself. So once the network loses
nothing for the time of a handshake, whoever dials next ends it, whatever the delays: there is no
tie that chance has to break. A chosen connection that is lost without a word is given up by its
dialler after `ANSWER_SECONDS`, and by either end once it stood and the neighbour is silent.

A neighbour of version 0.1.0 may prove itself on two connections and then drop both. It dials again
after pauses of random length, which end that, as they did between two of its kind.
"""

from __future__ import annotations

from typing import Final

# From a dialled connection's first byte to its acceptance; the neighbour may write to its disk
# before it accepts.
ANSWER_SECONDS: Final = 10.0


class Collisions:
    """What one broker knows of connections that are neither standing nor given up."""

    __slots__ = ("_name", "_proving")

    def __init__(self, name: str) -> None:
        self._name = name
        self._proving: set[str] = set()  # neighbours that have our proof on a dialled connection

    def begin(self, neighbour: str) -> bool:
        """Whether this broker may prove itself on a connection that it dialled; until `end`, on
        no other to this neighbour."""
        if neighbour in self._proving:
            return False
        self._proving.add(neighbour)
        return True

    def end(self, neighbour: str) -> None:
        """The neighbour has answered, or never will."""
        self._proving.discard(neighbour)

    def refuses(self, neighbour: str, has_dialled: bool) -> bool:
        """Whether one that dialled is sent away; `has_dialled`: a connection to it that was
        dialled here stands."""
        if neighbour < self._name:
            return False
        return has_dialled or neighbour in self._proving
