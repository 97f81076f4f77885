"""What is told of conditions, held against brute force over small alphabets of topics, values and
places: never less than is wanted, at no step; below the bound of merging, never more."""

import math
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.broker.conditions import (
    SEPARATOR,
    Condition,
    condition_text,
    filter_of,
    interest_of,
    read_condition,
)
from gossamer.geo.coverage import coverage_of
from gossamer.geo.earth import Point, destination
from gossamer.geo.geolocation import NOWHERE, Place, read_located
from gossamer.geo.overlap import Effort
from gossamer.mesh.control_messages import ADD, REMOVE, decode_interests
from gossamer.mesh.interest.filter_advertiser import SelectiveAdvertiser
from gossamer.mesh.interest.merging import MOST_TOLD, FilterConditions
from gossamer.plus.publication import Publication
from gossamer.topics.names import matches

FILTERS = ["a", "a/b", "a/c", "a/+", "+/b", "a/#", "#", "+/+", "$x/a", "$x/#"]
TOPICS = ["a", "a/b", "a/c", "b", "b/b", "b/c/d", "$x/a", "$x/b"]
VALUES = [b"0", b"10", b"15", b"20", b"30", b"warm", b'{"v":15}']
PLACES = [None, *[Point(0.0, east / 100) for east in range(5)]]
RULES = ["", "$GT;5", "$GT;10", "$GTE;10", "$LT;20", "$GT;10$LT;20", "$EQ;warm", "$GT;10;v"]
DISCS = ["", *[f"0.0;{east / 100};{radius}" for east in range(5) for radius in (10.0, 1500.0)]]
"""Neighbouring places are 1,113 metres apart."""


@cache
def condition(rules: str, disc: str) -> Condition:
    coverage = f"cgpl_circleStatic=0;m;1;{disc}" if disc else ""
    parts = [part for part in (f"p{rules}" if rules else "", coverage) if part]
    return read_condition(SEPARATOR.join(parts))


interests = st.one_of(
    st.sampled_from(FILTERS),
    st.builds(
        lambda filter, rules, disc: interest_of(filter, condition(rules, disc)),
        st.sampled_from(FILTERS),
        st.sampled_from(RULES),
        st.sampled_from(DISCS),
    ),
)


@cache
def passing(interest: str) -> frozenset[tuple[str, int, int]]:
    """Everything that it lets through."""
    one = read_condition(condition_text(interest)) if SEPARATOR in interest else condition("", "")
    found = set()
    for topic in TOPICS:
        if not matches(filter_of(interest), topic):
            continue
        for value, payload in enumerate(VALUES):
            if one.predicate is not None and not one.predicate.passes(Publication(topic, payload)):
                continue
            for place, point in enumerate(PLACES):
                region = None if one.coverage is None else one.coverage.region
                if region is None or point is None or region.contains(point):
                    found.add((topic, value, place))
    return frozenset(found)


def let_through(told: list[str]) -> set[tuple[str, int, int]]:
    return set().union(*[passing(each) for each in told])


class Neighbour:
    """Holds what it was told, and looks after each interest that comes or goes."""

    def __init__(self) -> None:
        self.held: dict[str, None] = {}
        self.seen: set[tuple[str, int, int]] = set()  # wanted before and after

    def hear(self, packets: list[bytes]) -> None:
        for packet in packets:
            payload = packet[packet.index(b"$gossamer/mesh") + len(b"$gossamer/mesh") + 1 :]
            for interest in decode_interests(payload, 1, True):
                if payload[0] == ADD:
                    assert interest not in self.held
                    self.held[interest] = None
                else:
                    assert payload[0] == REMOVE
                    del self.held[interest]
                assert self.seen <= let_through(list(self.held))


steps = st.lists(st.tuples(interests, st.booleans(), st.booleans()), max_size=40)


@settings(deadline=None)
@given(steps)
def test_told_interests_cover_what_is_wanted_at_every_step(
    steps: list[tuple[str, bool, bool]],
) -> None:
    advertiser = SelectiveAdvertiser()
    advertiser.set_conditional(True)
    neighbour = Neighbour()
    wanted: list[str] = []
    before: set[tuple[str, int, int]] = set()
    for interest, leaves, tells in [*steps, ("a", False, True)]:
        if leaves and interest in wanted:
            wanted.remove(interest)
            advertiser.remove(interest)
        else:
            wanted.append(interest)
            advertiser.add(interest)
        if tells:
            after = let_through(wanted)
            neighbour.seen = before & after
            neighbour.hear(advertiser.changes())
            # Below the bound nothing is told but what is wanted, and of that the maximal alone.
            assert let_through(list(neighbour.held)) == after
            assert set(neighbour.held) == set(advertiser.wanted)
            before = after
    for interest in wanted:
        advertiser.remove(interest)
    neighbour.seen = set()
    neighbour.hear(advertiser.changes())
    assert not neighbour.held


