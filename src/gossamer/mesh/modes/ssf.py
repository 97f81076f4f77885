"""Selective subscription forwarding: a neighbour holds exactly the maximal filters of the rest."""

from gossamer.mesh.modes.teller import FilterTeller
from gossamer.topics.cover import Change, Cover


class SelectiveTeller(FilterTeller):
    """Containment decides what is worth telling."""

    def __init__(self) -> None:
        super().__init__()
        self._cover = Cover()

    def add(self, filter: str) -> None:
        self._apply(self._cover.add(filter))

    def remove(self, filter: str) -> None:
        self._apply(self._cover.remove(filter))

    def _apply(self, change: Change) -> None:
        for filter in change.entered:
            self.enter(filter)
        for filter in change.left:
            self.leave(filter)
