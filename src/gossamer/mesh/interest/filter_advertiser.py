"""What one neighbour is told about what is wanted here, in the modes that name filters or nothing.

`add` and `remove` are called for every subscription of anybody but the neighbour itself. `changes`
gives the control messages that bring the neighbour up to date, `everything` those for one that
holds something else. Modes `pf`, `sf` and `ssf` are here, `auto` and `bloom` in files of their own.
"""

from hashlib import blake2b
from typing import Final

from gossamer.mesh.control_messages import (
    ADD,
    ALL,
    COMPLETE,
    REMOVE,
    RESTART,
    batches,
    control_packet,
    encode_interests,
)
from gossamer.topics.cover import Cover, CoverChange

# The digest of a neighbour's picture in which it may want anything.
ANYTHING: Final = b""
# Repetitions that wait for a neighbour that is away; they tell it nothing, so some may be missing.
_MOST_AGAIN: Final = 65_536


class Advertiser:
    """Tells nothing: the neighbour sends all it gets (publication flooding)."""

    def __init__(self) -> None:
        self.is_paced = False  # whether changes can wait for others, to be told as one
        self.interests = 0  # told so far: filters that came or went, or changes of a summary

    def add(self, filter: str) -> None: ...

    def remove(self, filter: str) -> None: ...

    def again(self, filter: str) -> None:
        """Somebody else's neighbour was told once more what it had been told already."""

    def set_blind(self, is_blind: bool) -> None:
        """Whether somebody else's wishes are not known by filters, so that all may be wanted."""

    def changes(self) -> list[bytes]:
        return []

    def everything(self) -> list[bytes]:
        return [control_packet(ALL, b"")]

    def agreed(self) -> None:
        """The neighbour turned out to hold what it should: no change is left to tell."""

    def digest(self) -> bytes:
        """Identifies what the neighbour should hold, once all changes are told."""
        return ANYTHING

    def told(self) -> int:
        """How many interests the neighbour holds."""
        return 0


class FilterAdvertiser(Advertiser):
    """Tells filters; a subclass decides which."""

    def __init__(self) -> None:
        super().__init__()
        self.wanted: dict[str, None] = {}  # in order, so that runs are repeatable
        self.is_blind = False
        self._has_told_all = False  # that everything is wanted
        self._new: dict[str, None] = {}
        self._gone: dict[str, None] = {}

    def enter(self, filter: str) -> None:
        self.wanted[filter] = None
        if filter in self._gone:
            del self._gone[filter]
        else:
            self._new[filter] = None

    def leave(self, filter: str) -> None:
        del self.wanted[filter]
        if filter in self._new:
            del self._new[filter]
        else:
            self._gone[filter] = None

    def set_blind(self, is_blind: bool) -> None:
        self.is_blind = is_blind

    def changes(self) -> list[bytes]:
        """What is new comes before what is gone, so that no message falls between them."""
        if self.is_blind != self._has_told_all:
            return self.everything()
        if self.is_blind:
            self.agreed()
        if not self._new and not self._gone:
            return []
        self.interests += len(self._new) + len(self._gone)
        packets = _packets(ADD, list(self._new)) + _packets(REMOVE, list(self._gone))
        self._new.clear()
        self._gone.clear()
        return packets

    def everything(self) -> list[bytes]:
        self.agreed()
        if self.is_blind:
            return super().everything()
        self.interests += len(self.wanted)
        return [
            control_packet(RESTART, b""),
            *_packets(ADD, list(self.wanted)),
            control_packet(COMPLETE, b""),
        ]

    def agreed(self) -> None:
        self._has_told_all = self.is_blind
        self._new.clear()
        self._gone.clear()

    def digest(self) -> bytes:
        return ANYTHING if self.is_blind else digest_of(list(self.wanted))

    def told(self) -> int:
        return 0 if self.is_blind else len(self.wanted)


def digest_of(filters: list[str]) -> bytes:
    """The same for the same set, in any order."""
    total = 0
    for filter in filters:
        total ^= int.from_bytes(blake2b(filter.encode(), digest_size=8).digest(), "big")
    return total.to_bytes(8, "big") + len(filters).to_bytes(4, "big")


def add_packets(filters: list[str]) -> list[bytes]:
    return _packets(ADD, filters)


def _packets(kind: int, filters: list[str]) -> list[bytes]:
    return [control_packet(kind, encode_interests(portion)) for portion in batches(filters)]


class FloodingAdvertiser(FilterAdvertiser):
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


class SelectiveAdvertiser(FilterAdvertiser):
    """Containment decides what is worth telling."""

    def __init__(self) -> None:
        super().__init__()
        self._cover = Cover()

    def add(self, filter: str) -> None:
        self._apply(self._cover.add(filter))

    def remove(self, filter: str) -> None:
        self._apply(self._cover.remove(filter))

    def _apply(self, change: CoverChange) -> None:
        for filter in change.entered:
            self.enter(filter)
        for filter in change.left:
            self.leave(filter)
