"""What one neighbour is told about what is wanted here, in the modes that name filters or nothing.

`add` and `remove` are called for every subscription of anybody but the neighbour itself. `changes`
gives the control messages that bring the neighbour up to date, `everything` those for one that
holds something else. Modes `pf`, `sf` and `ssf` are here, `auto` and `bloom` in files of their own.
"""

from hashlib import blake2b
from typing import Final

from gossamer.broker.conditions import (
    SEPARATOR,
    Condition,
    condition_text,
    filter_of,
    read_condition,
)
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
from gossamer.mesh.interest.conditional_cover import ConditionalCover
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

    def add(self, filter: str) -> None:
        """Or an interest with a condition; the modes that do not know those tell its filter."""

    def remove(self, filter: str) -> None: ...

    def set_conditional(self, is_conditional: bool) -> None:
        """Whether the neighbour knows interests with conditions."""

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

    def told_interests(self) -> list[str]:
        """Those of them that have names."""
        return []


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

    def told_interests(self) -> list[str]:
        return [] if self.is_blind else list(self.wanted)


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
        filter = filter_of(filter)
        count = self._counts.get(filter, 0)
        self._counts[filter] = count + 1
        if count == 0:
            self.enter(filter)
        else:
            self.again(filter)

    def again(self, filter: str) -> None:
        filter = filter_of(filter)
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
        filter = filter_of(filter)
        count = self._counts[filter] - 1
        if count:
            self._counts[filter] = count
        else:
            del self._counts[filter]
            self.leave(filter)


class WantedConditions:
    """The conditions that anybody wants, each read once for the advertisers of all links."""

    def __init__(self) -> None:
        self._by_interest: dict[str, Condition] = {}
        self._counts: dict[str, int] = {}

    def hold(self, interest: str) -> None:
        count = self._counts.get(interest, 0)
        self._counts[interest] = count + 1
        if not count:
            self._by_interest[interest] = read_condition(condition_text(interest))

    def release(self, interest: str) -> None:
        count = self._counts[interest] - 1
        if count:
            self._counts[interest] = count
        else:
            del self._counts[interest]
            del self._by_interest[interest]

    def find(self, interest: str) -> Condition:
        found = self._by_interest.get(interest)
        return read_condition(condition_text(interest)) if found is None else found


class SelectiveAdvertiser(FilterAdvertiser):
    """Containment decides what is worth telling, of filters and of conditions."""

    def __init__(self, conditions: WantedConditions | None = None) -> None:
        super().__init__()
        self._cover = Cover()
        self._conditions = WantedConditions() if conditions is None else conditions
        self._is_conditional = False
        self._conditional: ConditionalCover | None = None  # once there is one
        self._interests: dict[str, int] = {}  # with conditions, and how often each is wanted

    def add(self, filter: str) -> None:
        if SEPARATOR not in filter:
            self._apply(self._cover.add(filter))
            return
        self._interests[filter] = self._interests.get(filter, 0) + 1
        self._add_conditional(filter)

    def remove(self, filter: str) -> None:
        if SEPARATOR not in filter:
            self._apply(self._cover.remove(filter))
            return
        count = self._interests[filter] - 1
        if count:
            self._interests[filter] = count
        else:
            del self._interests[filter]
        self._remove_conditional(filter)

    def set_conditional(self, is_conditional: bool) -> None:
        """Each is told in the other way from now on; what is new is entered first."""
        if is_conditional == self._is_conditional:
            return
        for interest, count in self._interests.items():
            for _ in range(count):
                self._is_conditional = is_conditional
                self._add_conditional(interest)
                self._is_conditional = not is_conditional
                self._remove_conditional(interest)
        self._is_conditional = is_conditional

    def _add_conditional(self, interest: str) -> None:
        if not self._is_conditional:
            self._apply(self._cover.add(filter_of(interest)))
            return
        cover = self._conditional
        if cover is None:
            cover = self._conditional = ConditionalCover(self._cover)
        cover.add(interest, self._conditions.find(interest))
        self._follow(cover)

    def _remove_conditional(self, interest: str) -> None:
        if not self._is_conditional:
            self._apply(self._cover.remove(filter_of(interest)))
            return
        cover = self._conditional
        assert cover is not None
        cover.remove(interest, self._conditions.find(interest))
        self._follow(cover)

    def _apply(self, change: CoverChange) -> None:
        for filter in change.entered:
            self.enter(filter)
        for filter in change.left:
            self.leave(filter)
        if self._conditional is not None and (change.entered or change.left):
            self._conditional.plain_changed(change)
            self._follow(self._conditional)

    def _follow(self, cover: ConditionalCover) -> None:
        for interest, is_told in cover.changes:
            if is_told:
                self.enter(interest)
            else:
                self.leave(interest)
        cover.changes.clear()
