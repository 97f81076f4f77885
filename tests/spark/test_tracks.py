"""Trips and visits of one visitor, and fences from files."""

import json
from pathlib import Path

import pytest

from gossamer.geo.interest import Interest
from gossamer.spark.fences.areas import interest_of
from gossamer.spark.pipelines.geo import from_file
from gossamer.spark.pipelines.pipeline import PipelineError
from gossamer.spark.tracks.visits import PATIENCE_SECONDS, TrackPosition, Visits, trips

# A circle of 100 m around 0, 0; a thousandth of a degree is about 111 m.
YARD = interest_of([("gpl_circleStatic", "1;m;1;0;0;100")])
GATE = interest_of([("gpl_circleStatic", "1;m;1;0;0.0015;100")])
FENCES: dict[str, Interest] = {"yard": YARD, "gate": GATE}


def at(time: float, lon: float) -> TrackPosition:
    inside = [name for name, fence in FENCES.items() if fence.region.contains(_point(lon))]
    return TrackPosition(time, 0.0, lon, tuple(sorted(inside)))


def _point(lon: float):  # type: ignore[no-untyped-def]
    from gossamer.geo.earth import Point

    return Point(0.0, lon)


JUST_OUTSIDE = 0.00093  # 103 m: within the hysteresis
CASES = [
    ([(0, 0.01)], []),
    ([(0, 0), (60, 0.01)], [("yard", 0, 60, 1, "left")]),
    ([(0, 0), (60, 0)], [("yard", 0, 60, 2, "there")]),
    ([(0, 0), (60, -JUST_OUTSIDE), (90, 0.01)], [("yard", 0, 90, 2, "left")]),
    ([(0, -JUST_OUTSIDE), (60, 0.01)], []),
    (
        [(0, 0), (PATIENCE_SECONDS, 0), (PATIENCE_SECONDS + 5, 0.01)],
        [("yard", 0, 0, 1, "lost"), ("yard", PATIENCE_SECONDS, PATIENCE_SECONDS + 5, 1, "left")],
    ),
    (
        [(0, 0), (10, 0.00075), (20, 0.0015), (30, 0)],
        [("yard", 0, 20, 2, "left"), ("gate", 10, 30, 2, "left"), ("yard", 30, 30, 1, "there")],
    ),
]


@pytest.mark.parametrize(("moves", "stays"), CASES)
def test_visits(
    moves: list[tuple[float, float]], stays: list[tuple[str, float, float, int, str]]
) -> None:
    visits = Visits(FENCES)
    positions = [at(time, lon) for time, lon in moves]
    assert visits.of(positions) == stays
    assert visits.of(positions) == stays, "somebody was still there"


def test_trips_end_where_nothing_is_heard() -> None:
    moves = [at(0, 0), at(10, 0.001), at(20, 0.002), at(20 + PATIENCE_SECONDS, 1)]
    first, second = trips(moves)
    assert (first.start, first.end, len(first.path)) == (0, 20, 3)
    assert first.metres == pytest.approx(222.64, abs=0.01)
    assert (second.start, second.metres, len(second.path)) == (20 + PATIENCE_SECONDS, 0.0, 1)
    assert trips([]) == []


SQUARE = {"type": "Polygon", "coordinates": [[[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]]]}


def feature(geometry: object, **members: object) -> dict[str, object]:
    return {"type": "Feature", "geometry": geometry, **members}


def written(folder: Path, *features: object) -> str:
    path = folder / "fences.geojson"
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}))
    return str(path)


def test_a_file_of_fences(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        feature(SQUARE, properties={"name": "yard"}),
        feature({"type": "Point", "coordinates": [0, 0]}),
        feature(SQUARE, id=7),
        feature(SQUARE),
    )
    assert list(from_file(path)) == ["yard", "7", "fence 4"]
    Path(path).write_text(json.dumps(SQUARE))
    assert list(from_file(path)) == ["fence 1"]


def test_files_that_are_none(tmp_path: Path) -> None:
    twice = feature(SQUARE, id="a")
    bad = feature({"type": "Polygon", "coordinates": [[[0, 0], [1, 1]]]}, id="b")
    for features, complaint in [
        ((twice, twice), "two fences 'a'"),
        ((bad,), "fence 'b'"),
        ((), "no Polygon"),
    ]:
        with pytest.raises(PipelineError, match=complaint):
            from_file(written(tmp_path, *features))
    with pytest.raises(PipelineError, match="cannot read"):
        from_file(str(tmp_path / "nowhere"))
    (tmp_path / "x").write_text("{")
    with pytest.raises(PipelineError, match="is not JSON"):
        from_file(str(tmp_path / "x"))
