"""The conditions on one filter, as few as they can be told by: each wanted one is in one of these.

Up to a bound they are told exactly, but for those that others contain. Beyond it they are told in
groups, each by a hull: values by intervals with the largest gaps between them, regions by which lie
together. What a hull contains already changes nothing, so a thousand thresholds are told as one,
and one more of them is not told at all. When so many have gone that a group has changed, it gets
another hull; below the bound all is exact again.
"""

from __future__ import annotations

import math
from typing import Final

from gossamer.broker.conditions import Condition
from gossamer.geo.circle import Circle
from gossamer.geo.coverage import CONTAINMENT_POINTS, Coverage
from gossamer.geo.coverage import hull as hull_of_coverages
from gossamer.geo.earth import MAX_REACH, Point
from gossamer.geo.enclosing import circle_around, groups_of
from gossamer.geo.overlap import Effort
from gossamer.geo.shape import Shape
from gossamer.plus.predicate import Predicate
from gossamer.plus.predicate import hull as hull_of_predicates

# Of conditions with a region on one filter, and of those without, each.
MOST_TOLD: Final = 64
# To so many they are merged, so that the next few need no merging.
MERGED_TO: Final = 48
# Of a hull, which has them in place of all that its group has.
HULL_SHAPES: Final = 24
# Comparisons to find what contains what is left of a group: four milliseconds.
MOST_COMPARED: Final = 4_000
# Of a group that has become another: a part of it in so many, once they have gone.
_GONE_PART: Final = 4


class ToldCondition:
    """One condition as it is told, with those that it contains."""

    __slots__ = ("condition", "gone", "is_hull", "members")

    def __init__(self, condition: Condition, is_hull: bool) -> None:
        self.condition = condition
        self.members: dict[str, Condition] = {}
        self.is_hull = is_hull  # or it is one of its members
        self.gone = 0  # members, since it became a hull


