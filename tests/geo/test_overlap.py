"""Does one region meet another: known distances, witnesses, and symmetry; then the match rule."""

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from gossamer.geo.areas import NO_AREAS, Areas, GlpError
from gossamer.geo.circle import Circle
from gossamer.geo.earth import Point
from gossamer.geo.geojson import read_geojson
from gossamer.geo.geolocation import place_of
from gossamer.geo.glp import parse
from gossamer.geo.interest import Interest
from gossamer.geo.line import Line
from gossamer.geo.overlap import delivers, meet
from gossamer.geo.polygon import Polygon
from gossamer.geo.rectangle import Rectangle
from gossamer.geo.shape import Region, Shape
from tests.support.earth import (
    azimuths,
    gone,
    lengths,
    near_edge,
    points,
    points_around,
    referee_distance,
    shapes,
)


def only(*shapes: Shape) -> Region:
    return Region(list(shapes), [True] * len(shapes))


@given(points, azimuths, lengths(0.05, 6e6), lengths(0.05, 6e6), st.floats(0, 2))
def test_circles_meet_by_their_distance(
    centre: Point, azimuth: float, one: float, two: float, part: float
) -> None:
    other = gone(centre, azimuth, (one + two) * min(part, 15e6 / (one + two)))
    true = referee_distance(centre, other)
    assume(not near_edge(true, one + two))
    assert meet(only(Circle(centre, one)), only(Circle(other, two))) == (true < one + two)


@given(shapes(), st.data())
def test_a_common_point_is_found(shape: Shape, data: st.DataObject) -> None:
    point = data.draw(points_around(shape))
    size = max(ball.reach for ball in shape.balls())
    radius = data.draw(lengths(0.05, 2)) * size
    azimuth = data.draw(azimuths)
    assume(shape.clearance(point) < -0.002 * size)
    centre = gone(point, azimuth, radius * 0.9)
    assert meet(only(shape), only(Circle(centre, radius)))
    assert meet(only(Rectangle(point, radius, radius)), only(shape))


@given(shapes(1e6), st.data())
def test_what_is_apart_does_not_meet(shape: Shape, data: st.DataObject) -> None:
    point = data.draw(points_around(shape))
    clearance = shape.clearance(point)
    assume(clearance > 0.1)
    assert not meet(only(shape), only(Circle(point, clearance * 0.99)))
    side = clearance * 0.9
    assert not meet(only(Rectangle(point, side, side)), only(shape))


HERE = Point(89.99, 170.0)
RING = Region([Circle(HERE, 1000), Circle(HERE, 500)], [True, False])

FOLDED = [
    ("in the hole", only(Circle(HERE, 490)), False),
    ("across the hole's edge", only(Circle(HERE, 510)), True),
    ("in the ring", only(Circle(gone(HERE, 77, 750), 1)), True),
    ("outside", only(Circle(gone(HERE, 77, 1100), 50)), False),
    ("a ring in the hole", Region([Circle(HERE, 450), Circle(HERE, 300)], [True, False]), False),
    ("a ring around it", Region([Circle(HERE, 1500), Circle(HERE, 1010)], [True, False]), False),
    ("a ring that crosses it", Region([Circle(HERE, 900), Circle(HERE, 300)], [True, False]), True),
    (
        "a line through the hole",
        only(Line([gone(HERE, 90, 400), gone(HERE, -90, 400)], 10)),
        False,
    ),
    ("a line that leaves it", only(Line([HERE, gone(HERE, -90, 600)], 10)), True),
    (
        "what is taken away again",
        Region([Circle(HERE, 700), Circle(HERE, 700)], [True, False]),
        False,
    ),
    ("nothing", Region([], []), False),
    ("only taken away", Region([Circle(HERE, 2000)], [False]), False),
]


@pytest.mark.parametrize(("other", "expected"), [c[1:] for c in FOLDED], ids=[c[0] for c in FOLDED])
def test_folded_regions(other: Region, expected: bool) -> None:
    assert meet(RING, other) == expected
    assert meet(other, RING) == expected


