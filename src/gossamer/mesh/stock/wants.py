"""What is to be subscribed on a stock broker: what the mesh wants, within what may be imported.

Always the fewest filters: those that no other one contains. While some neighbour does not say by
filters what it wants, it may want anything, and all that may be imported is subscribed.
"""

from gossamer.topics.cover import Change, Cover
from gossamer.topics.meeting import meet


class StockWants:
    """`wanted` is kept true by `add` and `remove`, called for each subscription of the mesh."""

    def __init__(self, imports: tuple[str, ...]) -> None:
        self.wanted: dict[str, None] = {}  # in order, so that runs are repeatable
        self.changes = 0
        self._imports = imports
        self._asked = Cover()
        self._allowed = Cover()
        self._is_blind = False

    def add(self, filter: str) -> None:
        self._apply(self._asked.add(filter))

    def remove(self, filter: str) -> None:
        self._apply(self._asked.remove(filter))

    def set_blind(self, is_blind: bool) -> None:
        """Whether somebody's wishes are not known."""
        if is_blind == self._is_blind:
            return
        self._is_blind = is_blind
        for filter in self._imports:
            self._keep(self._allowed.add(filter) if is_blind else self._allowed.remove(filter))

    def _apply(self, change: Change) -> None:
        for filter in change.entered:
            for allowed in self._imports:
                both = meet(filter, allowed)
                if both is not None:
                    self._keep(self._allowed.add(both))
        for filter in change.left:
            for allowed in self._imports:
                both = meet(filter, allowed)
                if both is not None:
                    self._keep(self._allowed.remove(both))

    def _keep(self, change: Change) -> None:
        self.changes += 1
        for filter in change.entered:
            self.wanted[filter] = None
        for filter in change.left:
            del self.wanted[filter]
