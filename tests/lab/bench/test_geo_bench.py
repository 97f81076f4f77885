"""The geofence measurements, on a scale that takes no time."""

from gossamer_lab.bench.geo import (
    measure_finding,
    measure_moving,
    measure_own,
    measure_plain,
    measure_shapely,
    measure_through,
)
from gossamer_lab.bench.geo_world import GeoWorld


def test_a_seed_makes_one_world() -> None:
    ways = [[GeoWorld(7).place() for _ in range(3)] for _ in range(2)]
    assert repr(ways[0]) == repr(ways[1])


def test_finding_reports_what_it_did() -> None:
    found = measure_finding(1, 500, 200)
    assert found.fences == 500
    assert found.publications_a_second > 0
    assert found.p99_microseconds > 0


def test_moving_reports_what_it_did() -> None:
    assert measure_moving(1, 200) > 0


def test_both_ways_do_the_same_work() -> None:
    assert measure_own(GeoWorld(1), 50, 20) > 0
    assert measure_shapely(GeoWorld(1), 50, 20) > 0


def test_through_a_broker() -> None:
    assert measure_through(1, 20, 100) > 0
    plain = measure_plain(1, 20, 100)
    assert plain.without > 0
    assert plain.others == 20
    assert plain.loss == 1 - plain.beside / plain.without
