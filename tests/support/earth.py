"""Places for property tests, and pyproj's geodesic as the referee of distances."""

import math

from hypothesis import strategies as st
from pyproj import Geod

from gossamer.geo.circle import Circle
from gossamer.geo.earth import Point
from gossamer.geo.line import Line
from gossamer.geo.polygon import Polygon
from gossamer.geo.rectangle import Rectangle
from gossamer.geo.shape import Shape

GEOD = Geod(ellps="WGS84")

AWKWARD_LATS = [90.0, -90.0, 89.9999999, -89.999, 0.0, 45.0]
AWKWARD_LONS = [180.0, -180.0, 179.9999999, -179.9999999, 0.0]

latitudes = st.one_of(
    st.floats(-90, 90), st.floats(85, 90), st.floats(-90, -85), st.sampled_from(AWKWARD_LATS)
)
longitudes = st.one_of(
    st.floats(-180, 180),
    st.floats(179.9, 180),
    st.floats(-180, -179.9),
    st.sampled_from(AWKWARD_LONS),
)
points = st.builds(Point, latitudes, longitudes)
azimuths = st.floats(-180, 180)


def lengths(least: float = 0.01, most: float = 10_000_000.0) -> st.SearchStrategy[float]:
    """Evenly over the orders of magnitude: as many of centimetres as of thousands of kilometres."""
    return st.floats(math.log(least), math.log(most)).map(math.exp)


def referee_distance(p: Point, q: Point) -> float:
    return float(GEOD.inv(p.lon, p.lat, q.lon, q.lat)[2])


def referee_offsets(centre: Point, q: Point) -> tuple[float, float]:
    """Metres east and north of the centre."""
    azimuth, _, distance = GEOD.inv(centre.lon, centre.lat, q.lon, q.lat)
    return distance * math.sin(math.radians(azimuth)), distance * math.cos(math.radians(azimuth))


def gone(p: Point, azimuth: float, distance: float) -> Point:
    lon, lat, _ = GEOD.fwd(p.lon, p.lat, azimuth, distance)
    return Point(lat, lon)


def near_edge(distance: float, edge: float) -> bool:
    """Too close to call: within 0.1 % of the distance, or 1 cm."""
    return abs(distance - edge) <= max(0.001 * edge, 0.01)


@st.composite
def shapes(draw: st.DrawFn, most: float = 3_000_000.0) -> Shape:
    centre = draw(points)
    size = draw(lengths(0.05, most))
    match draw(st.sampled_from(["circle", "rectangle", "line", "polygon"])):
        case "circle":
            return Circle(centre, size)
        case "rectangle":
            return Rectangle(centre, size, size * draw(st.floats(0.2, 5)))
        case "line":
            turns = draw(st.lists(azimuths, min_size=1, max_size=3))
            corners = [centre]
            for turn in turns:
                corners.append(gone(corners[-1], turn, size / len(turns)))
            return Line(corners, size * draw(st.floats(0.01, 0.5)))
    count = draw(st.integers(3, 7))
    start = draw(azimuths)
    away = [draw(st.floats(0.3, 1)) * size for _ in range(count)]
    return Polygon([gone(centre, start + 360 * i / count, away[i]) for i in range(count)])


@st.composite
def points_around(draw: st.DrawFn, shape: Shape) -> Point:
    """In, at and around a shape, mostly; anywhere, sometimes."""
    ball = draw(st.sampled_from(shape.balls()))
    if draw(st.integers(0, 9)) == 0:
        return draw(points)
    return gone(ball.centre, draw(azimuths), ball.reach * draw(st.floats(0, 1.3)))
