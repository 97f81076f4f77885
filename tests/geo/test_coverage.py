"""Coverages: never less than a subscription wants, wherever its client is within the margin."""

import math
from random import Random

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gossamer.geo.areas import MAX_POINTS_IN_ALL, NO_AREAS, Areas, GlpError
from gossamer.geo.circle import Circle
from gossamer.geo.coverage import (
    CONTAINMENT_POINTS,
    MAX_CHARACTERS,
    Coverage,
    coverage_of,
    hull,
    read_coverage,
)
from gossamer.geo.earth import Point, distance
from gossamer.geo.geolocation import NOWHERE, Place
from gossamer.geo.glp import parse
from gossamer.geo.interest import SAME_PLACE, Interest
from gossamer.geo.overlap import PAIR_POINTS, Effort, delivers
from gossamer.geo.shape import Region
from tests.support.combs import comb, comb_entry
from tests.support.earth import azimuths, gone, lengths, points

SPOTS = [
    Point(0.0, 0.0),
    Point(47.0, 179.999),
    Point(89.9995, 20.0),
    Point(-90.0, 0.0),
    Point(60.0, -180.0),
]
spots = st.one_of(st.sampled_from(SPOTS), points)

KINDS = ["circle", "rectangle", "line", "polygon", "follow", "box"]

Entries = list[tuple[str, str]]


def at(point: Point) -> str:
    return f"{point.lat!r};{point.lon!r}"


@st.composite
def entries_near(draw: st.DrawFn, here: Point, size: float) -> Entries:
    """One area in the neighbourhood."""
    centre = gone(here, draw(azimuths), size * draw(st.floats(0, 2)))
    radius = size * draw(st.floats(0.05, 1.5))
    kind = draw(st.sampled_from(KINDS))
    number = draw(st.integers(0, 9)) * len(KINDS) + KINDS.index(kind)  # one id is one shape
    head = f"{number};m;{draw(st.sampled_from([1, 1, 1, 0]))}"
    if kind == "circle":
        return [("gpl_circleStatic", f"{head};{at(centre)};{radius!r}")]
    if kind == "rectangle":
        wide = radius * draw(st.floats(0.2, 5))
        return [("gpl_rectangleStatic", f"{head};{at(centre)};{radius!r};{wide!r}")]
    if kind == "follow":
        return [("gpl_circleDynamic", f"{head};{radius!r}")]
    if kind == "box":
        return [("gpl_rectangleDynamic", f"{head};{radius!r};{radius * draw(st.floats(0.2, 5))!r}")]
    start = draw(azimuths)
    if kind == "line":
        there = gone(centre, start, radius)
        return [
            ("gpl_lineStart", f"{head};{at(centre)};{radius / 3!r}"),
            ("gpl_linePoint", f"{head};{at(gone(centre, start + 70, radius / 2))}"),
            ("gpl_lineEnd", f"{head};{at(there)}"),
        ]
    corners = [
        gone(centre, start + 360 * i / 4, radius * draw(st.floats(0.3, 1))) for i in range(4)
    ]
    return [("gpl_polygonStatic", ";".join([head, *map(at, corners)]))]


def areas_from(entries: Entries) -> Areas:
    glp = parse(entries)
    return NO_AREAS if glp is None else NO_AREAS.changed(glp.areas)


@st.composite
def located(draw: st.DrawFn, here: Point, size: float, least: int = 0) -> Areas:
    listed = draw(st.lists(entries_near(here, size), min_size=least, max_size=4))
    return areas_from([entry for one in listed for entry in one])


def looks(data: st.DataObject, here: Point, size: float, region: Region) -> list[Point]:
    """Places around, many of them close to an edge."""
    random = Random(data.draw(st.integers(0, 1 << 32)))
    found = [here]
    for shape in region.shapes:
        for ball in shape.balls():
            for _ in range(6):
                part = random.choice([random.random(), 1.0, 1 - 1e-6, 1 + 1e-6, 0.0])
                away = min(ball.reach * part, 19_000_000.0)
                found.append(gone(ball.centre, random.uniform(-180, 180), away))
    for _ in range(20):
        found.append(gone(here, random.uniform(-180, 180), size * 3 * random.random()))
    return found


