"""The widest of many filters: a multiset that keeps its maximal elements under containment.

`add` and `remove` say exactly which filters enter and leave the minimal cover. Filters that match
the same topics count as one, reported in its canonical spelling. The cost does not grow with the
number of filters, only with the number that enter or leave.

Every filter that is not maximal hangs below one that contains it, in a forest whose roots are the
cover. Adding a filter hangs only roots; removing one moves only what hangs directly below it. What
hangs below a filter is kept in groups, each under a *hull*, a pattern that covers the group: while
another root covers the hull, the group moves there in one step.
"""

from typing import Final

from gossamer.topics.antichain import Antichain, Member
from gossamer.topics.containment import END, canonical, pattern

WORTH_A_GROUP: Final = 16  # Fewer are poured together: each group costs a search when it moves.
_DEEPER: Final = 1 << 17  # More than the levels a filter can have: it has at most 65535 bytes.


class CoverChange:
    """The filters that entered and left the cover through one step."""

    __slots__ = ("entered", "left")

    def __init__(self, entered: list[str], left: list[str]) -> None:
        self.entered = entered
        self.left = left

    def __repr__(self) -> str:
        return f"CoverChange(entered={self.entered}, left={self.left})"


class _Element(Member):
    """One filter of the multiset; `home` is the group it hangs in, None while it is maximal."""

    __slots__ = ("count", "groups", "home", "rank")

    def __init__(self, filter: str, symbols: list[str]) -> None:
        super().__init__(filter)
        self.count = 1
        self.rank = _rank(symbols)
        self.home: _Group | None = None
        self.groups: dict[_Group, None] | None = None


class _Group:
    """Filters that hang below `owner` together, all covered by `hull`."""

    __slots__ = ("elements", "hull", "owner")

    def __init__(self, owner: _Element) -> None:
        self.owner = owner
        self.elements: dict[_Element, None] = {}
        self.hull: list[str] = []


class Cover:
    """A multiset of valid filters and, always, its maximal elements."""

    def __init__(self) -> None:
        self._elements: dict[str, _Element] = {}
        self._plain = Antichain()
        self._system = Antichain()  # No wildcard reaches from one into the other: [MQTT-4.7.2-1]

    def __len__(self) -> int:
        """How many different filters are in the multiset."""
        return len(self._elements)

    def count(self, filter: str) -> int:
        """How often the filter, in any spelling, is in the multiset."""
        element = self._elements.get(canonical(filter))
        return 0 if element is None else element.count

    def container(self, filter: str) -> str | None:
        """A filter of the cover that contains this one."""
        found = self._roots(filter).container(pattern(filter))
        return None if found is None else found.filter

    def maximal(self) -> list[str]:
        """The minimal cover."""
        return [member.filter for member in self._plain.members() + self._system.members()]

    def add(self, filter: str) -> CoverChange:
        """Put the filter in once more."""
        filter = canonical(filter)
        element = self._elements.get(filter)
        if element is not None:
            element.count += 1
            return CoverChange([], [])
        symbols = pattern(filter)
        element = _Element(filter, symbols)
        self._elements[filter] = element
        roots = self._roots(filter)
        container = roots.container(symbols)
        if container is not None:
            assert isinstance(container, _Element)
            _hang(element, symbols, container)
            return CoverChange([], [])
        left: list[str] = []
        for member in roots.contained(symbols):
            assert isinstance(member, _Element)
            its_symbols = pattern(member.filter)
            roots.take(member, its_symbols)
            _hang(member, its_symbols, element)
            left.append(member.filter)
        roots.put(element, symbols)
        return CoverChange([filter], left)

    def remove(self, filter: str) -> CoverChange:
        """Take the filter out once; KeyError if it is not in."""
        filter = canonical(filter)
        element = self._elements[filter]
        element.count -= 1
        if element.count > 0:
            return CoverChange([], [])
        del self._elements[filter]
        home = element.home
        if home is not None:
            _unhang(element, home)
            if element.groups is not None:
                for group in element.groups:
                    _give(group, home.owner)
                element.groups = None  # one that was poured out still leads back here
            return CoverChange([], [])
        roots = self._roots(filter)
        roots.take(element, pattern(filter))
        entered = _rehang(element, roots)
        element.groups = None
        return CoverChange(entered, [filter])

    def _roots(self, filter: str) -> Antichain:
        return self._system if filter.startswith("$") else self._plain


def _rehang(removed: _Element, roots: Antichain) -> list[str]:
    """Find what hung below a root another root to hang from; the rest become roots themselves."""
    if removed.groups is None:
        return []
    orphans: list[_Element] = []
    for group in removed.groups:
        container = roots.container(group.hull)
        if container is not None:
            assert isinstance(container, _Element)
            _give(group, container)
        else:
            orphans.extend(group.elements)
    orphans.sort(key=_rank_of)
    entered: list[str] = []
    moved: dict[_Element, _Group] = {}
    for orphan in orphans:
        symbols = pattern(orphan.filter)
        container = roots.container(symbols)
        if container is None:
            orphan.home = None
            roots.put(orphan, symbols)
            entered.append(orphan.filter)
            continue
        assert isinstance(container, _Element)
        target = moved.get(container)
        if target is None:
            target = moved[container] = _Group(container)
        _join(orphan, symbols, target)
    for owner, group in moved.items():
        _give(group, owner)
    return entered


def _hang(element: _Element, symbols: list[str], owner: _Element) -> None:
    """Hang an element into the first group of its new owner."""
    groups = owner.groups
    if groups is None:
        groups = owner.groups = {}
    for group in groups:
        _join(element, symbols, group)
        return
    group = _Group(owner)
    groups[group] = None
    _join(element, symbols, group)


def _join(element: _Element, symbols: list[str], group: _Group) -> None:
    element.home = group
    group.elements[element] = None
    _widen(group, symbols)


def _unhang(element: _Element, home: _Group) -> None:
    del home.elements[element]
    if not home.elements:
        groups = home.owner.groups
        assert groups is not None
        del groups[home]


def _give(group: _Group, owner: _Element) -> None:
    """Let a group that hangs nowhere any more hang below its new owner."""
    if len(group.elements) < WORTH_A_GROUP:
        for element in group.elements:
            _hang(element, pattern(element.filter), owner)
        return
    group.owner = owner
    if owner.groups is None:
        owner.groups = {group: None}
    else:
        owner.groups[group] = None


def _widen(group: _Group, symbols: list[str]) -> None:
    """Make the hull the narrowest pattern that covers it and `symbols`, a list it may keep."""
    hull = group.hull
    if not hull:
        group.hull = symbols
        return
    at = 0
    while True:
        level = hull[at]
        if level == "#":
            return
        symbol = symbols[at]
        if level != symbol:
            if level == END or symbol == END or symbol == "#":
                group.hull = [*hull[:at], "#"]
                return
            if level != "+":
                hull[at] = "+"
        elif level == END:
            return
        at += 1


def _rank(symbols: list[str]) -> int:
    """Lower for a container than for anything it contains: a `#`, fewer levels, more `+`."""
    rank = len(symbols) * _DEEPER - symbols.count("+")
    return rank if symbols[-1] == "#" else rank + _DEEPER * _DEEPER


def _rank_of(element: _Element) -> int:
    return element.rank