@settings(deadline=None, max_examples=50)
@given(steps)
def test_a_neighbour_learns_conditions_and_forgets_them(
    steps: list[tuple[str, bool, bool]],
) -> None:
    advertiser = SelectiveAdvertiser()
    neighbour = Neighbour()
    wanted: list[str] = []
    for interest, leaves, switches in steps:
        if leaves and interest in wanted:
            wanted.remove(interest)
            advertiser.remove(interest)
        else:
            wanted.append(interest)
            advertiser.add(interest)
        if switches:
            advertiser.set_conditional(interest in FILTERS)
        neighbour.hear(advertiser.changes())
        assert let_through(wanted) <= let_through(list(neighbour.held))
    advertiser.set_conditional(False)
    neighbour.hear(advertiser.changes())
    assert not any(SEPARATOR in each for each in neighbour.held)
    assert let_through(wanted) <= let_through(list(neighbour.held))


def told_by(conditions: FilterConditions) -> set[str]:
    """What is told; its changes have been taken."""
    conditions.entered.clear()
    conditions.left.clear()
    return {one.condition.text for one in conditions.told}


def test_a_thousand_thresholds_are_told_as_one() -> None:
    conditions = FilterConditions()
    thresholds = [condition(f"$GT;{number}", "") for number in range(1_000)]
    for one in thresholds[500:]:
        conditions.add(one)
    assert told_by(conditions) == {"p$GT;500"}
    for one in thresholds[501:]:
        conditions.add(one)
        assert not conditions.entered
        assert not conditions.left
    for one in thresholds[:500]:
        conditions.add(one)
    assert told_by(conditions) == {"p$GT;0"}
    for number, one in enumerate(thresholds[:500]):
        conditions.remove(one)
        assert told_by(conditions) == {f"p$GT;{number + 1}"}


@pytest.mark.parametrize("step", [1, 89])
def test_many_intervals_are_told_as_a_few_wider_ones(step: int) -> None:
    conditions = FilterConditions()
    count = 200
    order = [number * step % count for number in range(count)]
    intervals = [condition(f"$GTE;{10 * one}$LT;{10 * one + 5}", "") for one in range(count)]
    for place, number in enumerate(order):
        conditions.add(intervals[number])
        assert len(conditions.told) <= MOST_TOLD
        for other in order[: place + 1 : 20]:
            assert any(told.condition.contains(intervals[other]) for told in conditions.told)
    for place, number in enumerate(order):
        conditions.remove(intervals[number])
        assert len(conditions.told) <= MOST_TOLD
        for other in order[place + 1 :: 20]:
            assert any(told.condition.contains(intervals[other]) for told in conditions.told)
        if count - place - 1 <= MOST_TOLD:
            left = {intervals[other].text for other in order[place + 1 :]}
            assert {told.condition.text for told in conditions.told} == left


def test_many_regions_are_told_as_a_few_wider_ones() -> None:
    conditions = FilterConditions()
    regions = []
    for number in range(90):
        # Thirty towns with three areas each.
        town, area = divmod(number * 7 % 90, 3)
        text = f"1;m;1;{town / 2};{area / 100};400"
        located = read_located([("gpl_circleStatic", text)])
        assert located is not None
        regions.append(Condition(None, coverage_of(located.areas, None, 0.0)))
    for place, region in enumerate(regions):
        conditions.add(region)
        assert len(conditions.told) <= MOST_TOLD
        for other in regions[: place + 1 : 20]:
            assert any(told.condition.contains(other) for told in conditions.told)
    for told in conditions.told:
        assert told.condition.coverage is not None
        for shape in told.condition.coverage.region.shapes:
            assert shape.balls()[0].reach < 100_000  # two towns at most
    for place, region in enumerate(regions):
        conditions.remove(region)
        for other in regions[place + 1 :: 20]:
            assert any(told.condition.contains(other) for told in conditions.told)
    assert not conditions.told


def spread(count: int, shift: float) -> list[Point]:
    """Evenly over a disc of ten kilometres around Pisa, by the golden angle."""
    found = []
    for number in range(count):
        distance = 10_000.0 * math.sqrt((number + 0.5) / count)
        found.append(destination(Point(43.72, 10.40), shift + number * 2.399963, distance))
    return found


def share_of_needless(told: list[Condition], wanted: list[Condition], publications: int) -> float:
    """Of what crosses a link, the part that nobody wants."""
    crossed = needless = 0
    for point in spread(publications, 1.0):
        is_told = any(one.meets(Place(point, NOWHERE, point), Effort()) for one in told)
        is_wanted = any(one.meets(Place(point, NOWHERE, point), Effort()) for one in wanted)
        assert is_told or not is_wanted
        crossed += is_told
        needless += is_told and not is_wanted
    return needless / crossed


@pytest.mark.parametrize(("count", "radius", "most"), [(64, 300, 0.0), (500, 300, 0.1)])
def test_little_crosses_past_the_bound_that_nobody_wants(
    count: int, radius: int, most: float
) -> None:
    conditions = FilterConditions()
    wanted = []
    for point in spread(count, 0.0):
        located = read_located([("gpl_circleStatic", f"1;m;1;{point.lat};{point.lon};{radius}")])
        assert located is not None
        wanted.append(Condition(None, coverage_of(located.areas, None, 0.0)))
        conditions.add(wanted[-1])
    told = [one.condition for one in conditions.told]
    assert share_of_needless(told, wanted, 1_000) <= most
