"""--at, --within, --area and --events: what they say, what they refuse, and that it works."""

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from gossamer.cli.errors import WrongUse
from gossamer.cli.places import place_properties
from tests.support.processes import PATIENCE_SECONDS, command, running_broker

RING = [[10, 43], [11, 43], [11, 44], [10, 44], [10, 43]]
SQUARE = {"type": "Polygon", "coordinates": [RING]}
SQUARE_TEXT = json.dumps(SQUARE, separators=(",", ":"))


def test_nothing_says_nothing() -> None:
    assert place_properties(None, None, None) == []


def test_a_position_a_distance_and_events() -> None:
    assert place_properties("-43.72, 10.40", "1.5km", None, "enter,exit") == [
        ("gpl_current_pos", "-43.72;10.40"),
        ("gpl_circleDynamic", "1;km;1;1.5"),
        ("gpl_events", "enter,exit"),
    ]


FILES: list[dict[str, Any]] = [
    SQUARE,
    {"type": "Feature", "properties": {}, "geometry": SQUARE},
    {
        "type": "FeatureCollection",
        "features": [
            {"type": "Feature", "geometry": {"type": "Point", "coordinates": [0, 0]}},
            {"type": "Feature", "geometry": SQUARE},
        ],
    },
    {"type": "GeometryCollection", "geometries": [SQUARE]},
]


@pytest.mark.parametrize("value", FILES, ids=[str(value["type"]) for value in FILES])
def test_areas_from_files(value: object, tmp_path: Path) -> None:
    path = tmp_path / "area.geojson"
    path.write_text(json.dumps(value))
    assert place_properties(None, None, [path]) == [("gpl_geojson", f"2;m;1;{SQUARE_TEXT}")]
    two = place_properties("1,2", None, [path, path])
    assert [text.split(";")[0] for _, text in two[1:]] == ["3", "4"]


@pytest.mark.parametrize(
    ("at", "within", "content", "why"),
    [
        ("43.72", None, None, "write LAT,LON"),
        ("91,0", None, None, "latitude '91'"),
        (None, "5m", None, "add --at"),
        ("1,2", "5 miles", None, "write a distance"),
        ("1,2", "0m", None, "radius '0' is not more than 0"),
        (None, None, "{", "it is not JSON"),
        (None, None, '{"type":"Point","coordinates":[0,0]}', "it has no Polygon"),
        (None, None, '{"type":"Polygon","coordinates":[[[0,0]]]}', "gpl_geojson"),
    ],
)
def test_what_is_refused(
    at: str | None, within: str | None, content: str | None, why: str, tmp_path: Path
) -> None:
    path = tmp_path / "area.geojson"
    if content is not None:
        path.write_text(content)
    with pytest.raises(WrongUse, match=why):
        place_properties(at, within, None if content is None else [path])


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(WrongUse, match="No such file"):
        place_properties(None, None, [tmp_path / "none"])


def test_through_a_broker(tmp_path: Path) -> None:
    def run(*arguments: str) -> bytes:
        done = subprocess.run(
            command(*arguments), capture_output=True, timeout=PATIENCE_SECONDS, check=True
        )
        return done.stdout

    area = tmp_path / "square.geojson"
    area.write_text(SQUARE_TEXT)
    with running_broker() as number:
        port = str(number)
        for name, at in (("in", "43.5,10.5"), ("out", "59.9,10.7")):
            run("pub", "-p", port, "-t", f"t/{name}", "-m", name, "-r", "-q", "1", "--at", at)
        found = run("sub", "-p", port, "-t", "t/+", "--area", str(area), "-C", "1")
        assert found == b"in\n"
        near = run("sub", "-p", port, "-t", "t/+", "--at", "59.9,10.69", "--within", "1km", "-C1")
        assert near == b"out\n"
