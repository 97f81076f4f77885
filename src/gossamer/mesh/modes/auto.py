"""Filters, and for branches that are better flooded one filter for all of the branch.

A branch is what begins with one level. Where a branch is flooded, a neighbour is told `branch/#` as
soon as anybody behind this broker wants anything of it, and hears of no subscription there until
the last is gone. That asks for more than is wanted and never for less, so each broker may choose at
its own time, and no two need to agree.
"""

from typing import Final

from gossamer.mesh.modes.ssf import SelectiveTeller

_WILDCARDS: Final = ("+", "#")


def branch_of(filter: str) -> str | None:
    """None for a filter that begins with a wildcard: it belongs to no branch."""
    first = filter.split("/", 1)[0]
    return None if first in _WILDCARDS else first


class AutoTeller(SelectiveTeller):
    """`flooded` is shared by the tellers of all links; `choose` tells each of its changes."""

    def __init__(self, flooded: dict[str, None]) -> None:
        super().__init__()
        self._flooded: dict[str, None] = dict(flooded)
        self._branches: dict[str, dict[str, int]] = {}  # filters and how often each is wanted

    def add(self, filter: str) -> None:
        branch = branch_of(filter)
        if branch is None:
            super().add(filter)
            return
        filters = self._branches.get(branch)
        is_first = filters is None
        if filters is None:
            filters = self._branches[branch] = {}
        filters[filter] = filters.get(filter, 0) + 1
        if branch not in self._flooded:
            super().add(filter)
        elif is_first:
            super().add(branch + "/#")

    def remove(self, filter: str) -> None:
        branch = branch_of(filter)
        if branch is None:
            super().remove(filter)
            return
        filters = self._branches[branch]
        filters[filter] -= 1
        if not filters[filter]:
            del filters[filter]
        if not filters:
            del self._branches[branch]
        if branch not in self._flooded:
            super().remove(filter)
        elif not filters:
            super().remove(branch + "/#")

    def choose(self, branch: str, is_flooded: bool) -> None:
        """What is new is entered before what was is taken out, so that nothing is uncovered."""
        if is_flooded == (branch in self._flooded):
            return
        filters = self._branches.get(branch)
        if is_flooded:
            self._flooded[branch] = None
        else:
            del self._flooded[branch]
        if filters is None:
            return
        if is_flooded:
            super().add(branch + "/#")
        for filter, count in filters.items():
            for _ in range(count):
                if is_flooded:
                    super().remove(filter)
                else:
                    super().add(filter)
        if not is_flooded:
            super().remove(branch + "/#")