@given(spots, lengths(0.05, 2e6), st.floats(0, 2), azimuths, st.floats(0, 1), st.data())
def test_a_coverage_holds_what_is_wanted_within_the_margin(
    here: Point, size: float, part: float, azimuth: float, moved: float, data: st.DataObject
) -> None:
    areas = data.draw(located(here, size))
    margin = size * part
    there = gone(here, azimuth, margin * moved) if margin else here
    assume(distance(here, there) <= margin)
    coverage = coverage_of(areas, here, margin)
    wanted = Interest(None, areas, there, 0.0).region
    for point in looks(data, there, size, wanted):
        if wanted.contains(point):
            assert coverage.region.contains(point)
        elif margin == 0.0:
            assert not coverage.region.contains(point)
    again = read_coverage(coverage.text)
    assert again.text == coverage.text
    assert "\0" not in coverage.text
    assert again.points() == coverage.points()
    for point in looks(data, here, size, coverage.region):
        assert again.region.contains(point) == coverage.region.contains(point)


@given(spots, lengths(0.05, 2e6), st.data())
def test_containment_is_sure(here: Point, size: float, data: st.DataObject) -> None:
    one = coverage_of(data.draw(located(here, size, 1)), here, 0.0)
    two = coverage_of(data.draw(located(here, size, 1)), here, 0.0)
    for wide, narrow in ((one, two), (two, one), (hull([one, two], 1), one)):
        if wide.contains(narrow):
            for point in looks(data, here, size, narrow.region):
                assert wide.region.contains(point) or not narrow.region.contains(point)
    assert one.contains(coverage_of(areas_from([]), None, 5.0))


@given(spots, lengths(0.05, 2e6), st.integers(1, 6), st.data())
def test_a_hull_holds_all(here: Point, size: float, most: int, data: st.DataObject) -> None:
    count = data.draw(st.integers(1, 5))
    coverages = [
        coverage_of(data.draw(located(here, size)), gone(here, 72 * n, size * n), size * (n % 2))
        for n in range(count)
    ]
    found = hull(coverages, most)
    assert len(found.region.shapes) <= max(most, 2)
    assert hull(coverages[::-1], most).text == found.text
    assert read_coverage(found.text).text == found.text
    for coverage in coverages:
        for point in looks(data, here, size, coverage.region):
            assert found.region.contains(point) or not coverage.region.contains(point)


@given(spots, lengths(0.05, 2e6), st.data())
def test_it_meets_what_the_match_rule_delivers(
    here: Point, size: float, data: st.DataObject
) -> None:
    areas = data.draw(located(here, size))
    interest = Interest(None, areas, here, 0.0)
    coverage = coverage_of(areas, here, 0.0)
    point = gone(here, data.draw(azimuths), size * data.draw(st.floats(0, 3)))
    other = data.draw(located(point, size, 1)).region(point)
    for place in (Place(point, NOWHERE, point), Place(None, other, point)):
        if delivers(place, interest, 0.0):
            assert coverage.meets(place, Effort())


def circle(point: Point, radius: float, add: int = 1, number: int = 1) -> tuple[str, str]:
    return ("gpl_circleStatic", f"{number};m;{add};{at(point)};{radius!r}")


def covering(*entries: tuple[str, str]) -> Coverage:
    return coverage_of(areas_from(list(entries)), None, 0.0)


HERE = Point(89.999, 179.0)
NEAR = gone(HERE, 90, 500)
BOX = ("gpl_rectangleStatic", f"1;m;1;{at(HERE)};1000.0;1000.0")
GEOJSON = (
    "gpl_geojson",
    '1;m;1;{"type":"Polygon","coordinates":[[[-10,-10],[10,-10],[10,10],[-10,10],[-10,-10]]]}',
)
LINE = [
    ("gpl_lineStart", f"5;m;1;{at(HERE)};100"),
    ("gpl_lineEnd", f"5;m;1;{at(NEAR)}"),
]

