"""What one broker measures of each branch: the two sizes of equation 5, and whether it is wanted.

Sizes are of what this broker's own clients publish and subscribe, so that nothing is counted on two
brokers. They fade: what was measured a minute ago weighs half.
"""

from __future__ import annotations

import json
from typing import Final

from gossamer.broker.routes import RouteTable
from gossamer.mesh.modes.auto import branch_of
from gossamer.wire import reasons
from gossamer.wire.errors import ProtocolError

HALF_LIFE: Final = 60.0  # seconds
# The busiest branches are measured by name; a mesh with more of them floods none of the rest.
MOST_BRANCHES: Final = 64
# Brokers may each be busy with others; a peer that invents branches cannot fill the memory.
MOST_INTERESTS: Final = 1_024
# What an interest takes on a link beside its filter.
_INTEREST_BYTES: Final = 3
_NOTHING: Final = 1.0  # bytes; less is noise
_DIGITS: Final = 2  # so that what hardly changes is not told again


class Measure:
    """Of one branch."""

    __slots__ = ("published", "subscribed")

    def __init__(self, published: float, subscribed: float) -> None:
        self.published = published  # bytes, fading
        self.subscribed = subscribed


class Meter:
    """This broker's own."""

    def __init__(self, routes: RouteTable) -> None:
        self._routes = routes
        self._published: dict[str, float] = {}
        self._subscribed: dict[str, float] = {}
        self._wanted: dict[str, int] = {}  # filters of clients
        self._wanted_anywhere = 0  # filters that begin with a wildcard
        self._at = 0.0
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

    def look(self, now: float) -> dict[str, Measure]:
        """The busiest branches, now."""
        passed = min(max(0.0, now - self._at), 10 * HALF_LIFE)
        self._at = now
        fading = 0.5 ** (passed / HALF_LIFE)
        self._published = _faded(self._published, fading)
        self._subscribed = _faded(self._subscribed, fading)
        for branch, size in self._routes.take_published().items():
            self._published[branch] = self._published.get(branch, 0.0) + size
        branches = {*self._published, *self._subscribed}
        busiest = sorted(branches, key=self._weight, reverse=True)[:MOST_BRANCHES]
        return {
            branch: Measure(
                self._published.get(branch, 0.0),
                self._subscribed.get(branch, 0.0),
            )
            for branch in busiest
        }

    def interests(self, branches: set[str]) -> list[str]:
        """Those of these branches that clients want; "#" if some want all."""
        if self._wanted_anywhere:
            return ["#"]
        return sorted(branch for branch in branches if branch in self._wanted)[:MOST_INTERESTS]

    def _count(self, branch: str, filter: str) -> None:
        size = len(filter.encode()) + _INTEREST_BYTES
        self._subscribed[branch] = self._subscribed.get(branch, 0.0) + size

    def _weight(self, branch: str) -> tuple[float, str]:
        return (self._published.get(branch, 0.0) + self._subscribed.get(branch, 0.0), branch)


class Report:
    """What one broker said of itself."""

    __slots__ = ("heard_at", "interests", "sizes")

    def __init__(
        self, interests: set[str], sizes: dict[str, tuple[float, float]], heard_at: float
    ) -> None:
        self.interests = interests
        self.sizes = sizes
        self.heard_at = heard_at

    def wants(self, branch: str) -> bool:
        return branch in self.interests or "#" in self.interests


def encode_report(measures: dict[str, Measure], interests: list[str]) -> bytes:
    sizes = {
        branch: (_rounded(measure.published), _rounded(measure.subscribed))
        for branch, measure in measures.items()
    }
    return json.dumps([interests, sizes], sort_keys=True).encode()


def decode_report(body: bytes, now: float) -> Report:
    """Whatever is wrong with it is the neighbour's error."""
    try:
        interests, sizes = json.loads(body)
        read = {str(name): (float(one), float(two)) for name, (one, two) in sizes.items()}
        wanted = {str(name) for name in interests}
    except (ValueError, TypeError, AttributeError, RecursionError):
        raise ProtocolError(reasons.MALFORMED_PACKET, "measures that are none") from None
    if len(read) > MOST_BRANCHES or len(wanted) > MOST_INTERESTS:
        raise ProtocolError(reasons.PROTOCOL_ERROR, "measures of too many branches")
    return Report(wanted, read, now)


def _rounded(size: float) -> int:
    return int(float(f"{size:.{_DIGITS - 1}e}"))


def _faded(sizes: dict[str, float], fading: float) -> dict[str, float]:
    faded = {branch: size * fading for branch, size in sizes.items()}
    return {branch: size for branch, size in faded.items() if size >= _NOTHING}