def test_shapes_of_every_kind_meet_each_other() -> None:
    centre = Point(10.0, 180.0)
    east = gone(centre, 90, 5000)
    square = [gone(centre, azimuth, 1000) for azimuth in (45, 135, 225, 315)]
    text = '{"type":"Polygon","coordinates":[[[%s],[%s],[%s],[%s],[%s]]]}'
    corners = [(179.99, 9.99), (180.01, 9.99), (180.01, 10.01), (179.99, 10.01), (179.99, 9.99)]
    geojson = read_geojson(text % tuple(f"{lon},{lat}" for lon, lat in corners))
    here: list[Shape] = [
        Circle(centre, 800),
        Rectangle(centre, 900, 900),
        Line([gone(centre, 0, 900), gone(centre, 180, 900)], 50),
        Polygon(square),
        geojson,
    ]
    there: list[Shape] = [
        Circle(east, 800),
        Rectangle(east, 900, 900),
        Line([gone(east, 0, 900), gone(east, 180, 900)], 50),
        Polygon([gone(east, azimuth, 1000) for azimuth in (45, 135, 225, 315)]),
    ]
    for one in here:
        assert all(meet(only(one), only(other)) for other in here)
        assert not any(meet(only(one), only(other)) for other in there)


def test_thin_lines_cross() -> None:
    one = Line([Point(45, 7), Point(46, 8)], 8)
    two = Line([Point(46, 7.1), Point(45.1, 8)], 8)
    beside = Line([Point(45.0005, 7), Point(46.0005, 8)], 8)
    assert meet(only(one), only(two))
    assert not meet(only(one), only(beside))


OLDEST = 1000.0


def interest(*user: tuple[str, str], at: float = OLDEST) -> Interest | None:
    glp = parse(list(user))
    if glp is None:
        return None
    areas: Areas = NO_AREAS.changed(glp.areas)
    return Interest(None, areas, glp.position, at)


POS = ("gpl_current_pos", "10;20")
FAR = ("gpl_current_pos", "50;60")
ROUND_POS = ("gpl_circleStatic", "1;km;1;10;20;5")
ROUND_FAR = ("gpl_circleStatic", "1;km;1;50;60;5")
FOLLOWING = ("gpl_circleDynamic", "2;km;1;5")

# What the message says, what the subscription said, whether it is delivered.
RULE = [
    ([], [], True),
    ([], [POS, ROUND_FAR], True),
    ([POS, ROUND_FAR], [], True),
    ([POS], [FAR, ROUND_POS], True),
    ([POS], [FAR, ROUND_FAR], False),
    ([POS], [POS, ROUND_FAR], False),
    ([FAR, ROUND_POS], [POS], True),
    ([POS, ROUND_FAR], [POS], False),
    ([POS, ROUND_FAR], [FAR, FOLLOWING], True),
    ([POS, FOLLOWING], [FAR, ROUND_POS], True),
    ([POS, FOLLOWING], [POS, ROUND_FAR], False),
    ([POS], [POS], True),
    ([POS], [FAR], False),
    ([POS], [FOLLOWING], False),
    ([POS], [FOLLOWING, ("gpl_circleStatic", "1;km;1;10;20;5")], True),
]


@pytest.mark.parametrize(("said", "wanted", "expected"), RULE)
def test_the_match_rule(
    said: list[tuple[str, str]], wanted: list[tuple[str, str]], expected: bool
) -> None:
    place = place_of(parse(said), None)
    assert delivers(place, interest(*wanted), OLDEST) == expected


def test_dynamic_areas_of_a_message_use_the_last_known_position() -> None:
    place = place_of(parse([FOLLOWING]), Point(10, 20))
    assert delivers(place, interest(POS), OLDEST)
    assert not delivers(place_of(parse([FOLLOWING]), None), interest(POS), OLDEST)


def test_a_position_that_is_too_old_is_none() -> None:
    here = place_of(parse([POS]), None)
    assert delivers(here, interest(POS, FOLLOWING), OLDEST)
    assert not delivers(here, interest(POS, FOLLOWING, at=OLDEST - 1), OLDEST)
    assert not delivers(here, interest(POS, at=OLDEST - 1), OLDEST)
    assert delivers(here, interest(FAR, ROUND_POS, FOLLOWING, at=OLDEST - 1), OLDEST)


def test_a_message_with_one_id_for_two_shapes_is_refused() -> None:
    with pytest.raises(GlpError, match="area 1 is a circle already"):
        place_of(parse([ROUND_POS, ("gpl_rectangleStatic", "1;m;1;0;0;5;5")]), None)
