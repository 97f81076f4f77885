"""The frame of all experiments: cells through Spark, tables, resumption, bands, commands."""

import sys
from dataclasses import replace
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from rich.console import Console

from gossamer.cli.main import run as cli
from gossamer_lab.cli.experiment import run_plans
from gossamer_lab.experiments import speedup
from gossamer_lab.experiments.dissemination.simulation import TENTH
from gossamer_lab.experiments.experiment import (
    NAMES,
    SCALES,
    Cell,
    Grid,
    ResultRow,
    ResultRows,
    Scaled,
    UnknownExperiment,
    band,
    everything,
    find,
)
from gossamer_lab.experiments.report import gather, write, write_pictures
from gossamer_lab.experiments.results import Finished, ResultTable
from gossamer_lab.experiments.run import failures, plan, run, work

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SHALLOW = {
    "preparation": "without matching subscription",
    "filters": 50,
    "levels": 2,
    "wildcard_probability": 0.5,
    "first_wildcard_level": 0,
}
FEW = [Cell(SHALLOW, 1), Cell(SHALLOW, 2)]
BROKEN = Cell({**SHALLOW, "preparation": "none"}, 1)


def finished(cell: Cell, version: str = "1") -> Finished:
    return Finished(
        cell, {"value": cell.seed, "series": [1.0, 2.0]}, version, False, 0.5, 0.25, "now"
    )


@pytest.mark.parametrize("name", NAMES)
def test_every_experiment_has_a_grid_at_every_scale(name: str) -> None:
    experiment = find(name)
    assert experiment.name == name
    for scale in SCALES:
        keys = [cell.key for cell in experiment.grid(scale)]
        assert keys
        assert len(set(keys)) == len(keys)


def test_an_unknown_name_is_told_what_there_is() -> None:
    with pytest.raises(UnknownExperiment, match="bloom-queries"):
        find("bloom")


def test_a_grid_has_every_combination_of_its_axes() -> None:
    cells = (
        Grid({"a": Scaled((1,), (1, 2)), "b": "xy"}, Scaled(1, 1, 2), {"c": Scaled(3, 4), "a": 9})
        + Grid({"a": ()})
        + Grid({"d": [5]}, fixed=Scaled({"e": 6}, {}))
    )
    assert [str(cell) for cell in cells("small")] == [
        "a=1 b=x c=3 seed=1",
        "a=1 b=y c=3 seed=1",
        "d=5 e=6 seed=1",
    ]
    assert len(cells("paper")) == 2 * 2 + 1
    assert len(cells("large")) == 2 * 2 * 2 + 1


def test_a_key_does_not_depend_on_the_order_of_parameters() -> None:
    assert Cell({"a": 1, "b": 2}, 3).key == Cell({"b": 2, "a": 1}, 3).key
    assert Cell({"a": 1}, 1).key != Cell({"a": 1}, 2).key


def test_a_table_keeps_cells_of_its_version(tmp_path: Path) -> None:
    table = ResultTable(tmp_path, "x", "1")
    for cell in FEW:
        table.add(finished(cell))
    again = ResultTable(tmp_path, "x", "1")
    assert all(again.has(cell) for cell in FEW)
    assert again.rows(FEW).values("value") == [1, 2]
    assert again.rows(FEW)[0]["series"] == [1.0, 2.0]
    assert again.total("seconds", FEW) == 1.0
    assert again.total("processor_seconds", FEW) == 0.5
    assert not ResultTable(tmp_path, "x", "2").has(FEW[0])
    again.forget(FEW[:1])
    assert [again.has(cell) for cell in FEW] == [False, True]


def test_rows_are_found_by_parameters() -> None:
    rows = ResultRows(ResultRow({"a": a, "b": b}, 1, {"v": a * b}) for a in (1, 2) for b in (3, 4))
    assert rows.where(a=2).values("v") == [6, 8]
    assert rows.distinct("b") == [3, 4]
    assert {a: len(group) for a, group in rows.by("a").items()} == {1: 2, 2: 2}
    assert rows.only(a=1, b=4)["v"] == 4
    with pytest.raises(LookupError):
        rows.only(a=3)


def test_the_band_is_the_confidence_interval_of_the_mean() -> None:
    assert band([5.0]).half == 0.0
    found = band([1.0, 2.0, 3.0])
    assert found.mean == 2.0
    assert found.half == pytest.approx(4.303 / 3**0.5)


def test_a_cell_that_fails_says_why() -> None:
    assert "Error" in str(work("bloom-queries", BROKEN))


