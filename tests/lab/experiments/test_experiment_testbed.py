"""The testbed of seven brokers: its sizes and readings, a tiny run, and what is made of numbers."""

import asyncio
from collections import Counter
from typing import Any

import pytest

from gossamer_lab.experiments.experiment import PAPER, SMALL, ResultRow, ResultRows
from gossamer_lab.experiments.studies import testbed_grid as grid_study
from gossamer_lab.experiments.studies import testbed_shapes as shapes_study
from gossamer_lab.experiments.studies.testbed_shapes import publisher_of, subscriber_of
from gossamer_lab.experiments.testbed.line import LINKS, REAL, SIMULATED, measure_line
from gossamer_lab.experiments.testbed.workload import (
    BROKERS,
    equation_5,
    payload_for,
    publication_bytes,
    spr_of,
    subscription_bytes,
)


@pytest.mark.parametrize("spr", grid_study.RATIOS.paper)
def test_the_payload_sets_the_ratio(spr: float) -> None:
    assert spr_of(payload_for(spr)) == pytest.approx(spr, rel=0.03)


def test_equation_5() -> None:
    assert equation_5(1, 0.5) == 0.5
    assert equation_5(BROKERS, 0.5) == 1.5
    assert equation_5(4, 0.0) == 0.5


@pytest.mark.parametrize("scale", [SMALL, PAPER])
def test_every_pair_of_brokers_has_as_many_topics(scale: str) -> None:
    (count,) = {cell.parameters["count"] for cell in shapes_study.EXPERIMENT.grid(scale)}
    pairs = Counter((subscriber_of(n), publisher_of(n)) for n in range(count))
    assert len(pairs) == BROKERS * (BROKERS - 1)
    assert len(set(pairs.values())) == 1
    assert all(near != far for near, far in pairs)


def measured(way: str, interested: int, count: int) -> dict[str, Any]:
    return asyncio.run(measure_line(way, interested, count, [0.5]))


@pytest.mark.processes
def test_a_tiny_grid_meets_the_equation() -> None:
    (flooded,) = measured(REAL, 0, 20)["flooded_bytes"]
    assert flooded == pytest.approx(LINKS * 20 * publication_bytes(payload_for(0.5)), rel=0.1)
    found = measured(REAL, 3, 20)
    assert found["told_bytes"] <= LINKS * 20 * subscription_bytes()
    assert found["forwarded_bytes"][0] / flooded == pytest.approx(
        equation_5(3, 0.0), abs=grid_study.TOLERANCE
    )
    assert 0 < found["told_messages"] <= found["single_messages"] == LINKS * 20


@pytest.mark.parametrize("interested", [1, 4, 7])
def test_simulated_brokers_meet_the_equation(interested: int) -> None:
    (flooded,) = measured(SIMULATED, 0, 10)["flooded_bytes"]
    found = measured(SIMULATED, interested, 10)
    assert found["told_messages"] == found["single_messages"] == LINKS * 10
    assert found["told_bytes"] == LINKS * 10 * subscription_bytes()
    ratio = (found["told_bytes"] + found["forwarded_bytes"][0]) / flooded
    assert ratio == pytest.approx(equation_5(interested, spr_of(payload_for(0.5))), abs=0.02)


def made_up(grouping: float = 1.0, **changed: Any) -> ResultRows:
    """As if everything went by the equation, but for real subscriptions that share messages."""
    ratios = [0.1, 0.55, 1.0]
    rows = []
    for way, share in ((REAL, grouping), (SIMULATED, 1.0)):
        flooded = [round(10_000 / spr_of(payload_for(spr))) for spr in ratios]
        size = {"way": way, "topics": 100, "ratios": ratios}
        rows.append(ResultRow({**size, "interested": 0}, 1, {"flooded_bytes": flooded}))
        for interested in (1, 4, 7):
            measures = {
                "told_bytes": round(10_000 * share),
                "forwarded_bytes": [round(count * (interested - 1) / LINKS) for count in flooded],
            }
            if way == REAL:
                measures.update(changed)
            rows.append(ResultRow({**size, "interested": interested}, 1, measures))
    return ResultRows(rows)


@pytest.mark.parametrize(("grouping", "verdict"), [(1.0, "holds"), (0.5, "differs")])
def test_the_dividing_line_is_that_of_the_plain_equation(grouping: float, verdict: str) -> None:
    pytest.importorskip("matplotlib")
    (figure,) = grid_study.figures(made_up(grouping))
    assert [claim.verdict for claim in figure.claims] == ["holds", verdict, "holds"]


def test_what_grouping_does_not_explain_is_missed() -> None:
    pytest.importorskip("matplotlib")
    # More than the equation says: grouping only ever saves.
    (figure,) = grid_study.figures(made_up(told_bytes=200_000))
    assert figure.claims[1].verdict == "missed"


def test_shapes_are_drawn_and_held_against_the_paper() -> None:
    pytest.importorskip("matplotlib")
    rows = []
    for topology in ("linear", "binary", "star"):
        for mode, told, published in (("pf", 0, 600), ("sf", 600, 300)):
            measures = {
                "seconds": [0.0, 1.0],
                "bytes": [0, told + published],
                "subscribing": told,
                "publishing": published,
                "total": told + published,
            }
            rows.append(ResultRow({"topology": topology, "mode": mode}, 1, measures))
    (figure,) = shapes_study.figures(ResultRows(rows))
    assert [claim.verdict for claim in figure.claims] == ["holds", "holds", "differs"]
