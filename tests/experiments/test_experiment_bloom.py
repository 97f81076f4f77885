"""The experiment of the Bloom papers: its generator, its known points, its tables and figures."""

import random
from pathlib import Path

import pytest

from gossamer.bench.bloom_workload import (
    Parameters,
    Preparation,
    draw_filters,
    draw_topic,
    draw_wildcards,
    is_wildcard_only,
)
from gossamer.cli.main import run as cli
from gossamer.experiments.bloom.cells import DEEP_WITHOUT_MATCH, SWEEPS, Cell, cells
from gossamer.experiments.bloom.drawing import draw
from gossamer.experiments.bloom.measuring import BF, BFP, HYBRID, METHODS, PREFIX, Effort, measure
from gossamer.experiments.bloom.results import Results, run
from gossamer.topics.matching import matches

ONCE = Effort(trials=1, topics=2)


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


def test_there_are_63_cells_in_12_panels() -> None:
    everything = list(cells())
    assert len(everything) == len(set(everything)) == 63
    assert len({(cell.preparation, cell.sweep) for cell in everything}) == 12
    assert DEEP_WITHOUT_MATCH in everything
    assert set(cells(quick=True)) < set(everything)
    assert DEEP_WITHOUT_MATCH in set(cells(quick=True))


def test_the_published_point_is_met_and_beaten() -> None:
    average = measure(DEEP_WITHOUT_MATCH, ONCE, seed=1)
    assert average[BF] == 2**11 - 1
    assert average[BFP] == pytest.approx(1570.0, rel=0.03)
    assert average[PREFIX] == pytest.approx(29.7, rel=0.03)
    assert average[HYBRID] <= 12


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        (Cell(Preparation.WITH_WILDCARD_ONLY, SWEEPS[1], 2), {BF: 1, BFP: 1, PREFIX: 1, HYBRID: 0}),
        (Cell(Preparation.WITHOUT_MATCH, SWEEPS[2], 0), {BF: 127, BFP: 1, PREFIX: 3, HYBRID: 1}),
        (Cell(Preparation.WITHOUT_MATCH, SWEEPS[3], 5), {BF: 127, BFP: 3, PREFIX: 3, HYBRID: 1}),
    ],
)
def test_known_cells(cell: Cell, expected: dict[str, float]) -> None:
    assert measure(cell, ONCE, seed=1) == expected


def test_results_are_kept_drawn_and_checked(tmp_path: Path) -> None:
    done: list[Cell] = []

    def fixed(better: float) -> Results:
        values = {BF: 2047.0, BFP: 1570.0, PREFIX: 29.7, HYBRID: better}
        return Results(averages={cell: dict(values) for cell in cells()})

    some = [Cell(Preparation.WITHOUT_MATCH, SWEEPS[1], 2)]
    assert list(run(some, ONCE, 1, done.append).averages) == some == done

    good = fixed(9.8)
    assert all(check.holds for check in good.checks())
    assert not all(check.holds for check in fixed(40.0).checks())
    good.save(tmp_path / "queries.csv")
    lines = (tmp_path / "queries.csv").read_text().splitlines()
    assert len(lines) == 1 + 63
    assert lines[0] == "preparation,parameter,value," + ",".join(METHODS)
    images = draw(good, tmp_path)
    assert [path.name for path in images] == ["figure4.png", "figure5.png", "figure6.png"]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in images)


def test_a_folder_that_cannot_be_made_is_said_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    assert cli(["experiment", "bloom", "--out", str(tmp_path / "file" / "out")]) == 1
    assert "cannot write to" in capsys.readouterr().err
