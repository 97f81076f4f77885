"""Areas under their ids: replaced in place, all or nothing, following their client, stored."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gossamer.geo.areas import MAX_AREAS, NO_AREAS, Areas, GlpError
from gossamer.geo.earth import Point
from gossamer.geo.glp import parse
from gossamer.wire.reasons import IMPLEMENTATION_SPECIFIC_ERROR

ROME = Point(41.9, 12.5)
OSLO = Point(59.9, 10.7)


def areas(*user: tuple[str, str], upon: Areas = NO_AREAS) -> Areas:
    glp = parse(list(user))
    assert glp is not None
    return upon.changed(glp.areas)


def test_an_id_sent_again_replaces_the_area() -> None:
    before = areas(("gpl_circleStatic", "1;km;1;41.9;12.5;5"))
    after = areas(("gpl_circleStatic", "1;km;1;59.9;10.7;5"), upon=before)
    assert len(after) == 1
    assert after.region(None).contains(OSLO)
    assert not after.region(None).contains(ROME)
    assert before.region(None).contains(ROME)


def test_an_area_is_removed_by_its_flag_and_the_others_stay_whole() -> None:
    before = areas(
        ("gpl_circleStatic", "1;km;1;41.9;12.5;5"), ("gpl_circleStatic", "2;km;1;41.9;12.5;2")
    )
    after = areas(("gpl_circleStatic", "1;km;0;41.9;12.5;5"), upon=before)
    assert after.region(None).contains(ROME)
    assert not after.region(None).contains(Point(41.93, 12.5))


@pytest.mark.parametrize(
    "other", ["gpl_rectangleStatic", "gpl_polygonStatic"], ids=["rectangle", "polygon"]
)
def test_an_id_keeps_its_shape(other: str) -> None:
    text = {"gpl_rectangleStatic": "1;m;1;0;0;5;5", "gpl_polygonStatic": "1;m;1;0;0;0;1;1;0"}
    before = areas(("gpl_circleStatic", "1;km;1;41.9;12.5;5"))
    for upon, first in ((before, []), (NO_AREAS, [("gpl_circleDynamic", "1;km;1;5")])):
        with pytest.raises(GlpError) as caught:
            areas(("gpl_circleDynamic", "7;m;1;1"), *first, (other, text[other]), upon=upon)
        assert caught.value.reason == IMPLEMENTATION_SPECIFIC_ERROR
        assert caught.value.text == f"{other}: area 1 is a circle already"
    assert len(before) == 1


def test_a_circle_may_start_to_follow_its_client() -> None:
    before = areas(("gpl_circleStatic", "1;km;1;41.9;12.5;5"))
    after = areas(("gpl_circleDynamic", "1;km;1;5"), upon=before)
    assert not before.follows
    assert after.follows
    assert after.region(OSLO).contains(OSLO)
    assert not after.region(None).contains(OSLO)


def test_areas_do_not_pile_up_over_operations() -> None:
    full = areas(*[("gpl_circleDynamic", f"{i};m;1;5") for i in range(MAX_AREAS)])
    assert len(areas(("gpl_circleDynamic", "0;m;1;9"), upon=full)) == MAX_AREAS
    with pytest.raises(GlpError, match="more than 256 areas"):
        areas(("gpl_circleDynamic", "999;m;1;5"), upon=full)


ENTRIES = st.lists(
    st.sampled_from(
        [
            [("gpl_circleStatic", "1;km;1;41.9;12.5;5")],
            [("gpl_circleStatic", "1;km;0;41.9;12.5;4")],
            [("gpl_circleDynamic", "2;km;1;3")],
            [("gpl_rectangleDynamic", "3;km;0;3;4")],
            [("gpl_rectangleStatic", "4;km;1;41.9;12.4;30;40")],
            [("gpl_lineStart", "5;m;1;41.8;12.5;900"), ("gpl_lineEnd", "6;m;1;42.0;12.5")],
            [("gpl_polygonStatic", "7;m;1;41.8;12.4;41.8;12.6;42;12.5")],
        ]
    ),
    min_size=1,
    max_size=9,
)


@given(ENTRIES, st.floats(41.7, 42.1), st.floats(12.3, 12.7))
def test_what_is_stored_reads_back_the_same(
    sent: list[list[tuple[str, str]]], lat: float, lon: float
) -> None:
    held = areas(*[entry for entries in sent for entry in entries])
    again = areas(*held.entries())
    assert again.entries() == held.entries()
    point = Point(lat, lon)
    assert again.region(ROME).contains(point) == held.region(ROME).contains(point)
