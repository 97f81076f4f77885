"""The retained messages and removals that will be forgotten, looked at in rounds of small steps.

They are in many parts, so that no dictionary grows, and none is listed, in one long step.
"""

from typing import Final

from gossamer.broker.retained_entry import RetainedEntry

_PARTS: Final = 256


class ExpiringEntries:
    """Those that have an end, in no particular order."""

    __slots__ = ("_count", "_listed", "_part", "_parts")

    def __init__(self) -> None:
        self._parts: list[dict[RetainedEntry, None]] = [{} for _ in range(_PARTS)]
        self._count = 0
        self._part = _PARTS  # the next part of this round
        self._listed: list[RetainedEntry] = []  # of this round, and still to be looked at

    def __len__(self) -> int:
        return self._count

    def add(self, entry: RetainedEntry) -> None:
        self._parts[entry.number() % _PARTS][entry] = None
        self._count += 1

    def remove(self, entry: RetainedEntry) -> None:
        del self._parts[entry.number() % _PARTS][entry]
        self._count -= 1

    def due(self, now: float, most: int) -> list[RetainedEntry]:
        """Of the next so many of the round, those whose time has come. What was listed may have
        gone since."""
        if self.is_round_over():
            self._part = 0
        listed = self._listed
        while len(listed) < most and self._part < _PARTS:
            listed.extend(self._parts[self._part])
            self._part += 1
        looked_at = listed[-most:]
        del listed[-most:]
        return [entry for entry in looked_at if now >= entry.forget_at]

    def is_round_over(self) -> bool:
        return self._part == _PARTS and not self._listed
