"""The testbed of seven brokers: its sizes and readings, a tiny run, and what is made of numbers."""

import asyncio
from collections import Counter
from pathlib import Path

import pytest

from gossamer.cli.main import run as cli
from gossamer.experiments.testbed import grid, results, shapes
from gossamer.experiments.testbed.drawing import draw
from gossamer.experiments.testbed.grid import Cell, measure_grid
from gossamer.experiments.testbed.shapes import Curve, publisher_of, subscriber_of
from gossamer.experiments.testbed.workload import (
    BROKERS,
    equation_5,
    payload_for,
    publication_bytes,
    spr_of,
    subscription_bytes,
)


@pytest.mark.parametrize("spr", grid.FULL.ratios)
def test_the_payload_sets_the_ratio(spr: float) -> None:
    assert spr_of(payload_for(spr)) == pytest.approx(spr, rel=0.03)


def test_equation_5() -> None:
    assert equation_5(1, 0.5) == 0.5
    assert equation_5(BROKERS, 0.5) == 1.5
    assert equation_5(4, 0.0) == 0.5


@pytest.mark.parametrize("effort", [shapes.FULL, shapes.QUICK])
def test_every_pair_of_brokers_has_as_many_topics(effort: shapes.Effort) -> None:
    pairs = Counter((subscriber_of(n), publisher_of(n)) for n in range(effort.topics))
    assert len(pairs) == BROKERS * (BROKERS - 1)
    assert len(set(pairs.values())) == 1
    assert all(near != far for near, far in pairs)


@pytest.mark.processes
def test_a_tiny_grid_meets_the_equation() -> None:
    effort = grid.Effort(topics=20, interested=(3,), ratios=(0.5,))
    told: list[str] = []
    (cell,) = asyncio.run(measure_grid(effort, told.append))
    assert cell.flooded_bytes == pytest.approx(
        6 * 20 * publication_bytes(payload_for(0.5)), rel=0.1
    )
    assert cell.told_bytes <= 6 * 20 * subscription_bytes()
    assert cell.forwarding == pytest.approx(equation_5(3, 0.0), abs=results.TOLERANCE)
    assert 0 < cell.told_messages <= cell.single_messages == 6 * 20
    assert told == ["pf, SPR 0.5", "sf, 3 of 7 brokers interested"]


def made_up(grouping: float = 1.0) -> tuple[list[Cell], list[Curve]]:
    """As if everything went by the equation, but for subscriptions that share messages."""
    cells = []
    for interested in (1, 4, 7):
        for spr in (0.1, 0.55, 1.0):
            forwarded = round(10_000 * (interested - 1) / 6)
            told = round(10_000 * spr * grouping)
            messages = round(600 * grouping)
            cells.append(Cell(interested, spr, spr, 10_000, told, forwarded, messages, 600))
    curves = []
    for topology in ("linear", "binary", "star"):
        curves.append(Curve(topology, "pf", [(0.0, 0), (1.0, 600)], 0, 600))
        curves.append(Curve(topology, "sf", [(0.0, 0), (1.0, 600), (2.0, 900)], 600, 300))
    return cells, curves


@pytest.mark.parametrize(("grouping", "line"), [(1.0, "ok"), (0.5, "DIFFERS")])
def test_the_dividing_line_is_that_of_the_plain_equation(grouping: float, line: str) -> None:
    verdicts = [check.verdict for check in results.grid_checks(made_up(grouping)[0])]
    assert verdicts == ["ok", line, "ok", "ok"]


def test_what_grouping_does_not_explain_is_missed() -> None:
    cells, _ = made_up()
    # More than the equation says: grouping only ever saves.
    cells[0] = Cell(1, 0.1, 0.1, 10_000, 20_000, 0, 300, 600)
    assert results.grid_checks(cells)[1].verdict == "MISSED"
    # Less, with as many messages as there can be.
    cells, _ = made_up()
    cells[-1] = Cell(7, 1.0, 1.0, 10_000, 0, 9_000, 600, 600)
    assert [check.verdict for check in results.grid_checks(cells)[:2]] == ["MISSED", "MISSED"]


def test_shapes() -> None:
    _, curves = made_up()
    verdicts = [check.verdict for check in results.shape_checks(curves)]
    assert verdicts == ["ok"] * 6 + ["DIFFERS"]  # the line floods no more than the others
    curves[1].subscribing = 900
    assert results.shape_checks(curves)[-1].verdict == "ok"
    curves[1].publishing = 700
    assert results.shape_checks(curves)[0].verdict == "MISSED"


def test_files(tmp_path: Path) -> None:
    cells, curves = made_up()
    paths = [*results.save(cells, curves, tmp_path), *draw(cells, curves, tmp_path)]
    assert [path.name for path in paths] == [
        "figure10.csv",
        "figure12.csv",
        "figure10.png",
        "figure12.png",
    ]
    assert len(paths[0].read_text().splitlines()) == 1 + len(cells)
    assert all(path.stat().st_size > 0 for path in paths)


def test_a_folder_that_cannot_be_made(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli(["experiment", "testbed", "--out", "/dev/null/x"]) == 1
    assert "cannot write" in capsys.readouterr().err
