"""Subscription flooding: a neighbour is told every filter that somebody else wants."""

from gossamer.mesh.teller import FilterTeller


class FloodingTeller(FilterTeller):
    """Each filter once, on its first subscriber; gone with its last."""

    def __init__(self) -> None:
        super().__init__()
        self._counts: dict[str, int] = {}

    def add(self, filter: str) -> None:
        count = self._counts.get(filter, 0)
        self._counts[filter] = count + 1
        if count == 0:
            self.enter(filter)

    def remove(self, filter: str) -> None:
        count = self._counts[filter] - 1
        if count:
            self._counts[filter] = count
        else:
            del self._counts[filter]
            self.leave(filter)
