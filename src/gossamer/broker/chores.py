"""Work that a turn may leave for later ones: what it has to undo is there, but does nothing more.

A chore is done in steps of a millisecond or less, in turns with everybody who has something to send
(`Broker.go_on`). Nothing waits for one but the next; who is refused something for what a chore is
about to free has it finished first.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gossamer.broker.core import Core


class Chore:
    """Something with an end."""

    def frees(self) -> bool:
        """Whether somebody may be refused something as long as it is not done."""
        return False

    def step(self, core: Core, now: float) -> bool:
        """Does some of it; True if that was the last."""
        raise NotImplementedError


class Chores:
    """Those of one broker: the oldest first."""

    __slots__ = ("_waiting",)

    def __init__(self) -> None:
        self._waiting: deque[Chore] = deque()

    def __len__(self) -> int:
        return len(self._waiting)

    def add(self, chore: Chore) -> None:
        self._waiting.append(chore)

    def step(self, core: Core, now: float) -> None:
        if _step(self._waiting[0], core, now):
            self._waiting.popleft()

    def finish_freeing(self, core: Core, now: float) -> bool:
        """All that free something, now; False if there were none."""
        freeing = [chore for chore in self._waiting if chore.frees()]
        for chore in freeing:
            while not _step(chore, core, now):
                pass
            self._waiting.remove(chore)
        return len(freeing) > 0


def _step(chore: Chore, core: Core, now: float) -> bool:
    """One that fails is given up; it must not be in the way of the others."""
    try:
        return chore.step(core, now)
    except Exception as error:
        core.faults.note(type(chore).__name__, error, "", now)
        return True
