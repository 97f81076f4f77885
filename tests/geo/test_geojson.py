"""GeoJSON areas: holes, many parts, the antimeridian, the poles, and shapely as the referee."""

import json
import math

import pytest
import shapely
from hypothesis import assume, given
from hypothesis import strategies as st

from gossamer.geo.earth import Point
from gossamer.geo.geojson import GeoJson, read_geojson
from gossamer.geo.shape import ShapeError
from tests.support.earth import azimuths, gone, referee_distance


def box(west: float, south: float, east: float, north: float) -> list[list[float]]:
    return [[west, south], [east, south], [east, north], [west, north], [west, south]]


def polygon(*rings: list[list[float]]) -> GeoJson:
    return read_geojson(json.dumps({"type": "Polygon", "coordinates": rings}))


def multi(*polygons: list[list[list[float]]]) -> GeoJson:
    return read_geojson(json.dumps({"type": "MultiPolygon", "coordinates": polygons}))


FIJI_CUT = multi([box(177, -20, 180, -16)], [box(-180, -20, -178, -16)])
FIJI_ON = polygon(box(177, -20, 182, -16))
ANTARCTICA = polygon(box(-180, -90, 180, -65))
ARCTIC = polygon(box(-180, 66.5, 180, 90))
RING = polygon(box(0, 0, 10, 10), box(4, 4, 6, 6))
BORDER = polygon(box(-120, 40, -100, 49))

CASES = [
    (FIJI_CUT, Point(-17, 179), True),
    (FIJI_CUT, Point(-17, 180), True),
    (FIJI_CUT, Point(-17, -180), True),
    (FIJI_CUT, Point(-17, -179), True),
    (FIJI_CUT, Point(-17, -177), False),
    (FIJI_ON, Point(-17, 179), True),
    (FIJI_ON, Point(-17, -179), True),
    (FIJI_ON, Point(-17, -177), False),
    (ANTARCTICA, Point(-90, 33), True),
    (ANTARCTICA, Point(-70, 180), True),
    (ANTARCTICA, Point(-60, 0), False),
    (ARCTIC, Point(90, 0), True),
    (ARCTIC, Point(70, -100), True),
    (RING, Point(2, 2), True),
    (RING, Point(5, 5), False),
    # Its northern edge is the parallel, not the shortest line, which would run to 49.6 degrees.
    (BORDER, Point(48.99, -110), True),
    (BORDER, Point(49.1, -110), False),
]


@pytest.mark.parametrize(("shape", "point", "expected"), CASES)
def test_points(shape: GeoJson, point: Point, expected: bool) -> None:
    assert shape.contains(point) == expected
    if abs(shape.clearance(point)) > 1:
        assert (shape.clearance(point) < 0) == expected


@pytest.mark.parametrize("shape", {id(case[0]): case[0] for case in CASES}.values())
@given(st.floats(-90, 90), st.floats(-180, 180), azimuths, st.floats(0, 0.999))
def test_clearance_and_balls(
    shape: GeoJson, lat: float, lon: float, azimuth: float, part: float
) -> None:
    point = Point(lat, lon)
    inside = shape.contains(point)
    clearance = shape.clearance(point)
    if abs(clearance) > 0.01:
        assert (clearance < 0) == inside
        assert shape.contains(gone(point, azimuth, abs(clearance) * part)) == inside
    if inside:
        assert any(referee_distance(ball.centre, point) <= ball.reach for ball in shape.balls())


def test_the_border_is_where_it_says() -> None:
    assert BORDER.clearance(Point(49.1, -110)) == pytest.approx(11_122, abs=60)


degrees = st.integers(-20, 20).map(float)


@given(
    st.lists(st.tuples(degrees, degrees), min_size=3, max_size=9, unique=True),
    st.tuples(st.floats(-21, 21), st.floats(-21, 21)),
)
def test_shapely_agrees(corners: list[tuple[float, float]], at: tuple[float, float]) -> None:
    referee = shapely.Polygon(corners)
    text = json.dumps({"type": "Polygon", "coordinates": [[*corners, corners[0]]]})
    if not referee.is_valid or referee.area == 0:
        with pytest.raises(ShapeError):
            read_geojson(text)
        return
    shape = read_geojson(text)
    assume(referee.boundary.distance(shapely.Point(at)) > 1e-9)
    assert shape.contains(Point(at[1], at[0])) == referee.contains(shapely.Point(at))


def test_holes_may_touch_and_not_cross() -> None:
    assert not polygon(box(0, 0, 10, 10), [[0, 5], [3, 4], [3, 6], [0, 5]]).contains(Point(5, 2))
    with pytest.raises(ShapeError, match="crosses"):
        polygon(box(0, 0, 10, 10), box(5, 5, 15, 8))


REFUSED = [
    ('{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1]]]}', "not closed"),
    ('{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,1]]]}', "not closed"),
    ('{"type":"Polygon","coordinates":[]}', "no ring"),
    ('{"type":"MultiPolygon","coordinates":[]}', "no coordinates"),
    ('{"type":"Polygon"}', "a polygon is not a list"),
    ('{"type":"Polygon","coordinates":[[[0,91],[1,0],[1,1],[0,91]]]}', "latitude 91"),
    ('{"type":"Polygon","coordinates":[[[400,0],[1,0],[1,1],[400,0]]]}', "longitude 400"),
    ('{"type":"Polygon","coordinates":[[["0",0],[1,0],[1,1],["0",0]]]}', "not a number"),
    ('{"type":"Polygon","coordinates":[[[true,0],[1,0],[1,1],[true,0]]]}', "not a number"),
    ('{"type":"Polygon","coordinates":[[[NaN,0],[1,0],[1,1],[NaN,0]]]}', "not JSON"),
    ('{"type":"Polygon","coordinates":[[[1e400,0],[1,0],[1,1],[1e400,0]]]}', "longitude inf"),
    (f'{{"type":"Polygon","coordinates":[[[{"9" * 400},0]]]}}', "out of range"),
    ('{"type":"Polygon","coordinates":[[[0],[1,0],[1,1],[0]]]}', "a longitude and a latitude"),
]


@pytest.mark.parametrize(("text", "why"), REFUSED)
def test_what_is_refused(text: str, why: str) -> None:
    with pytest.raises(ShapeError, match=why):
        read_geojson(text)


def test_too_many_points() -> None:
    ring = [[math.cos(i / 200), math.sin(i / 200)] for i in range(1200)]
    with pytest.raises(ShapeError, match="more than 1000 points"):
        polygon([*ring, ring[0]])
