"""The experiment of the Bloom papers: its generator, its known points, its tables and figures."""

import random

import pytest

from gossamer.topics.names import matches
from gossamer_lab.bench.bloom_workload import (
    Parameters,
    Preparation,
    draw_filters,
    draw_topic,
    draw_wildcards,
    is_wildcard_only,
)
from gossamer_lab.experiments.bloom.queries import (
    BF,
    BFP,
    HYBRID,
    METHODS,
    PREFIX,
    average_queries,
)
from gossamer_lab.experiments.bloom.searching_broker import publications
from gossamer_lab.experiments.experiment import PAPER, SMALL, ResultRow, ResultRows
from gossamer_lab.experiments.studies import bloom_broker, bloom_errors, bloom_queries
from gossamer_lab.experiments.studies.bloom_queries import SWEEPS

DEEP = SWEEPS[1].workload(10)


@pytest.mark.parametrize(("levels", "first"), [(1, 0), (3, 0), (3, 1), (4, 2), (3, 2)])
def test_every_wildcard_variant_is_drawn_about_equally_often(levels: int, first: int) -> None:
    rng = random.Random(5)
    topic = draw_topic(rng, levels)
    variants = 2 * (2 ** (levels - first) - 1)
    drawn = [draw_wildcards(rng, topic, first) for _ in range(variants * 200)]
    assert all(matches(filter, topic) and filter != topic for filter in drawn)
    kept = topic.split("/")[:first]
    assert all(filter.split("/")[:first] == kept for filter in drawn)
    assert len(set(drawn)) == variants
    assert all(120 < drawn.count(filter) < 280 for filter in set(drawn))


@pytest.mark.parametrize("preparation", Preparation)
def test_preparations_exclude_what_they_say(preparation: Preparation) -> None:
    rng = random.Random(6)
    topics = [draw_topic(rng, 2) for _ in range(3)]
    filters = draw_filters(rng, Parameters(filters=500, levels=2), preparation, topics)
    assert len(filters) == 500
    only_wildcards = any(is_wildcard_only(filter) for filter in filters)
    assert only_wildcards == (preparation is Preparation.WITH_WILDCARD_ONLY)
    if preparation is Preparation.WITHOUT_MATCH:
        assert not any(matches(filter, topic) for filter in filters for topic in topics)


def test_a_cell_that_two_panels_share_is_measured_once() -> None:
    everything = {cell.key for cell in bloom_queries.grid(PAPER)}
    assert len(everything) == (63 - 3 * 3) * 10
    assert {cell.key for cell in bloom_queries.grid(SMALL)} < everything


def test_the_published_point_is_met_and_beaten() -> None:
    average = average_queries(DEEP, Preparation.WITHOUT_MATCH, 2, seed=1)
    assert average[BF] == 2**11 - 1
    assert average[BFP] == pytest.approx(1570.0, rel=0.03)
    assert average[PREFIX] == pytest.approx(29.7, rel=0.03)
    assert average[HYBRID] <= 12


@pytest.mark.parametrize(
    ("preparation", "parameters", "expected"),
    [
        (
            Preparation.WITH_WILDCARD_ONLY,
            SWEEPS[1].workload(2),
            {BF: 1, BFP: 1, PREFIX: 1, HYBRID: 0},
        ),
        (
            Preparation.WITHOUT_MATCH,
            SWEEPS[2].workload(0),
            {BF: 127, BFP: 1, PREFIX: 3, HYBRID: 1},
        ),
        (
            Preparation.WITHOUT_MATCH,
            SWEEPS[3].workload(5),
            {BF: 127, BFP: 3, PREFIX: 3, HYBRID: 1},
        ),
    ],
)
def test_known_cells(
    preparation: Preparation, parameters: Parameters, expected: dict[str, float]
) -> None:
    assert average_queries(parameters, preparation, 2, seed=1) == expected


@pytest.mark.parametrize(("hybrid", "verdict"), [(9.8, "holds"), (40.0, "differs")])
def test_figures_and_claims_read_the_results(hybrid: float, verdict: str) -> None:
    pytest.importorskip("matplotlib")
    queries = {BF: 2047.0, BFP: 1570.0, PREFIX: 29.7, HYBRID: hybrid}
    assert set(queries) == set(METHODS)
    rows = ResultRows(
        ResultRow(cell.parameters, cell.seed, {"queries": queries})
        for cell in bloom_queries.grid(SMALL)
    )
    figures = bloom_queries.figures(rows)
    assert [figure.name for figure in figures] == ["Figure 4", "Figure 5", "Figure 6"]
    verdicts = [claim.verdict for claim in figures[-1].claims]
    assert verdicts == ["holds", "holds", "holds", verdict]


def test_errors_are_few_where_bits_are_many() -> None:
    pytest.importorskip("matplotlib")
    cell = {"rate": 0.001, "filters": 200, "topics": 200}
    row = ResultRow(cell, 1, bloom_errors.EXPERIMENT.measure(cell, 1))
    assert row["errors"][HYBRID] <= 0.02
    assert row["queries"][HYBRID] < row["queries"][BF]
    assert bloom_errors.figures(ResultRows([row]))[0].claims


@pytest.mark.processes
def test_a_real_broker_searches_before_each_message() -> None:
    pytest.importorskip("matplotlib")
    rows = []
    for queries in (0, 1_000):
        cell = {"queries": queries, "seconds": 0.1}
        measures = bloom_broker.EXPERIMENT.measure(cell, 1)
        assert measures["messages_a_second"] > 0
        rows.append(ResultRow(cell, 1, measures))
    assert bloom_broker.figures(ResultRows(rows))[0].claims


@pytest.mark.parametrize(
    ("chunk", "count", "rest"),
    [
        (b"\x30\x03\x00\x01a", 1, b""),
        (b"\x30\x03\x00\x01a\xc0\x00\x30\x03\x00\x01a\x30", 2, b"\x30"),
        (b"\x30\x03\x00", 0, b"\x30\x03\x00"),
        (b"", 0, b""),
    ],
)
def test_only_whole_publications_are_counted(chunk: bytes, count: int, rest: bytes) -> None:
    assert publications(chunk) == (count, rest)
