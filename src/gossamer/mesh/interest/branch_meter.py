"""What one broker measures of each branch: the two sizes of equation 5, and whether it is wanted.

Sizes are of what this broker's own clients publish and subscribe, so that nothing is counted on two
brokers. They fade: what was measured a minute ago weighs half.
"""

from __future__ import annotations

from typing import Final

from gossamer.broker.routes import RouteTable
from gossamer.mesh.interest.branch_sums import LONGEST_NAME, BranchPart, BranchSums, branch_of

HALF_LIFE: Final = 60.0  # seconds
BUSIEST: Final = 64  # branches that a broker measures by name
# Branches whose sizes are remembered from one look to the next; the busiest stay.
_MOST_REMEMBERED: Final = 4_096
_MOST_AT_ONCE: Final = 65_536  # new ones between two looks
# What an interest takes on a link beside its filter.
_INTEREST_BYTES: Final = 3
_NOTHING: Final = 1.0  # bytes; less is noise
_NEVER: Final = -1.0


class BranchMeter:
    """This broker's own."""

    def __init__(self, routes: RouteTable) -> None:
        self._routes = routes
        self._published: dict[str, float] = {}
        self._subscribed: dict[str, float] = {}
        self._wanted: dict[str, int] = {}  # filters of clients
        self._wanted_anywhere = 0  # filters that begin with a wildcard
        self._at = _NEVER
        routes.take_published()

    def wanted(self, filter: str, is_news: bool) -> None:
        """A client subscribed; `is_news` unless it did so before this was measured."""
        branch = branch_of(filter)
        if branch is None:
            self._wanted_anywhere += 1
            return
        self._wanted[branch] = self._wanted.get(branch, 0) + 1
        if is_news:
            self._count(branch, filter)

    def unwanted(self, filter: str) -> None:
        branch = branch_of(filter)
        if branch is None:
            self._wanted_anywhere -= 1
            return
        left = self._wanted[branch] - 1
        if left:
            self._wanted[branch] = left
        else:
            del self._wanted[branch]
        self._count(branch, filter)

    def look(self, now: float, known: dict[str, None]) -> BranchSums:
        """The busiest branches now, and which of those and of the `known` ones clients want."""
        passed = 0.0 if self._at == _NEVER else min(max(0.0, now - self._at), 10 * HALF_LIFE)
        self._at = now
        fading = 0.5 ** (passed / HALF_LIFE)
        self._published = _faded(self._published, fading)
        self._subscribed = _faded(self._subscribed, fading)
        for branch, size in self._routes.take_published().items():
            if len(branch) <= LONGEST_NAME:
                self._published[branch] = self._published.get(branch, 0.0) + size
        self._published = _largest(self._published)
        self._subscribed = _largest(self._subscribed)
        branches = {*self._published, *self._subscribed}
        busiest = sorted(branches, key=self._weight, reverse=True)[:BUSIEST]
        sums = BranchSums()
        sums.brokers = 1
        sums.everywhere = 1 if self._wanted_anywhere else 0
        for branch in [*busiest, *known]:
            is_counted = branch in self._wanted and not self._wanted_anywhere
            sums.branches[branch] = BranchPart(
                1 if is_counted else 0,
                self._published.get(branch, 0.0),
                self._subscribed.get(branch, 0.0),
            )
        return sums

    def _count(self, branch: str, filter: str) -> None:
        is_new = branch not in self._subscribed
        if len(branch) > LONGEST_NAME or (is_new and len(self._subscribed) >= _MOST_AT_ONCE):
            return
        size = len(filter.encode()) + _INTEREST_BYTES
        self._subscribed[branch] = self._subscribed.get(branch, 0.0) + size

    def _weight(self, branch: str) -> tuple[float, str]:
        return (self._published.get(branch, 0.0) + self._subscribed.get(branch, 0.0), branch)


def _largest(sizes: dict[str, float]) -> dict[str, float]:
    if len(sizes) <= _MOST_REMEMBERED:
        return sizes
    kept = sorted(sizes.items(), key=_size, reverse=True)[:_MOST_REMEMBERED]
    return dict(kept)


def _size(item: tuple[str, float]) -> float:
    return item[1]


def _faded(sizes: dict[str, float], fading: float) -> dict[str, float]:
    faded = {branch: size * fading for branch, size in sizes.items()}
    return {branch: size for branch, size in faded.items() if size >= _NOTHING}
