"""The simulated experiment in miniature: every part of it runs, and its claims read its results."""

from dataclasses import replace
from pathlib import Path

import pytest

from gossamer.experiments.dissemination import claims, measuring, sizes
from gossamer.experiments.dissemination.measuring import Findings, run_cell
from gossamer.experiments.dissemination.storm import measure_storm

TINY = sizes.Sizes(20, 160, 40, 2.0, 0.002, (0.0, 0.9), 2_000, 2)


@pytest.fixture(scope="module")
def findings() -> Findings:
    cells = [run_cell(kind, settings) for kind, settings in measuring.runs(TINY)]
    storms = [
        measure_storm(mode, TINY.filters, is_storm)
        for mode in ("ssf", "bloom")
        for is_storm in (False, True)
    ]
    return Findings(cells, storms)


def test_what_must_hold_holds(findings: Findings) -> None:
    deliveries, share, _, needless = claims.must_hold(findings)
    assert deliveries.holds, deliveries.ours
    assert share.holds, share.ours
    assert needless.holds, needless.ours


def test_every_claim_of_the_paper_is_answered(findings: Findings) -> None:
    checks = claims.paper_says(findings)
    assert [check.claim.split(":")[0][:9] for check in checks] == [
        f"Figure {number}" for number in (14, 16, 17, 19, 20, 21)
    ]
    assert all(check.ours and check.verdict in ("ok", "DIFFERS") for check in checks)


def test_a_difference_in_deliveries_would_be_seen(findings: Findings) -> None:
    wrong = [replace(cell, received=0) if cell.mode == "ssf" else cell for cell in findings.cells]
    assert not claims.must_hold(Findings(wrong, findings.storms))[0].holds


def test_results_are_kept(findings: Findings, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    pytest.importorskip("matplotlib")
    from gossamer.experiments.dissemination.drawing import draw
    from gossamer.experiments.dissemination.results import save

    save(findings, tmp_path)
    assert parquet.read_table(tmp_path / "runs.parquet").num_rows == len(findings.cells)
    assert draw(findings, tmp_path).stat().st_size > 10_000