CONTAINED = [
    ("itself", [circle(HERE, 100)], [circle(HERE, 100)], True),
    ("a smaller circle", [circle(HERE, 1000)], [circle(NEAR, 499)], True),
    ("one that is cut", [circle(HERE, 1000)], [circle(NEAR, 501)], False),
    ("the smaller one holds no larger", [circle(HERE, 100)], [circle(HERE, 101)], False),
    ("a box in a circle", [circle(HERE, 708)], [BOX], True),
    ("a box with its corners out", [circle(HERE, 706)], [BOX], False),
    ("a circle in a box", [BOX], [circle(HERE, 490)], True),
    ("a line", [circle(HERE, 551)], LINE, True),
    ("a line that leaves", [circle(HERE, 540)], LINE, False),
    ("a polygon of GeoJSON", [circle(Point(0.0, 0.0), 2e6)], [GEOJSON], True),
    ("in a polygon of GeoJSON", [GEOJSON], [circle(Point(1.0, 1.0), 5e5)], True),
    (
        "across two circles",
        [circle(HERE, 600), circle(NEAR, 600, 1, 2)],
        [circle(gone(HERE, 90, 250), 380)],
        True,
    ),
    (
        "in what is taken away",
        [circle(HERE, 600), circle(HERE, 50, 0, 2)],
        [circle(HERE, 10)],
        False,
    ),
    (
        "beside what is taken away",
        [circle(HERE, 600), circle(HERE, 50, 0, 2)],
        [circle(gone(HERE, 90, 200), 100)],
        True,
    ),
    ("a ring whose hole is out", [circle(HERE, 600), circle(NEAR, 5, 0, 2)], [], True),
    (
        "a ring around a hole",
        [circle(HERE, 600), circle(HERE, 50, 0, 2)],
        [circle(HERE, 100), circle(HERE, 60, 0, 2)],
        True,
    ),
    ("nowhere holds nothing", [], [circle(HERE, 1)], False),
]


@pytest.mark.parametrize(
    ("wide", "narrow", "expected"), [c[1:] for c in CONTAINED], ids=[c[0] for c in CONTAINED]
)
def test_what_contains_what(wide: Entries, narrow: Entries, expected: bool) -> None:
    assert covering(*wide).contains(covering(*narrow)) == expected


def test_the_same_areas_are_the_same_text() -> None:
    one = covering(circle(HERE, 1000), circle(NEAR, 5, 1, 2))
    two = covering(
        circle(NEAR, 5, 1, 77), ("gpl_circleStatic", f"3;km;1;{at(HERE)};1"), circle(NEAR, 5, 1, 4)
    )
    assert one.text == two.text
    ordered = covering(circle(HERE, 1000), circle(NEAR, 5, 0, 2))
    assert ordered.text != covering(circle(NEAR, 5, 0, 2), circle(HERE, 1000)).text


def test_without_areas_it_is_where_the_client_is() -> None:
    here = coverage_of(NO_AREAS, HERE, 0.0)
    assert here.text == f"gpl_circleStatic=0;m;1;{at(HERE)};{SAME_PLACE!r}"
    assert coverage_of(NO_AREAS, None, 100.0).text == ""
    assert not read_coverage("").region.shapes
    assert coverage_of(NO_AREAS, HERE, 100.0).contains(here)


def test_following_areas_without_a_position_are_nowhere() -> None:
    areas = areas_from([("gpl_circleDynamic", "1;km;1;5"), circle(HERE, 5, 1, 2)])
    assert coverage_of(areas, None, 100.0).text == covering(circle(HERE, 5)).text


def test_what_follows_and_is_taken_away_is_left_out_when_the_client_may_move() -> None:
    areas = areas_from([circle(HERE, 5000, 1, 2), ("gpl_circleDynamic", "1;km;0;1")])
    assert coverage_of(areas, HERE, 100.0).text == covering(circle(HERE, 5000)).text
    assert not coverage_of(areas, HERE, 0.0).region.contains(HERE)


def test_rectangles_grow_as_rectangles_where_that_is_tighter() -> None:
    areas = areas_from([("gpl_rectangleDynamic", "1;m;1;10;2000")])
    narrow = coverage_of(areas, Point(45.0, 180.0), 5.0)
    assert narrow.text.startswith("gpl_rectangleStatic=0;m;1;45.0;180.0;20.5")
    assert coverage_of(areas, Point(89.0, 180.0), 5.0).text.startswith("gpl_circleStatic")


