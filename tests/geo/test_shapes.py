"""Each shape against the geodesic referee, anywhere on earth, from centimetres to half of it."""

import math
from itertools import pairwise

from hypothesis import assume, given
from hypothesis import strategies as st

from gossamer.geo.circle import Circle
from gossamer.geo.earth import Point
from gossamer.geo.line import Line
from gossamer.geo.polygon import Polygon
from gossamer.geo.rectangle import Rectangle
from gossamer.geo.shape import Shape
from tests.support.earth import (
    GEOD,
    azimuths,
    gone,
    lengths,
    near_edge,
    points,
    points_around,
    referee_distance,
    referee_offsets,
    shapes,
)

around = st.one_of(st.floats(0, 1.5), st.floats(0.99, 1.01))


@given(points, lengths(), azimuths, around)
def test_circles(centre: Point, radius: float, azimuth: float, part: float) -> None:
    point = gone(centre, azimuth, radius * part)
    true = referee_distance(centre, point)
    assume(not near_edge(true, radius))
    assert Circle(centre, radius).contains(point) == (true < radius)


@given(points, lengths(), lengths(), azimuths, around)
def test_rectangles(
    centre: Point, height: float, width: float, azimuth: float, part: float
) -> None:
    point = gone(centre, azimuth, part * min(math.hypot(height, width) / 2, 15_000_000))
    east, north = referee_offsets(centre, point)
    assume(not near_edge(abs(east), width / 2) and not near_edge(abs(north), height / 2))
    expected = abs(east) < width / 2 and abs(north) < height / 2
    assert Rectangle(centre, height, width).contains(point) == expected


@given(points, st.lists(azimuths, min_size=1, max_size=4), lengths(1, 2e6), lengths(), st.data())
def test_lines(
    start: Point, turns: list[float], leg: float, thickness: float, data: st.DataObject
) -> None:
    corners = [start]
    for turn in turns:
        corners.append(gone(corners[-1], turn, leg))
    line = Line(corners, thickness)
    nearby = gone(
        data.draw(st.sampled_from(corners)),
        data.draw(azimuths),
        thickness / 2 * data.draw(around) + data.draw(st.floats(0, leg / 3)),
    )
    true = min(referee_leg(a, b, nearby) for a, b in pairwise(corners))
    assume(not near_edge(true, thickness / 2))
    assert line.contains(nearby) == (true < thickness / 2)


def referee_leg(a: Point, b: Point, point: Point) -> float:
    """The distance of a point from a geodesic leg, by looking ever closer where it is nearest."""
    azimuth, _, length = GEOD.inv(a.lon, a.lat, b.lon, b.lat)
    low, high = 0.0, length
    best = math.inf
    while high - low > 1e-4:
        steps = [low + (high - low) * i / 20 for i in range(21)]
        found = [referee_distance(point, gone(a, azimuth, step)) for step in steps]
        at = found.index(min(found))
        best = min(best, found[at])
        low, high = steps[max(at - 1, 0)], steps[min(at + 1, 20)]
    return best


@given(points, st.integers(3, 9), lengths(1, 3e6), azimuths, azimuths, st.floats(0, 2))
def test_regular_polygons_lie_between_their_circles(
    centre: Point, corners: int, radius: float, start: float, azimuth: float, part: float
) -> None:
    polygon = Polygon([gone(centre, start + 360 * i / corners, radius) for i in range(corners)])
    point = gone(centre, azimuth, radius * part)
    # On a curved surface edges bulge outwards; a third of this narrows nothing at these sizes.
    if part < math.cos(math.pi / corners) * 0.99:
        assert polygon.contains(point)
    if part > 1.001:
        assert not polygon.contains(point)


@given(shapes(), st.data())
def test_clearance_never_overstates(shape: Shape, data: st.DataObject) -> None:
    point = data.draw(points_around(shape))
    clearance = shape.clearance(point)
    inside = shape.contains(point)
    if abs(clearance) > 0.01:
        assert inside == (clearance < 0)
    step = abs(clearance) * data.draw(st.floats(0, 0.999))
    other = gone(point, data.draw(azimuths), min(step, 19_000_000))
    if step < abs(clearance) - 0.01:
        assert shape.contains(other) == inside


@given(shapes(), st.data())
def test_balls_cover_their_shape(shape: Shape, data: st.DataObject) -> None:
    point = data.draw(points_around(shape))
    if shape.contains(point):
        reach = [ball.reach - referee_distance(ball.centre, point) for ball in shape.balls()]
        assert max(reach) > -0.001


@given(points, lengths(0.01, 1e6), lengths(0.01, 1e6), points, st.data())
def test_what_moves_equals_what_was_made_there(
    start: Point, height: float, width: float, end: Point, data: st.DataObject
) -> None:
    pairs: list[tuple[Shape, Shape]] = [
        (Circle(start, width), Circle(end, width)),
        (Rectangle(start, height, width), Rectangle(end, height, width)),
    ]
    for moved, made in pairs:
        moved.move(end)
        point = data.draw(points_around(made))
        assert moved.contains(point) == made.contains(point)
        assert moved.clearance(point) == made.clearance(point)


def test_places_that_projections_fear() -> None:
    pole = Circle(Point(90, 0), 1000)
    assert pole.contains(Point(89.995, 137))
    assert not pole.contains(Point(89.99, 137))
    fiji = Circle(Point(-17, 179.999), 1000)
    assert fiji.contains(Point(-17, -179.999))
    across = Polygon([Point(-20, 178), Point(-20, -178), Point(-15, -178), Point(-15, 178)])
    assert across.contains(Point(-17, 180))
    assert across.contains(Point(-17, -179))
    assert not across.contains(Point(-17, 0))
    cap = Polygon([Point(80, lon) for lon in (-120, 0, 120)])
    assert cap.contains(Point(90, 55))
    assert not cap.contains(Point(75, 60))
