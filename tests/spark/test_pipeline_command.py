"""`gossamer pipeline`: run on a cluster, stopped, run again, and asked wrongly."""

import os
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq
import pytest
from deltalake import DeltaTable

import gossamer
from gossamer.cli.main import run
from tests.support.archive_brokers import archiving, endpoint, publish
from tests.support.polling import eventually
from tests.support.processes import command

pytest.importorskip("pyspark")

from gossamer.spark.java import quiet_java
from gossamer.spark.pipelines.pipeline import PipelineSettings
from gossamer.spark.pipelines.run import BatchDone, PipelineRun, find
from gossamer_lab.experiments.experiment import find as find_experiment
from tests.support.spark_cluster import spark_cluster

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PATIENCE = 500.0  # seconds; four Java machines start, beside other tests
SMALL = (
    *("--conf", "spark.driver.host=127.0.0.1"),
    *("--conf", "spark.driver.memory=512m"),
    *("--conf", "spark.executor.memory=512m"),
    *("--conf", "spark.sql.shuffle.partitions=2"),
    *("--conf", "spark.sql.codegen.wholeStage=false"),
    *("--conf", "spark.sql.codegen.factoryMode=NO_CODEGEN"),
)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, Path]]:
    """A master's URL, and the folder in which executors work."""
    folder = tmp_path_factory.mktemp("cluster")
    with spark_cluster(folder) as master:
        yield master, folder / "work"


def test_stopped_on_a_cluster_and_run_again_here(
    spark: "SparkSession", cluster: tuple[str, Path], tmp_path: Path
) -> None:
    lake = tmp_path / "lake"
    master, work = cluster
    with archiving(tmp_path / "archive") as broker:
        publish(broker, [("t", b"%d" % number) for number in range(10)])
        asked = ("--brokers", endpoint(broker), "--lake", str(lake), "--every", "1 s")
        process = subprocess.Popen(
            command("pipeline", "run", "lake", *asked, "--master", master, *SMALL),
            env={**os.environ, "PYTHONPATH": str(Path(gossamer.__file__).parents[1])},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:

            def has_written() -> bool:
                assert process.poll() is None, process.communicate()
                return (lake / "batches" / "_delta_log").exists()

            eventually(has_written, seconds=PATIENCE, pause=0.1)
            process.send_signal(signal.SIGTERM)
            out, errors = process.communicate(timeout=PATIENCE)
        finally:
            process.kill()
        assert process.returncode == 0, errors
        assert "10 messages, 10 readings, 0 payloads" in out
        publish(broker, [("t", b"%d" % number) for number in range(10, 15)])
        settings = PipelineSettings(endpoint(broker), str(lake), is_once=True)
        steps: list[BatchDone] = []
        PipelineRun(spark, find("lake"), settings).follow(steps.append)
    assert [(step.batch, step.rows) for step in steps] == [(1, 5)]
    numbers = (
        DeltaTable(lake / "silver" / "readings").to_pyarrow_table().column("number").to_pylist()
    )
    assert sorted(numbers) == [float(number) for number in range(15)]
    # Nothing was installed where the executors work: they used what was sent along.
    assert list(work.glob("*/*/gossamer_code/gossamer/spark/__pycache__/*.pyc"))


def test_an_experiment_is_spread_over_a_cluster(cluster: tuple[str, Path], tmp_path: Path) -> None:
    master, work = cluster
    asked = ("experiment", "run", "bloom-errors", "--master", master, "--out", str(tmp_path))
    done = subprocess.run(
        command(*asked),
        env={**os.environ, "PYTHONPATH": str(Path(gossamer.__file__).parents[1])},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 0, done.stderr
    cells = len(find_experiment("bloom-errors").grid("small"))
    assert f"{cells}/{cells}: " in done.stdout
    assert pq.read_table(tmp_path / "bloom-errors.parquet").num_rows == cells
    assert list(work.glob("*/*/gossamer_code/gossamer_lab/experiments/__pycache__/*.pyc"))


WRONG = [
    (["run", "pond"], "there is no pipeline 'pond'; pipelines are lake, geo, insight"),
    (["run", "lake", "--every", "soon"], "--every: 'soon' is not a duration; write 30 s"),
    (["run", "lake", "--brokers", "here:there"], "--brokers: 'here:there' is not host:port"),
    (["run", "lake", "--filter", "a/#/b"], "--filter: # must be the last"),
    (["run", "lake", "--starting", "soon"], "--starting: 'soon' is none of earliest"),
    (["run", "lake", "--conf", "spark.x"], "--conf must be NAME=VALUE, not 'spark.x'"),
    (["run", "lake", "--data-loss", "cry"], "--data-loss must be fail or warn"),
    (["run", "lake", "--admin", "ftp://x"], "--admin expects a URL such as http://"),
    (["run", "lake", "--password-file", "nowhere"], "--password-file: cannot read nowhere"),
    (["run", "lake", "--master", "sc://x"], "pipelines need a master"),
]


@pytest.mark.parametrize(("arguments", "complaint"), WRONG, ids=[text for _, text in WRONG])
def test_wrong_use(
    arguments: list[str], complaint: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["pipeline", *arguments]) == 2
    assert complaint in capsys.readouterr().err


FAILING = [
    (["lake"], "no archive at 127.0.0.1:1: "),
    (["lake", "--event-time", "a..b"], "the field 'a..b' has an empty step"),
    (["geo"], "name a GeoJSON file of fences (--fences)"),
    (["geo", "--fences", "nowhere"], "cannot read nowhere"),
    (["insight"], "there are 1 --brokers and 0 --admin"),
]


@pytest.mark.parametrize(("arguments", "complaint"), FAILING, ids=[text for _, text in FAILING])
def test_what_cannot_run_is_told_before_spark_starts(
    arguments: list[str],
    complaint: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("gossamer.spark.session.start", lambda *_: pytest.fail("Spark started"))
    assert run(["pipeline", "run", *arguments, "--brokers", "127.0.0.1:1"]) == 1
    assert complaint in capsys.readouterr().err


def test_spark_does_not_tell_how_it_set_itself_up(tmp_path: Path) -> None:
    (tmp_path / "log4j2.properties").write_text("of an earlier version")
    option = quiet_java(tmp_path)
    assert option == f"-Dlog4j2.configurationFile={tmp_path / 'log4j2.properties'}"
    assert "rootLogger.level = error" in (tmp_path / "log4j2.properties").read_text()


def test_the_list(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["pipeline", "list"]) == 0
    assert capsys.readouterr().out.startswith("lake ")
