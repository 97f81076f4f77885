"""What brokers measured of the branches, added up: the sizes of equation 5, and who is interested.

Sums of parts of the mesh are added to those of others, so that what crosses a link is as large for
a thousand brokers behind it as for one.
"""

from __future__ import annotations

import json
from typing import Final

from gossamer.mesh.json_fields import list_of, malformed, number_of, read_json, real_of, text_of

# Of all branches these many are told; a mesh with more of them floods none of the rest.
MOST_BRANCHES: Final = 256
# Of a longer name nothing is measured: it would cost more to tell than flooding could save.
LONGEST_NAME: Final = 256  # letters
# What a neighbour may say of those behind it: far more than a mesh has, and fit to be added up.
_MOST_BROKERS: Final = 1_000_000_000
_MOST_BYTES: Final = 1e18
_NONE: Final = "malformed measures"
_DIGITS: Final = 2  # so that what hardly changes is not told again
_WILDCARDS: Final = ("+", "#")


class BranchPart:
    """One branch."""

    __slots__ = ("interested", "published", "subscribed")

    def __init__(self, interested: int, published: float, subscribed: float) -> None:
        self.interested = interested  # brokers, without those that want every branch
        self.published = published  # bytes, fading
        self.subscribed = subscribed

    def weight(self) -> float:
        return self.published + self.subscribed


class BranchSums:
    """Of some brokers."""

    __slots__ = ("branches", "brokers", "everywhere")

    def __init__(self) -> None:
        self.brokers = 0
        self.everywhere = 0  # brokers that want something of every branch
        self.branches: dict[str, BranchPart] = {}

    def add(self, other: BranchSums) -> None:
        self.brokers += other.brokers
        self.everywhere += other.everywhere
        for branch, part in other.branches.items():
            mine = self.branches.get(branch)
            if mine is None:
                self.branches[branch] = BranchPart(part.interested, part.published, part.subscribed)
            else:
                mine.interested += part.interested
                mine.published += part.published
                mine.subscribed += part.subscribed

    def interested(self, branch: str) -> int:
        part = self.branches.get(branch)
        return self.everywhere + (0 if part is None else part.interested)

    def busiest(self, count: int, first: dict[str, None]) -> list[str]:
        """Names of branches: those of `first`, then by weight."""
        ranked = sorted(
            (branch not in first, -part.weight(), branch) for branch, part in self.branches.items()
        )
        return [branch for _, _, branch in ranked[:count]]


def encode(sums: BranchSums, first: dict[str, None]) -> bytes:
    """If there are too many branches, those of `first` are told before others."""
    parts = {}
    for branch in sums.busiest(MOST_BRANCHES, first):
        part = sums.branches[branch]
        parts[branch] = (part.interested, _rounded(part.published), _rounded(part.subscribed))
    return json.dumps([sums.brokers, sums.everywhere, parts], sort_keys=True).encode()


def decode(body: bytes) -> BranchSums:
    """Whatever is wrong with it is the neighbour's error."""
    said = list_of(read_json(body, "measures"), 3, _NONE)
    parts = said[2] if len(said) == 3 else None
    if not isinstance(parts, dict):
        raise malformed(_NONE)
    if len(parts) > MOST_BRANCHES:
        raise malformed("measures of too many branches")
    sums = BranchSums()
    sums.brokers = number_of(said[0], 0, _MOST_BROKERS, _NONE)
    sums.everywhere = number_of(said[1], 0, _MOST_BROKERS, _NONE)
    for name, each in parts.items():
        branch = text_of(name, _NONE)
        if len(branch) > LONGEST_NAME:
            continue  # a neighbour of an earlier version tells those too
        part = list_of(each, 3, _NONE)
        if len(part) != 3:
            raise malformed(_NONE)
        sums.branches[branch] = BranchPart(
            number_of(part[0], 0, _MOST_BROKERS, _NONE),
            real_of(part[1], 0.0, _MOST_BYTES, _NONE),
            real_of(part[2], 0.0, _MOST_BYTES, _NONE),
        )
    return sums


def _rounded(size: float) -> int:
    return int(float(f"{size:.{_DIGITS - 1}e}"))


def branch_of(filter: str) -> str | None:
    """None for a filter that begins with a wildcard: it belongs to no branch."""
    first = filter.split("/", 1)[0]
    return None if first in _WILDCARDS else first