def test_spark_runs_what_is_left_and_keeps_it(spark: "SparkSession", tmp_path: Path) -> None:
    experiment = replace(find("bloom-queries"), grid=lambda scale: [*FEW, BROKEN])
    first = plan(experiment, "small", tmp_path)
    assert first.left == [*FEW, BROKEN]
    run(spark, first, lambda cell, answer: None)
    assert first.left == [BROKEN]
    assert [(name, cell) for name, cell, _ in failures([first])] == [(experiment.name, str(BROKEN))]
    second = plan(experiment, "small", tmp_path)
    assert second.left == [BROKEN]
    assert [row.seed for row in second.table.rows(FEW)] == [1, 2]
    told = spark.read.parquet(str(second.table.path)).select("parameters.levels", "seed").collect()
    assert sorted(tuple(row) for row in told) == [(2, 1), (2, 2)]
    assert plan(experiment, "small", tmp_path, again=True).left == [*FEW, BROKEN]


def test_a_run_into_a_file_tells_each_cell(spark: "SparkSession", tmp_path: Path) -> None:
    experiment = replace(find("bloom-queries"), grid=lambda scale: [*FEW, BROKEN])
    written = StringIO()
    run_plans(Console(file=written), spark, [plan(experiment, "small", tmp_path)])
    lines = sorted(written.getvalue().splitlines())
    assert len(lines) == 3
    assert [line.split()[1] for line in lines] == ["1/3:", "2/3:", "3/3:"]
    assert sum(line.endswith("failed") for line in lines) == 1
    assert all("levels=2" in line for line in lines)


def test_wrong_names_and_scales_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli(["experiment", "run", "nothing"]) == 2
    assert "there are bloom-queries" in capsys.readouterr().err
    assert cli(["experiment", "run", "bloom-queries", "--scale", "huge"]) == 2
    assert "small, paper, large" in capsys.readouterr().err


def test_a_connect_server_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pyspark")
    wanted = ["geo-traffic", "--master", "sc://nowhere", "--out", str(tmp_path)]
    assert cli(["experiment", "run", *wanted]) == 2
    assert "need a master" in capsys.readouterr().err


def test_a_folder_that_cannot_be_made_is_said_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    assert cli(["experiment", "run", "all", "--out", str(tmp_path / "file" / "out")]) == 1
    assert "cannot write to" in capsys.readouterr().err


def test_the_list_names_all_of_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli(["experiment", "list", "--out", str(tmp_path)]) == 0
    told = capsys.readouterr().out
    assert all(experiment.name in told for experiment in everything())


def test_a_report_without_results_says_so(tmp_path: Path) -> None:
    assert cli(["experiment", "report", "--out", str(tmp_path)]) == 0
    page = (tmp_path / "report-small.html").read_text()
    assert page.count("it has not run at this scale") == len(NAMES)


def test_the_report_shows_figures_claims_and_how_to_run_it_again(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    experiment = find("geo-traffic")
    grid = [Cell({"vehicles": 5, "radius": radius, "rounds": 1}, 1) for radius in (0.0, 500.0)]
    experiment = replace(experiment, grid=lambda scale: grid)
    table = plan(experiment, "small", tmp_path).table
    for cell in grid:
        answer = work(experiment.name, cell)
        assert isinstance(answer, Finished)
        table.add(answer)
    report = gather([experiment, find("bloom-queries")], "small", tmp_path)
    report.remark = "<made> by a test"
    page = write(report, tmp_path / "new" / "report.html").read_text()
    assert page.count("data:image/svg+xml;base64,") == 1
    assert "http" not in page.replace("http-equiv", "")  # nothing is loaded from elsewhere
    assert "&lt;made&gt; by a test" in page
    assert "gossamer experiment run geo-traffic --scale small --again" in page
    assert "✓ holds" in page
    assert "it has not run at this scale" in page
    (picture,) = write_pictures(report, tmp_path / "figures")
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_spark_that_is_missing_is_named_with_the_way_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "pyspark", None)
    monkeypatch.delitem(sys.modules, "gossamer.spark.session", raising=False)
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    assert cli(["experiment", "run", "geo-traffic", "--out", str(tmp_path)]) == 1
    assert "pip install 'gossamer[spark]'" in capsys.readouterr().err


def test_what_more_cores_bring_is_timed(spark: "SparkSession") -> None:
    assert len({cell.key for cell in speedup.grid(5)}) == 5
    small = {"mode": "sf", "alpha": 0.3, **TENTH.small, "seconds": 1.0}
    timing = speedup.measure(spark, 2, [Cell(small, 1), Cell(small, 2)])
    assert timing.cells == 2
    assert timing.work > 0
    with pytest.raises(speedup.SpeedupFailed):
        speedup.measure(spark, 1, [Cell({**small, "unknown": 7}, 1)])
