"""Outlines of areas lie on the border of what the broker takes them for."""

import pytest

from gossamer.console.map_model import GAP_SECONDS, Places, Tracks, circle, names_of, rings_of
from gossamer.console.topic_model import SeenTopic
from gossamer.geo.earth import Point
from gossamer.geo.glp import parse

HERE = (43.72, 10.40)


@pytest.mark.parametrize(
    ("key", "text"),
    [
        ("gpl_circleStatic", "1;km;1;43.72;10.40;2"),
        ("gpl_rectangleStatic", "1;m;1;43.72;10.40;1000;3000"),
        ("gpl_polygonStatic", "1;m;1;43.7;10.3;43.7;10.5;43.8;10.4"),
        ("gpl_circleDynamic", "1;km;1;2"),
        ("gpl_rectangleDynamic", "1;km;1;2;1"),
        (
            "gpl_geojson",
            '1;m;1;{"type":"Polygon","coordinates":[[[10.3,43.7],[10.5,43.7],[10.4,43.8],'
            "[10.3,43.7]]]}",
        ),
    ],
)
def test_corners_are_on_the_border(key: str, text: str) -> None:
    glp = parse([(key, text)])
    assert glp is not None
    area = glp.areas[0]
    shape = area.fixed or area.around(Point(*HERE))
    (ring,) = rings_of([(key, text)], HERE)
    assert len(ring) >= 3
    for lat, lon in ring:
        assert abs(shape.clearance(Point(lat, lon))) < 1.0  # metres


def test_what_follows_nobody_is_nowhere() -> None:
    assert rings_of([("gpl_circleDynamic", "1;km;1;2"), ("gpl_events", "enter")], None) == []


def test_a_line_is_there_and_back() -> None:
    entries = [
        ("gpl_lineStart", "1;m;1;43.7;10.3;50"),
        ("gpl_linePoint", "1;m;1;43.8;10.4"),
        ("gpl_lineEnd", "1;m;1;43.9;10.5"),
    ]
    assert len(rings_of(entries, None)[0]) == 6


def test_clients_are_shown_once() -> None:
    tracks = Tracks()
    tracks.add(SeenTopic("fleet/van7", b'{"lat": 1, "lon": 2}', 0, False, 0.0))
    places = Places()
    places.clients = [
        {"label": "van7", "name": "van7", "points": [[1.0, 2.0]]},
        {"label": "walker", "name": "walker", "points": [[3.0, 4.0]]},
    ]
    assert [one["label"] for one in places.tracks(tracks)] == ["fleet/van7", "walker"]
    assert len(circle(0.0, 0.0, 1000.0)) == 48


@pytest.mark.parametrize(
    ("topics", "names"),
    [
        ([], []),
        (["fleet/van7"], ["van7"]),
        (["van7"], ["van7"]),
        (["city/north-1/temp", "city/north-2/temp"], ["north-1", "north-2"]),
        (["city/bus/drive", "city/oven/temp"], ["bus/drive", "oven/temp"]),
        (["a/b", "a/b/c"], ["b", "b/c"]),
        (["a/b/a", "a/a"], ["b/a", "a"]),
        (["a/x/b", "a/x/c/b"], ["b", "c/b"]),
    ],
)
def test_names_are_what_tells_topics_apart(topics: list[str], names: list[str]) -> None:
    assert names_of(topics) == names


def test_a_trail_ends_where_nothing_was_heard_for_long() -> None:
    tracks = Tracks()
    at = 1000.0
    for step, pause in enumerate((0.0, 1.0, GAP_SECONDS, 1.0, GAP_SECONDS + 1.0, 1.0)):
        at += pause
        tracks.add(SeenTopic("van", b'{"lat": %d, "lon": 2}' % step, 0, False, at))
    assert list(tracks.by_topic["van"].points) == [(4.0, 2.0), (5.0, 2.0)]