class FilterConditions:
    """A multiset of conditions, and those that are told in their place. `entered` and `left` are
    the changes of these, for whoever takes them."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._told: dict[str, ToldCondition] = {}  # by member
        self.told: dict[ToldCondition, None] = {}
        self.entered: dict[ToldCondition, None] = {}
        self.left: dict[ToldCondition, None] = {}

    def __len__(self) -> int:
        """How many different ones are wanted."""
        return len(self._counts)

    def add(self, condition: Condition) -> None:
        text = condition.text
        count = self._counts.get(text, 0)
        self._counts[text] = count + 1
        if count:
            return
        effort = Effort(CONTAINMENT_POINTS)
        for told in self.told:
            if told.condition.contains(condition, effort):
                self._join(told, condition)
                return
        self._tell(ToldCondition(condition, False), [condition], effort)
        self._merge()

    def remove(self, condition: Condition) -> None:
        text = condition.text
        count = self._counts[text] - 1
        if count:
            self._counts[text] = count
            return
        del self._counts[text]
        told = self._told.pop(text)
        del told.members[text]
        is_narrower = False
        if not told.members:
            self._withdraw(told)
        elif told.is_hull or told.condition.text == text:
            # Somebody who made it as wide as it is has gone.
            told.gone += 1
            is_narrower = not told.is_hull or told.gone * _GONE_PART >= len(told.members)
            told.is_hull = True
        if len(self._counts) <= MOST_TOLD:
            # Nothing needs a hull any more.
            self._tell_anew([one for one in self.told if one.is_hull])
        elif is_narrower:
            self._tell_anew([told])

    def _tell_anew(self, hulls: list[ToldCondition]) -> None:
        """Their members are told as if they had just come, unless that is too much work: then the
        hulls stay, which are wider than they would have to be."""
        members = [one for told in hulls for one in told.members.values()]
        widest = _widest(members)
        if widest is None:
            return
        for told in hulls:
            self._withdraw(told)
        effort = Effort(CONTAINMENT_POINTS)
        for condition, contained in widest:
            self._tell(ToldCondition(condition, False), contained, effort)
        self._merge()

    def _tell(self, told: ToldCondition, members: list[Condition], effort: Effort) -> None:
        """It takes the place of all that it contains."""
        for other in list(self.told):
            if told.condition.contains(other.condition, effort):
                for member in other.members.values():
                    self._join(told, member)
                self._withdraw(other)
        for member in members:
            self._join(told, member)
        self.told[told] = None
        self.entered[told] = None

    def _join(self, told: ToldCondition, member: Condition) -> None:
        told.members[member.text] = member
        self._told[member.text] = told

    def _withdraw(self, told: ToldCondition) -> None:
        del self.told[told]
        if told in self.entered:
            del self.entered[told]
        else:
            self.left[told] = None

    # Merging --------------------------------------------------------------------------------------

    def _merge(self) -> None:
        """Down to what may be told."""
        with_region = [told for told in self.told if told.condition.coverage is not None]
        without = [told for told in self.told if told.condition.coverage is None]
        if len(with_region) > MOST_TOLD:
            self._merge_groups(_near_each_other(with_region))
        if len(without) > MOST_TOLD:
            self._merge_groups(_by_gaps(without))

    def _merge_groups(self, groups: list[list[ToldCondition]]) -> None:
        for near in groups:
            group = [told for told in near if told in self.told]  # not in another hull already
            if len(group) < 2:
                continue
            members = [member for told in group for member in told.members.values()]
            hull = hull_of([told.condition for told in group])
            for told in group:
                self._withdraw(told)
            self._tell(ToldCondition(hull, True), members, Effort(CONTAINMENT_POINTS))


def hull_of(conditions: list[Condition]) -> Condition:
    """Contains each of them."""
    predicates: list[Predicate] = []
    coverages: list[Coverage] = []
    for one in conditions:
        if one.predicate is not None:
            predicates.append(one.predicate)
        if one.coverage is not None:
            coverages.append(one.coverage)
    predicate: Predicate | None = None
    coverage: Coverage | None = None
    if len(predicates) == len(conditions):
        predicate = hull_of_predicates(predicates)
    if len(coverages) == len(conditions):
        coverage = hull_of_coverages(coverages, HULL_SHAPES)
    return Condition(predicate, coverage)


def _widest(conditions: list[Condition]) -> list[tuple[Condition, list[Condition]]] | None:
    """Those that no other contains, each with what it contains; None if it takes too long."""
    found: list[tuple[Condition, list[Condition]]] = []
    compared = 0
    effort = Effort(CONTAINMENT_POINTS)
    for condition in conditions:
        compared += len(found) + 1
        if compared > MOST_COMPARED:
            return None
        container: list[Condition] | None = None
        for wide, contained in found:
            if wide.contains(condition, effort):
                container = contained
                break
        if container is not None:
            container.append(condition)
            continue
        mine = [condition]
        rest: list[tuple[Condition, list[Condition]]] = []
        for wide, contained in found:
            if condition.contains(wide, effort):
                mine += contained
            else:
                rest.append((wide, contained))
        rest.append((condition, mine))
        found = rest
    return found


def _near_each_other(told: list[ToldCondition]) -> list[list[ToldCondition]]:
    circles: list[Shape] = []
    for one in told:
        coverage = one.condition.coverage
        balls = [] if coverage is None else coverage.region.balls()
        if balls:
            ball = circle_around(balls)
            circles.append(Circle(ball.centre, min(ball.reach, MAX_REACH)))
        else:
            circles.append(Circle(Point(0.0, 0.0), 1.0))  # nowhere
    return [[told[place] for place in group] for group in groups_of(circles, MERGED_TO)]


def _by_gaps(told: list[ToldCondition]) -> list[list[ToldCondition]]:
    """Cut where the values between two neighbours are most."""
    spans: list[tuple[tuple[str, ...], float, float, str, int]] = []
    for place, one in enumerate(told):
        predicate = one.condition.predicate
        steps, low, high = ((), -math.inf, math.inf) if predicate is None else predicate.span()
        spans.append((steps, low, high, one.condition.text, place))
    spans.sort()
    gaps: list[tuple[float, int]] = []
    reach = -math.inf
    for at, (steps, low, high, _, _) in enumerate(spans):
        if at == 0 or steps != spans[at - 1][0]:
            gap = math.inf
            reach = high
        else:
            gap = low - reach
            if gap != gap:
                gap = math.inf  # both without an end: nothing is known of how far they are apart
            reach = max(reach, high)
        gaps.append((-gap, at))
    gaps.sort()
    starts = sorted([at for _, at in gaps[:MERGED_TO]])  # the first place among them
    groups: list[list[ToldCondition]] = []
    for number, start in enumerate(starts):
        end = starts[number + 1] if number + 1 < len(starts) else len(spans)
        group = [told[span[4]] for span in spans[start:end]]
        if group:
            groups.append(group)
    return groups
