"""The simulated studies in miniature: every part of them runs, and claims read the results."""

from dataclasses import replace
from typing import Any

import pytest

from gossamer.mesh.settings import MODES
from gossamer_lab.experiments.dissemination.outage import CUT, outage
from gossamer_lab.experiments.dissemination.reduced_repair import heal
from gossamer_lab.experiments.experiment import ResultRow, ResultRows
from gossamer_lab.experiments.studies import (
    beyond_scale,
    mesh_deliveries,
    mesh_healing,
    mesh_hotspots,
    mesh_summaries,
    mesh_traffic,
)

pytest.importorskip("matplotlib")

TINY: dict[str, Any] = {
    "brokers": 20,
    "subscribers": 160,
    "publishers": 40,
    "seconds": 2.0,
    "cost": 0.002,
    "topics": 4,
}


def rows_of(study: Any, cells: list[dict[str, Any]], seeds: tuple[int, ...] = (1,)) -> ResultRows:
    measure = study.EXPERIMENT.measure
    return ResultRows(
        ResultRow(cell, seed, measure(cell, seed)) for cell in cells for seed in seeds
    )


def test_every_figure_of_the_large_mesh_is_drawn_and_claimed() -> None:
    cells = [{"mode": mode, "alpha": a, **TINY} for mode in MODES for a in (0.0, 0.3, 0.9)]
    figures = mesh_traffic.figures(rows_of(mesh_traffic, cells, (1, 2)))
    assert [figure.name for figure in figures] == [
        f"Figure {number}" for number in (13, 14, 15, 16, 17, 18, 19, 21)
    ]
    for figure in figures:
        assert figure.claims
        for claim in figure.claims:
            assert claim.ours
            assert claim.verdict in ("holds", "differs"), claim


def test_hotspots() -> None:
    cells = [
        {"mode": mode, "alpha": alpha, **TINY, "crowding": 1.0}
        for mode in MODES
        for alpha in (0.0, 0.3)
    ]
    (figure,) = mesh_hotspots.figures(rows_of(mesh_hotspots, cells))
    assert figure.claims[0].verdict in ("holds", "differs")


def test_all_modes_deliver_the_same_and_a_difference_would_be_seen() -> None:
    cells = [
        {"mode": mode, "alpha": alpha, **TINY, "settled": True, "observed": 1.0}
        for mode in MODES
        for alpha in (0.0, 0.9)
    ]
    rows = rows_of(mesh_deliveries, cells)
    (figure,) = mesh_deliveries.figures(rows)
    assert figure.claims[0].holds, figure.claims[0].ours
    wrong = [
        replace(row, measures={**row.measures, "received": "0"}) if row["mode"] == "ssf" else row
        for row in rows
    ]
    assert not mesh_deliveries.figures(ResultRows(wrong))[0].claims[0].holds


def test_summaries_miss_nothing() -> None:
    cells = [
        {"mode": mode, "filters": 1_000, "is_storm": is_storm}
        for mode in ("ssf", "bloom")
        for is_storm in (False, True)
    ]
    (figure,) = mesh_summaries.figures(rows_of(mesh_summaries, cells))
    assert figure.claims[1].holds, figure.claims[1].ours


def test_beyond_compares_the_reduced_form_with_the_brokers() -> None:
    cells: list[dict[str, Any]] = [
        {"fidelity": beyond_scale.FULL, "mode": mode, "brokers": 10} for mode in beyond_scale.MODES
    ]
    cells += [{"fidelity": beyond_scale.REDUCED, "brokers": brokers} for brokers in (10, 100)]
    (figure,) = beyond_scale.figures(rows_of(beyond_scale, cells))
    assert all(claim.verdict in ("holds", "differs") for claim in figure.claims), figure.claims


def test_a_small_mesh_heals() -> None:
    full, reduced = mesh_healing.FULL, mesh_healing.REDUCED
    cells: list[dict[str, Any]] = [
        {"fidelity": full, "brokers": 5, "fault": fault} for fault in mesh_healing.FAULTS
    ]
    cells += [{"fidelity": reduced, "brokers": brokers, "fault": CUT} for brokers in (5, 60)]
    (figure,) = mesh_healing.figures(rows_of(mesh_healing, cells))
    assert figure.claims[0].holds, figure.claims[0].ours


@pytest.mark.parametrize(("brokers", "seed"), [(10, 1), (20, 2), (60, 3)])
def test_healing_that_is_worked_out_is_that_of_the_brokers(brokers: int, seed: int) -> None:
    simulated = outage(brokers, CUT, seed)
    worked_out = heal(brokers, seed)
    assert worked_out.longest == pytest.approx(simulated.longest, abs=0.3)
    assert simulated.affected <= worked_out.affected