def test_what_reaches_too_far_is_everywhere() -> None:
    areas = areas_from([("gpl_circleDynamic", "1;km;1;14999")])
    found = coverage_of(areas, HERE, 2000.0)
    assert len(found.region.shapes) == 2
    assert read_coverage(found.text).text == found.text
    for lat in range(-90, 91, 15):
        for lon in range(-180, 181, 15):
            assert found.region.contains(Point(lat, lon))
    assert found.contains(covering(GEOJSON))
    far = hull([covering(circle(HERE, 1e7)), covering(circle(Point(-89, 0), 1e7))], 1)
    assert far.text == found.text


def test_a_hull_joins_neighbours_and_leaves_the_lonely() -> None:
    town = [covering(circle(gone(HERE, 36 * n, 1000), 50)) for n in range(10)]
    village = covering(BOX)
    found = hull([*town, covering(circle(Point(0.0, 0.0), 7))], 2)
    assert covering(circle(Point(0.0, 0.0), 7)).text.split(";", 3)[3] in found.text
    assert sum([isinstance(shape, Circle) for shape in found.region.shapes]) == 2
    around = max([ball.reach for ball in found.region.balls()])
    assert 1050 <= around < 1100
    assert hull([village], 1) is village
    assert hull([*town, village], 11).points() == 11


def test_a_thousand_circles_become_a_few() -> None:
    random = Random(1)
    ones = [
        covering(circle(Point(random.uniform(-60, 60), random.uniform(-180, 180)), 1000.0))
        for _ in range(1000)
    ]
    found = hull(ones, 64)
    assert len(found.region.shapes) == 64
    assert all(found.contains(one) for one in ones)
    # A 64th of the earth has a radius of 1,600 km.
    assert sum([ball.reach for ball in found.region.balls()]) / 64 < 2_000_000


def test_a_hull_keeps_no_more_points_than_can_be_read() -> None:
    combs = [covering(comb_entry(1, comb(120, lat=float(n)))) for n in range(6)]
    found = hull(combs, 64)
    assert len(found.region.shapes) == 6
    assert found.points() <= MAX_POINTS_IN_ALL
    assert read_coverage(found.text).text == found.text


def test_containment_costs_no_more_than_its_effort() -> None:
    wide = covering(comb_entry(1, comb(240)))
    narrow = covering(comb_entry(1, comb(240, facing=True)))
    effort = Effort(CONTAINMENT_POINTS)
    assert not wide.contains(narrow, effort)
    assert effort.spent <= CONTAINMENT_POINTS + PAIR_POINTS


REFUSED = [
    "gpl_circleStatic",
    "gpl_circleStatic=0;m;1;1;2",
    "gpl_circleStatic=0;m;1;91;2;5",
    "gpl_circleStatic=0;m;1;1;2;-5",
    "gpl_circleStatic=0;m;1;1;2;1e999",
    "gpl_circleStatic=0;m;1;1;2;nan",
    "gpl_circleDynamic=0;m;1;5",
    "gpl_current_pos=1;2",
    "gpl_ping=1",
    "x=1",
    "\n",
    "gpl_lineStart=0;m;1;1;2;5",
    "gpl_lineEnd=0;m;1;1;2",
    "gpl_lineStart=0;m;1;1;2;5\ngpl_circleStatic=0;m;1;1;2;5",
    "gpl_geojson=0;m;1;{}",
    "gpl_polygonStatic=0;m;1;1;2;3",
    "\n".join(f"gpl_circleStatic={n};m;1;1;2;5" for n in range(257)),
    "x" * (MAX_CHARACTERS + 1),
]


@pytest.mark.parametrize("text", REFUSED)
def test_what_no_broker_writes_is_refused(text: str) -> None:
    with pytest.raises(GlpError):
        read_coverage(text)


def test_more_points_than_a_client_may_have_are_refused() -> None:
    coverage = covering(comb_entry(1, comb(240)))
    shape = coverage.pieces[0]
    assert shape.shape.points() * 3 > MAX_POINTS_IN_ALL
    with pytest.raises(GlpError):
        read_coverage("\n".join(shape.lines(n) for n in range(3)))


def test_balls_of_the_whole_earth_are_everywhere() -> None:
    ring = [[-180, -90], [180, -90], [180, 90], [-180, 90], [-180, -90]]
    whole = covering(("gpl_geojson", f'1;m;1;{{"type":"Polygon","coordinates":[{ring}]}}'))
    found = hull([whole, covering(circle(HERE, 5))], 1)
    assert len(found.region.shapes) == 2
    assert not math.isnan(found.region.clearance(HERE))
