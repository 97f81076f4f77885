"""Distances, directions and chords against pyproj's geodesic."""

import math

from hypothesis import given

from gossamer.geo.earth import (
    MAX_REACH,
    Point,
    chord2,
    course,
    destination,
    distance,
    longest_chord,
    shortest_chord,
    wrapped,
)
from tests.support.earth import GEOD, azimuths, gone, lengths, points, referee_distance

MILLIMETRE = 0.001


@given(points, azimuths, lengths(0.001, MAX_REACH))
def test_distances_agree_to_a_millimetre(start: Point, azimuth: float, metres: float) -> None:
    end = gone(start, azimuth, metres)
    assert abs(distance(start, end) - referee_distance(start, end)) < MILLIMETRE


@given(points, azimuths, lengths(0.001, MAX_REACH))
def test_destinations_agree_to_a_millimetre(start: Point, azimuth: float, metres: float) -> None:
    end = destination(start, math.radians(azimuth), metres)
    assert math.sqrt(chord2(end, gone(start, azimuth, metres))) < MILLIMETRE


@given(points, azimuths, lengths(1, MAX_REACH))
def test_directions_agree(start: Point, azimuth: float, metres: float) -> None:
    end = gone(start, azimuth, metres)
    true = math.radians(GEOD.inv(start.lon, start.lat, end.lon, end.lat)[0])
    turn = math.remainder(course(start, end).azimuth - true, 2 * math.pi)
    assert abs(turn) * min(metres, 6_000_000) < MILLIMETRE


@given(points, azimuths, lengths(0.001, MAX_REACH))
def test_chords_bound_distances(start: Point, azimuth: float, metres: float) -> None:
    end = gone(start, azimuth, metres)
    true = referee_distance(start, end)
    assert shortest_chord(true) <= math.sqrt(chord2(start, end)) <= longest_chord(true)


@given(points)
def test_the_antipodes_are_far_and_no_error(start: Point) -> None:
    end = Point(-start.lat, wrapped(start.lon + 180))
    true = referee_distance(start, end)
    assert abs(distance(start, end) - true) < 0.01 * true


@given(points)
def test_a_point_is_where_it_is(start: Point) -> None:
    assert distance(start, start) == 0
    assert destination(start, 1.0, 0.0) is start


def test_longitudes_wrap() -> None:
    cases = [(0, 0), (180, 180), (-180, -180), (190, -170), (-190, 170), (360, 0), (725, 5)]
    assert [wrapped(given) for given, _ in cases] == [expected for _, expected in cases]
