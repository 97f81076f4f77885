"""A lake as others see it: Polars and deltalake read every table, now and in the past, on a folder
and in an object store."""

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.archive_brokers import archiving, endpoint, publish

pytest.importorskip("pyspark")
pytest.importorskip("polars")
pytest.importorskip("moto.server")

import polars as pl
import pyarrow as pa
import pyarrow.fs
from deltalake import DeltaTable
from moto.server import ThreadedMotoServer
from pyspark.sql import functions as F

from gossamer.spark import table
from gossamer.spark.lake import tables as lake_tables
from gossamer.spark.lake.files import schema_of, write
from gossamer.spark.lake.folders import LakeError, delta_place, joined, opened
from gossamer.spark.lake.tables import LakeTable
from gossamer.spark.pipelines.lake import TABLES
from gossamer.spark.pipelines.pipeline import PipelineError, PipelineSettings
from gossamer.spark.pipelines.run import PipelineRun, check, find
from tests.support.object_store import ENVIRONMENT

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BUCKET = "lake"


@contextmanager
def bucket() -> Iterator[str]:
    before = dict(os.environ)
    os.environ.update(ENVIRONMENT)
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    _, port = server.get_host_and_port()
    options = f"scheme=http&endpoint_override=127.0.0.1%3A{port}&region=us-east-1"
    files, _ = opened(f"s3://{BUCKET}?{options}&allow_bucket_creation=true")
    files.create_dir(BUCKET)
    yield f"s3://{BUCKET}/{uuid.uuid4().hex}?{options}"  # servers in one process share their data
    server.stop()
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture(params=["folder", "bucket"])
def lake(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    if request.param == "folder":
        yield str(tmp_path / "lake")
        return
    with bucket() as uri:
        yield uri


def test_others_read_every_table(spark: "SparkSession", lake: str, tmp_path: Path) -> None:
    settings: dict[str, Any] = {"is_once": True, "checkpoints": str(tmp_path / "checkpoints")}
    with archiving(tmp_path, "b1") as broker:
        asked = PipelineSettings(endpoint(broker), lake, lateness=timedelta(), **settings)
        publish(broker, [("t", b"%d" % number) for number in range(20)])
        PipelineRun(spark, find("lake"), asked).follow(lambda step: None)
        publish(broker, [("u", b'{"a": 1, "b": "on"}'), ("u", b"{")])
        PipelineRun(spark, find("lake"), asked).follow(lambda step: None)
    for name in TABLES:
        if name == "gold/corrections":
            continue  # nothing was late
        place, options = delta_place(joined(lake, name))
        rows = table(spark, joined(lake, name)).count()
        assert rows > 0, name
        assert DeltaTable(place, storage_options=options).to_pyarrow_table().num_rows == rows
        scanned = pl.scan_delta(place, storage_options=options)
        assert scanned.select(pl.len()).collect().item() == rows
    path = joined(lake, "silver/readings")
    place, options = delta_place(path)
    fields = pl.scan_delta(place, storage_options=options).group_by("field").len().collect()
    assert sorted(fields.rows()) == [("", 20), ("/a", 1), ("/b", 1)]
    # The past: before the second batch.
    assert table(spark, path, version=0).count() == 20
    assert pl.scan_delta(place, version=0, storage_options=options).collect().height == 20
    found = table(spark, path).groupBy("hour").agg(F.sum("number").alias("sum")).collect()
    assert sum(row["sum"] for row in found) == 191.0
    with pytest.raises(LakeError):
        table(spark, joined(lake, "silver/nothing"))


def batch_of(spark: "SparkSession", lake: LakeTable, number: int, **more: int) -> None:
    frame = spark.createDataFrame([(f"t{number}", 15)], "topic string, minute int")
    frame = frame.selectExpr("*", "timestamp'2031-05-24 15:00:00Z' as time")
    for name, value in more.items():
        frame = frame.withColumn(name, F.lit(value))
    lake.write_batch(frame, number)


def test_upkeep(spark: "SparkSession", lake: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Small files become one, what failed attempts left goes, and a batch counts once."""
    readings = LakeTable(lake, "silver/readings", "hour")
    for batch in range(4):
        batch_of(spark, readings, batch)
    batch_of(spark, readings, 2)
    monkeypatch.setattr(lake_tables, "FEWEST_FILES", 4)
    assert readings.compact("2031-05-24T15") == []  # the hour is not over
    assert readings.compact("2031-05-24T16") == ["2031-05-24T15"]
    frame = spark.createDataFrame([("lost", "2031-05-24T15")], "topic string, hour string")
    write(frame, readings.target)  # and nobody commits it
    opened_table = readings.open()
    assert opened_table is not None
    assert len(opened_table.file_uris()) == 1
    readings.expire_all()
    system, root = opened(readings.path)
    left = system.get_file_info(pa.fs.FileSelector(f"{root}/hour=2031-05-24T15"))
    assert len([one for one in left if one.is_file]) == 1
    found = readings.read(spark)
    assert found is not None
    assert sorted(row.topic for row in found.collect()) == ["t0", "t1", "t2", "t3"]
    # A batch that it has is not added again after all of that, either.
    batch_of(spark, readings, 3)
    batch_of(spark, readings, 4, colour=7)
    found = readings.read(spark)
    assert found is not None
    rows = sorted((row.topic, row.colour) for row in found.collect())
    assert rows == [("t0", None), ("t1", None), ("t2", None), ("t3", None), ("t4", 7)]


def test_parts_are_replaced_as_a_whole(spark: "SparkSession", lake: str) -> None:
    gold = LakeTable(lake, "gold/day", "date")
    text = "date string, topic string"
    rows = [("2031-05-24", "a"), ("2031-05-24", "b"), ("2031-05-25", "c")]
    gold.replace(spark.createDataFrame(rows, text), ["2031-05-24", "2031-05-25"])
    gold.replace(spark.createDataFrame([("2031-05-24", "d")], text), ["2031-05-24"])
    found = gold.read(spark)
    assert found is not None
    assert sorted(row.topic for row in found.collect()) == ["c", "d"]
    empty = spark.createDataFrame([], text)
    gold.replace(empty, ["2031-05-25"])
    assert schema_of(empty).names == ["date", "topic"]
    found = gold.read(spark, ["2031-05-25", "2031-05-24"], "topic")
    assert found is not None
    assert [tuple(row) for row in found.collect()] == [("d",)]


def test_where_a_lake_can_be() -> None:
    with pytest.raises(PipelineError, match="cannot be at hdfs://n/lake: it is a folder, or in an"):
        check(find("lake"), PipelineSettings("127.0.0.1:1", "hdfs://n/lake"))
    with pytest.raises(PipelineError, match=r"name a folder for checkpoints .*\(--checkpoints\)"):
        check(find("lake"), PipelineSettings("127.0.0.1:1", "s3://bucket/lake"))
