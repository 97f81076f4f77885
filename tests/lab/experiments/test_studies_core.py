"""The studies of operators and geofences in miniature: cells are measured, figures are drawn."""

from typing import Any

import pytest

from gossamer_lab.experiments.experiment import ResultRow, ResultRows
from gossamer_lab.experiments.studies import geo_matching, geo_traffic, plus_images, plus_scalars
from gossamer_lab.experiments.studies.geo_traffic import drive

pytest.importorskip("matplotlib")


def measured(study: Any, cells: list[dict[str, Any]]) -> ResultRows:
    return ResultRows(ResultRow(cell, 1, study.EXPERIMENT.measure(cell, 1)) for cell in cells)


def test_averages_meet_the_equations() -> None:
    cells = [
        {"way": way, "sensors": count, "subscribers": count, "windows": 1}
        for way in plus_scalars.WAYS
        for count in (1, 5)
    ]
    (figure,) = plus_scalars.figures(measured(plus_scalars, cells))
    verdicts = {claim.claim: claim for claim in figure.claims}
    assert verdicts["downlink with MQTT"].holds, verdicts
    assert verdicts["downlink with SKR"].holds, verdicts


def test_images_are_compared_by_bytes_time_and_memory() -> None:
    def row(way: str, cameras: int, subscribers: int) -> ResultRow:
        counted = way == plus_images.COUNTED
        measures = {
            "image_bytes": 4_400,
            "downlink": cameras * subscribers * (50 if counted else 4_440),
            "broker_cpu": 0.001 * cameras,
            "worker_cpu": 0.05 * cameras * counted,
            "broker_mib": 60.0,
            "worker_mib": 200.0 * counted,
        }
        return ResultRow({"way": way, "cameras": cameras, "subscribers": subscribers}, 1, measures)

    rows = ResultRows(row(way, m, n) for way in plus_images.WAYS for m in (1, 10) for n in (1, 10))
    (figure,) = plus_images.figures(rows)
    assert [claim.verdict for claim in figure.claims] == ["holds", "holds"]


def test_the_index_and_the_scan_find_the_same() -> None:
    cells = [{"way": way, "fences": 100} for way in geo_matching.WAYS]
    rows = measured(geo_matching, cells)
    assert rows[0]["matches"] == rows[1]["matches"]
    assert geo_matching.figures(rows)[0].claims[0].ours


def test_a_fence_around_the_whole_city_saves_nothing() -> None:
    plain, wide = drive(10, 0.0, 2, 1), drive(10, 40_000.0, 2, 1)
    assert plain.deliveries == wide.deliveries == 10 * 10 * 2
    assert wide.up > plain.up


def test_near_things_only() -> None:
    cells = [{"vehicles": 20, "radius": radius, "rounds": 2} for radius in (0.0, 500.0)]
    (figure,) = geo_traffic.figures(measured(geo_traffic, cells))
    assert figure.claims[0].holds
