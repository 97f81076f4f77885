"""Fence events: entering, leaving, staying, without flapping."""

import math

from hypothesis import given
from hypothesis import strategies as st

from gossamer.geo.areas import Area, Areas
from gossamer.geo.circle import Circle
from gossamer.geo.earth import Point
from gossamer.geo.fences import FenceEvents, Watch
from gossamer.geo.interest import Interest
from tests.support.earth import gone

CENTRE = Point(0.0, 180.0)
RADIUS = 100.0
ALL = ["enter", "exit", "dwell"]
VAN = ("van", "fleet/van")


def watch(events: list[str], dwell: float = 60.0) -> Watch:
    area = Area(1, "circle", True, Circle(CENTRE, RADIUS), (), [])
    return Watch(Interest(None, Areas([area]), None, 0.0), events, 10.0, dwell)


class Track:
    """Drives one visitor and writes down what is told, as (time, event)."""

    def __init__(self, *watches: Watch, max_age: float = math.inf) -> None:
        self.events = FenceEvents(max_age)
        self.watches = list(watches)
        self.told: list[tuple[float, str]] = []

    def at(self, now: float, metres: float) -> None:
        place = gone(CENTRE, 33, metres)
        inside = [one for one in self.watches if one.interest.region.contains(place)]
        self.told += [(event.time, event.name) for event in self.events.due(now)]
        for event in self.events.moved(VAN, place, inside, now):
            assert event.visitor == VAN
            assert event.at is place
            self.told.append((event.time, event.name))

    def wait(self, now: float) -> None:
        self.told += [(event.time, event.name) for event in self.events.due(now)]


def test_a_visit() -> None:
    track = Track(watch(ALL))
    for now, metres in [(0, 500), (10, 90), (40, 50), (69, 50), (71, 50), (200, 90), (210, 300)]:
        track.at(now, metres)
    assert track.told == [(10, "enter"), (71, "dwell"), (210, "exit")]


def test_staying_is_told_without_a_position() -> None:
    track = Track(watch(ALL))
    track.at(0, 50)
    assert track.events.next_due() == 60
    track.wait(59)
    track.wait(61)
    track.wait(1000)
    assert track.told == [(0, "enter"), (61, "dwell")]


def test_jitter_at_the_edge_enters_once() -> None:
    track = Track(watch(ALL, dwell=7))
    for now, metres in enumerate([120, 99, 101, 98, 109, 97, 105, 99, 108, 112]):
        track.at(now, metres)
    assert track.told == [(1, "enter"), (8, "dwell"), (9, "exit")]


def test_a_short_visit_is_not_a_stay() -> None:
    track = Track(watch(ALL))
    for now, metres in [(0, 50), (30, 500), (45, 50), (100, 50), (106, 50)]:
        track.at(now, metres)
    assert track.told == [(0, "enter"), (30, "exit"), (45, "enter"), (106, "dwell")]


def test_only_what_is_wanted_is_told() -> None:
    for wanted in ALL:
        track = Track(watch([wanted]))
        for now, metres in [(0, 50), (100, 50), (110, 500)]:
            track.at(now, metres)
        assert [name for _, name in track.told] == [wanted]


def test_who_is_not_seen_any_more_is_forgotten() -> None:
    one = watch(ALL, dwell=500)
    track = Track(one, max_age=300)
    track.at(0, 50)
    track.wait(299)
    assert one.visits
    track.wait(301)
    assert not one.visits
    track.at(600, 500)
    track.wait(10_000)
    assert track.told == [(0, "enter")]
    assert track.events.next_due() == math.inf


def test_a_watch_that_ends_is_told_nothing() -> None:
    one, two = watch(ALL), watch(ALL)
    track = Track(one, two)
    track.at(0, 50)
    track.events.forget_watch(one)
    track.watches = [two]
    track.at(100, 500)
    assert track.told == [(0, "enter"), (0, "enter"), (100, "dwell"), (100, "exit")]


@given(st.lists(st.floats(0, 200), max_size=40))
def test_entering_and_leaving_take_turns(way: list[float]) -> None:
    track = Track(watch(["enter", "exit"]))
    for now, metres in enumerate(way):
        track.at(now, metres)
    names = [name for _, name in track.told]
    assert names == ["enter", "exit"] * (len(names) // 2) + ["enter"] * (len(names) % 2)
    # The truth without hysteresis is told at the latest when somebody is well in or well out.
    if way and way[-1] < RADIUS - 0.1:
        assert names[-1] == "enter"
    if way and way[-1] > RADIUS + 10.1:
        assert not names or names[-1] == "exit"


def test_going_in_and_out_keeps_nothing() -> None:
    """Each visit would be looked at after the dwell time; those that ended are not kept for it."""
    track = Track(watch(ALL), max_age=1e6)
    for step in range(10_000):
        track.at(step / 1000, 50 if step % 2 else 500)
    assert len(track.told) == 9_999
    assert len(track.events._due) < 200
    track.at(10.0, 50)
    track.wait(71.0)
    assert track.told[-1] == (71.0, "dwell")
