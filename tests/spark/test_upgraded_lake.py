"""A lake and a Spark checkpoint of an earlier version go on with this one, and a driver of that
version goes on with a broker of this one: every archived message is there exactly once."""

import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.archive_brokers import archiving, endpoint, publish
from tests.support.fixtures.process import check_out, environment
from tests.support.kept_fixtures import FIXTURES, Fixture

pytest.importorskip("pyspark")

from gossamer.spark import table
from gossamer.spark.lake.conversion import CHECKPOINTS, FORMAT, FORMAT_FILE, prepare
from gossamer.spark.lake.tables import LakeTable
from gossamer.spark.pipelines.pipeline import PipelineError, PipelineSettings
from gossamer.spark.pipelines.run import BatchDone, PipelineRun, find

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

NEW = 15


@pytest.fixture(params=FIXTURES, ids=lambda fixture: fixture.version)
def fixture(request: pytest.FixtureRequest) -> Fixture:
    found = request.param
    assert isinstance(found, Fixture)
    return found


def once(brokers: str, lake: Path) -> PipelineSettings:
    return PipelineSettings(brokers, str(lake), is_once=True)


def run(spark: "SparkSession", settings: PipelineSettings) -> list[BatchDone]:
    steps: list[BatchDone] = []
    PipelineRun(spark, find("lake"), settings).follow(steps.append)
    return steps


def numbers(count: int) -> list[tuple[str, bytes]]:
    return [("log/new", f'{{"value": {number}}}'.encode()) for number in range(count)]


def assert_whole(spark: "SparkSession", lake: Path, rows: int) -> None:
    """Each offset once, in as many readings as it makes."""

    def read(name: str) -> "DataFrame":
        path = f"{lake}/{name}"
        is_new = (Path(path) / "_delta_log").exists()
        return table(spark, path) if is_new else spark.read.parquet(path)

    bronze = read("bronze/messages")
    assert sorted(row[0] for row in bronze.select("offset").collect()) == list(range(rows))
    silver = read("silver/readings").where("field = '/value'")
    aside = read("silver/aside")
    offsets = [row[0] for frame in (silver, aside) for row in frame.select("offset").collect()]
    assert sorted(offsets) == list(range(rows))
    days = read("gold/day").where("field = '/value'")
    assert sum(row[0] for row in days.select("count").collect()) == silver.count()


def test_a_lake_and_its_checkpoint_go_on(
    spark: "SparkSession", fixture: Fixture, tmp_path: Path
) -> None:
    told = fixture.table("lake")
    data = fixture.unpack("broker", tmp_path / "data")
    lake = fixture.unpack("lake", tmp_path / "lake")
    assert_whole(spark, lake, told["rows"])
    with archiving(data / "archive", fixture.table("broker")["archive"]["name"]) as broker:
        publish(broker, numbers(NEW))
        steps = run(spark, once(endpoint(broker), lake))
        rest = told["archive"] - told["rows"] + NEW
        assert [(step.batch, step.rows) for step in steps] == [(2, rest)]
        assert_whole(spark, lake, told["archive"] + NEW)
        assert run(spark, once(endpoint(broker), lake)) == []
    assert (lake / CHECKPOINTS / FORMAT_FILE).read_text() == str(FORMAT)
    assert not list(lake.rglob("part-*"))
    assert {path.name for path in lake.glob("silver/readings/*")} >= {"_delta_log"}


def test_a_conversion_is_interrupted(
    spark: "SparkSession", fixture: Fixture, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After the files of a table are written, and after it has got its log."""
    told = fixture.table("lake")
    lake = fixture.unpack("lake", tmp_path / "lake")
    begin = LakeTable.begin
    for commits in (False, True):

        def interrupted(self: LakeTable, *told: Any, commits: bool = commits) -> None:
            if commits:
                begin(self, *told)
            raise OSError("the power is gone")

        monkeypatch.setattr(LakeTable, "begin", interrupted)
        with pytest.raises(OSError, match="the power is gone"):
            prepare(spark, str(lake))
    monkeypatch.setattr(LakeTable, "begin", begin)
    assert "silver/readings" in prepare(spark, str(lake))
    assert_whole(spark, lake, told["rows"])
    assert prepare(spark, str(lake)) == []


def test_a_driver_of_that_version_reads_a_newer_broker(
    spark: "SparkSession", fixture: Fixture, tmp_path: Path
) -> None:
    """And the lake that it leaves is opened by this version."""
    try:
        old = check_out(fixture.commit, tmp_path / "old")
    except ValueError as error:
        pytest.skip(str(error))
    told = fixture.table("lake")
    data = fixture.unpack("broker", tmp_path / "data")
    lake = fixture.unpack("lake", tmp_path / "lake")
    with archiving(data / "archive", fixture.table("broker")["archive"]["name"]) as broker:
        publish(broker, numbers(NEW))
        command = [sys.executable, "-m", "gossamer", "pipeline", "run", "lake", "--once"]
        settings = ["--conf", "spark.sql.shuffle.partitions=1", "--conf", "spark.ui.enabled=false"]
        done = subprocess.run(
            [*command, "--brokers", endpoint(broker), "--lake", str(lake), *settings],
            env=environment(old),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=600,
        )
        assert done.returncode == 0, done.stderr[-2000:]
        assert_whole(spark, lake, told["archive"] + NEW)
        publish(broker, numbers(1))
        assert [step.rows for step in run(spark, once(endpoint(broker), lake))] == [1]
        assert_whole(spark, lake, told["archive"] + NEW + 1)


def test_a_lake_of_a_later_version_is_refused(
    spark: "SparkSession", fixture: Fixture, tmp_path: Path
) -> None:
    lake = fixture.unpack("lake", tmp_path / "lake")
    (lake / CHECKPOINTS / FORMAT_FILE).write_text(str(FORMAT + 1))
    before = {path: path.read_bytes() for path in lake.rglob("*") if path.is_file()}
    with pytest.raises(PipelineError, match=r"format 3 .* knows 2.* newer gossamer"):
        run(spark, once("127.0.0.1:1", lake))
    assert {path: path.read_bytes() for path in lake.rglob("*") if path.is_file()} == before
