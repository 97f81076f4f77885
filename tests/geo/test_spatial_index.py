"""The index against brute force: it never loses an interest, and moving equals starting there."""

from hypothesis import given, settings
from hypothesis import strategies as st

from gossamer.geo.areas import NO_AREAS, Area, Areas
from gossamer.geo.circle import Circle
from gossamer.geo.earth import Point
from gossamer.geo.interest import Interest
from gossamer.geo.overlap import meet
from gossamer.geo.shape import Region, Shape
from gossamer.geo.spatial_index import LAST, WIDE, SpatialIndex, level_for
from tests.support.earth import azimuths, gone, lengths, points, points_around, shapes

OLDEST = 100.0


@st.composite
def areas(draw: st.DrawFn) -> Areas:
    listed: list[Area] = []
    for number in range(draw(st.integers(1, 3))):
        add = number == 0 or draw(st.booleans())
        if draw(st.booleans()):
            listed.append(Area(number, "any", add, draw(shapes()), (), []))
        else:
            listed.append(Area(number, "circle", add, None, (draw(lengths(0.05, 5e6)),), []))
    return Areas(listed)


interests = st.builds(
    Interest,
    st.just(None),
    st.one_of(areas(), st.just(NO_AREAS)),
    st.one_of(points, st.none()),
    st.sampled_from([OLDEST, OLDEST - 1]),
)


def filled(held: list[Interest]) -> SpatialIndex:
    index = SpatialIndex()
    for interest in held:
        index.add(interest)
    return index


@given(st.lists(interests, max_size=8), st.data())
def test_no_interest_is_lost_at_a_point(held: list[Interest], data: st.DataObject) -> None:
    index = filled(held)
    shown = [shape for interest in held for shape in interest.region.shapes]
    around = st.sampled_from(shown).flatmap(points_around) if shown else points
    for _ in range(5):
        point = data.draw(st.one_of(around, points))
        found = index.at(point, OLDEST)
        expected = [one for one in held if one.known_by(OLDEST).contains(point)]
        assert set(found) == set(expected)
        assert len(found) == len(expected)


@given(points, lengths(0.01, 1.4e7), azimuths, st.floats(0, 0.9999), st.integers(0, 6))
def test_a_circle_is_found_from_anywhere_in_it(
    centre: Point, radius: float, azimuth: float, part: float, crowd: int
) -> None:
    area = Area(1, "circle", True, Circle(centre, radius), (), [])
    index = filled([Interest(None, Areas([area]), None, 0.0) for _ in range(crowd + 1)])
    assert len(index.at(gone(centre, azimuth, radius * part), 0.0)) == crowd + 1


@given(st.lists(interests, max_size=5), shapes(1e6), st.lists(points, max_size=30))
def test_no_interest_is_lost_around_a_region(
    held: list[Interest], shape: Shape, others: list[Point]
) -> None:
    index = filled(held)
    for point in others:
        index.add(Interest(None, NO_AREAS, point, OLDEST))
    region = Region([shape], [True])
    found = index.meeting(region, OLDEST)
    assert len(found) == len(set(found))
    expected = [one for one in held if meet(region, one.known_by(OLDEST))]
    assert set(expected) <= set(found)
    assert set(found) & set(held) == set(expected)
    assert len(found) - len(expected) == sum(
        meet(region, Interest(None, NO_AREAS, point, OLDEST).region) for point in others
    )


@settings(max_examples=30)  # each one fills an index
@given(points, lengths(1, 3e6), lengths(0.01, 1e5), azimuths, st.floats(0, 0.999))
def test_near_regions_use_cells_and_lose_nothing(
    centre: Point, wide: float, small: float, azimuth: float, part: float
) -> None:
    area = Area(1, "circle", True, Circle(gone(centre, azimuth, wide * part), small), (), [])
    wanted = Interest(None, Areas([area]), None, 0.0)
    # Enough fences of the same size elsewhere that looking at all their cells is not cheaper.
    crowd = [
        Area(1, "circle", True, Circle(Point(i - 80.0, j * 3.0 - 170), small), (), [])
        for i in range(0, 160, 4)
        for j in range(20)
    ]
    index = filled([wanted, *[Interest(None, Areas([one]), None, 0.0) for one in crowd]])
    assert wanted in index.meeting(Region([Circle(centre, wide)], [True]), 0.0)


@given(areas(), st.one_of(points, st.none()), st.lists(points, min_size=1, max_size=4), st.data())
def test_a_client_that_moved_matches_as_if_it_had_started_there(
    wanted: Areas, start: Point | None, way: list[Point], data: st.DataObject
) -> None:
    for held in (wanted, NO_AREAS):
        moved = Interest(None, held, start, OLDEST)
        index = filled([moved])
        for position in way:
            index.move(moved, position, OLDEST)
        fresh = Interest(None, held, way[-1], OLDEST)
        again = filled([fresh])
        for _ in range(4):
            shape = data.draw(st.sampled_from(fresh.region.shapes))
            point = data.draw(points_around(shape))
            assert bool(index.at(point, OLDEST)) == bool(again.at(point, OLDEST))
        region = Region([Circle(way[-1], 1000)], [True])
        assert bool(index.meeting(region, OLDEST)) == bool(again.meeting(region, OLDEST))


@given(st.lists(interests, max_size=8), st.data())
def test_what_was_removed_is_gone(held: list[Interest], data: st.DataObject) -> None:
    index = filled(held)
    leaving = data.draw(st.lists(st.sampled_from(held), unique=True)) if held else []
    for interest in leaving:
        index.remove(interest)
    staying = [one for one in held if one not in leaving]
    assert len(index) == len(staying)
    for interest in held:
        for ball in interest.region.balls():
            found = index.at(ball.centre, OLDEST)
            assert set(found) == {
                one for one in staying if one.known_by(OLDEST).contains(ball.centre)
            }
    for interest in staying:
        index.remove(interest)
    assert not index.levels
    assert not index.wide


def test_levels() -> None:
    assert level_for(0.01) == LAST
    assert level_for(1_200_000) == 3
    assert level_for(1_300_000) == WIDE
