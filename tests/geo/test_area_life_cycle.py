"""What becomes of an area as a subscription is sent again: the table of `docs/geo.md`, and a naive
model of it over random histories."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.geo.areas import MAX_AREAS, NO_AREAS, Area, Areas, GlpError
from gossamer.geo.coverage import coverage_of
from gossamer.geo.earth import Point
from gossamer.geo.geolocation import NOT_LOCATED, read_located
from gossamer.geo.glp import parse
from gossamer.geo.interest import Interest

HERE = Point(10.0, 10.0)


def circle(number: int, add: int, metres: float = 100.0, lat: float = 10.0) -> tuple[str, str]:
    return "gpl_circleStatic", f"{number};m;{add};{lat};10;{metres}"


def around(number: int, add: int, metres: float = 100.0) -> tuple[str, str]:
    return "gpl_circleDynamic", f"{number};m;{add};{metres}"


def sent(*user: tuple[str, str]) -> list[Area]:
    glp = parse(list(user))
    assert glp is not None
    return glp.areas


def after(*packets: list[tuple[str, str]]) -> Areas:
    areas = NO_AREAS
    for packet in packets:
        areas = areas.changed(sent(*packet) if packet else [])
    return areas


# What is sent, packet by packet; the areas that are left, as id and or; whether HERE is inside.
CASES: list[tuple[str, list[list[tuple[str, str]]], list[tuple[int, int]], bool]] = [
    ("included", [[circle(1, 1)]], [(1, 1)], True),
    ("excluded only", [[circle(1, 0)]], [(1, 0)], False),
    ("included, then removed", [[circle(1, 1)], [circle(1, 0)]], [], False),
    ("removed in the same packet", [[circle(1, 1), circle(1, 0)]], [], False),
    ("removed with another size", [[circle(1, 1)], [circle(1, 0, 5)]], [], False),
    ("removed as one that follows", [[circle(1, 1)], [around(1, 0)]], [], False),
    ("removed twice", [[circle(1, 1)], [circle(1, 0)], [circle(1, 0)]], [(1, 0)], False),
    ("its id used again", [[circle(1, 1)], [circle(1, 0)], [circle(1, 1)]], [(1, 1)], True),
    ("excluded, then included", [[circle(1, 0)], [circle(1, 1)]], [(1, 1)], True),
    ("excluded again", [[circle(1, 0)], [circle(1, 0, 5)]], [(1, 0)], False),
    (
        "a hole stays when another area goes",
        [[circle(1, 1, 500), circle(2, 0), circle(3, 1, lat=11)], [circle(3, 0)]],
        [(1, 1), (2, 0)],
        False,
    ),
    (
        "the area around a hole goes",
        [[circle(1, 1, 500), circle(2, 0)], [circle(1, 0, 500)]],
        [(2, 0)],
        False,
    ),
    (
        "a hole is made an area",
        [[circle(1, 1, 500), circle(2, 0)], [circle(2, 1)]],
        [(1, 1), (2, 1)],
        True,
    ),
    (
        "an area comes back behind the others",
        [[circle(1, 1), circle(2, 1)], [circle(1, 0)], [circle(1, 1)]],
        [(2, 1), (1, 1)],
        True,
    ),
]


@pytest.mark.parametrize(
    ("packets", "left", "inside"), [case[1:] for case in CASES], ids=[case[0] for case in CASES]
)
def test_the_cases(
    packets: list[list[tuple[str, str]]], left: list[tuple[int, int]], inside: bool
) -> None:
    areas = after(*packets)
    assert [(area.number, int(area.add)) for area in areas.listed] == left
    assert areas.region(HERE).contains(HERE) is inside
    assert Interest(None, areas, HERE, 0.0).region.contains(HERE) is inside
    assert coverage_of(areas, HERE, 0.0).region.contains(HERE) is inside


def test_without_any_area_it_is_the_position_but_not_once_the_last_is_removed() -> None:
    assert after([]).is_position
    assert after([]).following() == 1
    removed = after([circle(1, 1)], [circle(1, 0)], [])
    assert not removed.is_position
    assert removed.following() == 0
    assert not removed.follows
    interest = Interest(None, removed, HERE, 0.0)
    interest.move(HERE, 1.0)
    assert interest.fences == []
    assert not interest.region.contains(HERE)


def test_a_tracker_that_counts_up_never_runs_out_of_ids() -> None:
    areas = NO_AREAS
    for number in range(4 * MAX_AREAS):
        areas = areas.changed(sent(around(number, 1)))
        if number >= MAX_AREAS - 1:
            areas = areas.changed(sent(around(number - MAX_AREAS + 1, 0)))
    assert len(areas) == MAX_AREAS - 1
    full = areas.changed(sent(around(5_000, 1)))
    with pytest.raises(GlpError, match=f"more than {MAX_AREAS} areas"):
        full.changed(sent(around(5_001, 1)))


SENT = st.tuples(st.integers(0, 3), st.booleans(), st.sampled_from([50.0, 200.0, 800.0]))


@given(st.lists(st.lists(SENT, max_size=3), max_size=8))
def test_as_a_naive_model_has_it(history: list[list[tuple[int, bool, float]]]) -> None:
    """Also when the subscription is written down after each packet and read again."""
    model: list[tuple[int, bool, float]] = []
    located = NOT_LOCATED
    for packet in history:
        glp = parse([circle(number, int(add), size) for number, add, size in packet])
        for number, add, size in packet:
            known = next((one for one in model if one[0] == number), None)
            if known is None:
                model.append((number, add, size))
            elif known[1] and not add:
                model.remove(known)
            else:
                model[model.index(known)] = (number, add, size)
        if glp is not None:
            located = located.changed(glp)
        had_any = not located.areas.is_position
        read = read_located(located.entries(None))
        assert (read is not None) == had_any
        located = read if read is not None else located
        assert [(a.number, a.add) for a in located.areas.listed] == [m[:2] for m in model]
        assert located.areas.is_position is not had_any
        for away in (40.0, 150.0, 700.0, 900.0):
            there = Point(10.0 + away / 111_000.0, 10.0)
            last = next((add for _, add, size in reversed(model) if away < size), False)
            assert located.areas.region(None).contains(there) is last
