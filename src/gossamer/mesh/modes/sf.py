"""Subscription flooding: a neighbour is told every subscription of everybody else, known or not.

It is the plain form in which the paper compares: a filter that a neighbour has been told is told
again for each new subscriber. It is gone with the last. `ssf` is what to use.
"""

from typing import Final

from gossamer.mesh.modes.teller import FilterTeller, add_packets

# Repetitions that wait for a neighbour that is away; they tell it nothing, so some may be missing.
_MOST_AGAIN: Final = 65_536


class FloodingTeller(FilterTeller):
    """Each filter once for every subscriber."""

    def __init__(self) -> None:
        super().__init__()
        self._counts: dict[str, int] = {}
        self._again: list[str] = []

    def add(self, filter: str) -> None:
        count = self._counts.get(filter, 0)
        self._counts[filter] = count + 1
        if count == 0:
            self.enter(filter)
        else:
            self.again(filter)

    def again(self, filter: str) -> None:
        if len(self._again) < _MOST_AGAIN:
            self._again.append(filter)

    def changes(self) -> list[bytes]:
        packets = super().changes()
        if self.is_blind:
            self._again.clear()
        again = [filter for filter in self._again if filter in self._counts]
        self._again.clear()
        self.interests += len(again)
        return add_packets(again) + packets if again else packets

    def agreed(self) -> None:
        super().agreed()
        self._again.clear()

    def everything(self) -> list[bytes]:
        self._again.clear()
        return super().everything()

    def remove(self, filter: str) -> None:
        count = self._counts[filter] - 1
        if count:
            self._counts[filter] = count
        else:
            del self._counts[filter]
            self.leave(filter)
