"""The interests with conditions that are told to one neighbour: those that nothing else contains.

What a told filter matches needs no interest beside it, and one with a condition needs none where
another, on a wider filter, surely lets through the same. Each of those hangs below what contains
it, and is told when that is not told any more: what is new comes before what is gone. The cost is
that of what changes; where containers or the contained are so many that to look for them would take
long, some are told that need not be.
"""

from __future__ import annotations

from typing import Final

from gossamer.broker.conditions import Condition, filter_of, interest_of
from gossamer.geo.coverage import CONTAINMENT_POINTS
from gossamer.geo.overlap import Effort
from gossamer.mesh.interest.merging import FilterConditions, ToldCondition
from gossamer.topics.antichain import Antichain, Member
from gossamer.topics.containment import canonical, pattern
from gossamer.topics.cover import Cover, CoverChange

# Filters that are looked at for one condition, wider ones and narrower ones.
MOST_WIDER: Final = 16
MOST_NARROWER: Final = 256
# Comparisons of conditions for one.
_MOST_COMPARED: Final = 512


class _Interest:
    """A told condition of one filter. It hangs below `owner`, or below the filter `below`, or is
    told itself."""

    __slots__ = ("below", "condition", "hanging", "home", "owner", "text")

    def __init__(self, home: _Filter, condition: Condition) -> None:
        self.home = home
        self.condition = condition
        self.text = interest_of(home.filter, condition)
        self.owner: _Interest | None = None
        self.below = ""
        self.hanging: dict[_Interest, None] = {}


class _Filter(Member):
    """One filter and all conditions on it; in the index while one of them is told."""

    __slots__ = ("conditions", "interests", "symbols", "told")

    def __init__(self, filter: str) -> None:
        super().__init__(filter)
        self.symbols = pattern(filter)
        self.conditions = FilterConditions()
        self.interests: dict[ToldCondition, _Interest] = {}
        self.told: dict[_Interest, None] = {}


class ConditionalCover:
    """A multiset of interests with conditions, beside a cover of plain filters. `changes` has what
    entered (True) and left what is told, in that order, for whoever takes it."""

    def __init__(self, plain: Cover) -> None:
        self._plain = plain
        self._filters: dict[str, _Filter] = {}
        self._index = Antichain()  # of filters with something told; no antichain, but found alike
        self._system = Antichain()  # of those that begin with `$`
        self._below: dict[str, dict[_Interest, None]] = {}  # plain filters, and what they hide
        self._texts: dict[str, int] = {}  # what is told, and how often
        self.changes: list[tuple[str, bool]] = []

    def add(self, interest: str, condition: Condition) -> None:
        filter = canonical(filter_of(interest))
        home = self._filters.get(filter)
        if home is None:
            home = self._filters[filter] = _Filter(filter)
        home.conditions.add(condition)
        self._follow(home)

    def remove(self, interest: str, condition: Condition) -> None:
        """The interest must be in."""
        filter = canonical(filter_of(interest))
        home = self._filters[filter]
        home.conditions.remove(condition)
        self._follow(home)
        if not len(home.conditions):
            del self._filters[filter]

    def plain_changed(self, change: CoverChange) -> None:
        """Plain filters entered and left what is told."""
        for filter in change.entered:
            for home in self._told_within(filter):
                for interest in list(home.told):
                    self._leave(interest)
                    self._hang_below_filter(interest, filter)
        for filter in change.left:
            for interest in self._below.pop(filter, {}):
                interest.below = ""
                self._place(interest)

    def _follow(self, home: _Filter) -> None:
        """What its conditions are told by has changed: first what is new, then what is gone."""
        conditions = home.conditions
        for told in conditions.entered:
            interest = _Interest(home, told.condition)
            home.interests[told] = interest
            self._place(interest)
        for told in conditions.left:
            self._drop(home.interests.pop(told))
        conditions.entered.clear()
        conditions.left.clear()

    def _place(self, interest: _Interest) -> None:
        plain = self._plain.container(interest.home.filter)
        if plain is not None:
            self._hang_below_filter(interest, plain)
            return
        effort = Effort(CONTAINMENT_POINTS)
        wider = self._find_wider(interest, effort)
        if wider is not None:
            _hang(interest, wider)
            return
        self._enter(interest)
        self._hide_contained(interest, effort)

    def _find_wider(self, interest: _Interest, effort: Effort) -> _Interest | None:
        home = interest.home
        compared = 0
        for member in self._index_of(home.filter).containers(home.symbols, MOST_WIDER):
            assert isinstance(member, _Filter)
            for other in member.told:
                compared += 1
                if compared > _MOST_COMPARED:
                    return None
                if other.condition.contains(interest.condition, effort):
                    return other
        return None

    def _hide_contained(self, interest: _Interest, effort: Effort) -> None:
        compared = 0
        for home in self._told_within(interest.home.filter)[:MOST_NARROWER]:
            for other in list(home.told):
                compared += 1
                if compared > _MOST_COMPARED:
                    return
                if other is not interest and interest.condition.contains(other.condition, effort):
                    self._leave(other)
                    _hang(other, interest)

    def _drop(self, interest: _Interest) -> None:
        """What hung below it looks for another place."""
        if interest.owner is not None:
            del interest.owner.hanging[interest]
            interest.owner = None
        elif interest.below:
            hidden = self._below[interest.below]
            del hidden[interest]
            if not hidden:
                del self._below[interest.below]
        else:
            self._leave(interest)
        hanging = interest.hanging
        interest.hanging = {}
        for other in hanging:
            other.owner = None
            self._place(other)

    def _hang_below_filter(self, interest: _Interest, filter: str) -> None:
        interest.below = filter
        hidden = self._below.get(filter)
        if hidden is None:
            hidden = self._below[filter] = {}
        hidden[interest] = None

    def _enter(self, interest: _Interest) -> None:
        home = interest.home
        if not home.told:
            self._index_of(home.filter).put(home, home.symbols)
        home.told[interest] = None
        count = self._texts.get(interest.text, 0)
        self._texts[interest.text] = count + 1
        if not count:
            self.changes.append((interest.text, True))

    def _leave(self, interest: _Interest) -> None:
        home = interest.home
        del home.told[interest]
        if not home.told:
            self._index_of(home.filter).take(home, home.symbols)
        count = self._texts[interest.text] - 1
        if count:
            self._texts[interest.text] = count
        else:
            del self._texts[interest.text]
            self.changes.append((interest.text, False))

    def _told_within(self, filter: str) -> list[_Filter]:
        """The filters that this one contains, itself too, of those with something told."""
        found: list[_Filter] = []
        for member in self._index_of(filter).contained(pattern(filter)):
            assert isinstance(member, _Filter)
            if member.filter != filter:
                found.append(member)
        own = self._filters.get(filter)
        if own is not None and own.told:
            found.append(own)
        return found

    def _index_of(self, filter: str) -> Antichain:
        return self._system if filter.startswith("$") else self._index


def _hang(interest: _Interest, owner: _Interest) -> None:
    interest.owner = owner
    owner.hanging[interest] = None
