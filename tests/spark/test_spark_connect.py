"""The source where there is no Spark in the process: Spark Connect, and declarative pipelines."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest

import gossamer
from tests.support.archive_brokers import archiving, endpoint, publish

pytest.importorskip("pyspark")
pytest.importorskip("grpc")
pytest.importorskip("yaml")

from tests.support.spark_cluster import spark_connect, spark_environment, spark_home

PATIENCE = 500.0  # seconds; a Java machine starts, beside other tests

# In a process of its own: one that has a session of the other kind cannot have one of this.
CLIENT = """
import json, sys
from gossamer.spark import start, subscribe

server, brokers, folder = sys.argv[1:]
spark = start("test", server)
history = spark.read.format("gossamer").option("brokers", brokers).load()
greater = subscribe(spark, "$GT;5/t", brokers=brokers)
stream = (
    spark.readStream.format("gossamer")
    .options(brokers=brokers, starting="earliest", columns="offset,topic,payload")
    .load()
)
stream.writeStream.format("parquet").options(
    path=folder + "/out", checkpointLocation=folder + "/checkpoint"
).trigger(availableNow=True).start().awaitTermination()
print(json.dumps([
    history.where("offset < 3").count(), sorted(row.value for row in greater.collect())
]))
"""

SPEC = """
name: readings
storage: file://{folder}/storage
configuration:
  spark.sql.python.filterPushdown.enabled: "true"
  spark.sql.shuffle.partitions: "2"
libraries:
  - glob:
      include: transformations/**
"""

TABLES = """
from pyspark import pipelines as dp
from pyspark.sql import DataFrame, SparkSession

from gossamer.spark import register

spark = SparkSession.active()
register(spark)


@dp.table
def messages() -> DataFrame:
    reader = spark.readStream.format("gossamer").option("starting", "earliest")
    return reader.options(brokers="{brokers}", columns="offset,topic,payload").load()


@dp.materialized_view
def topics() -> DataFrame:
    return spark.read.table("messages").groupBy("topic").count()
"""


def test_spark_connect(tmp_path: Path) -> None:
    with archiving(tmp_path / "archive") as broker, spark_connect(tmp_path) as server:
        publish(broker, [("t", b"%d" % number) for number in range(10)])
        done = subprocess.run(
            [sys.executable, "-c", CLIENT, server, endpoint(broker), str(tmp_path)],
            env={**os.environ, "PYTHONPATH": str(Path(gossamer.__file__).parents[1])},
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == [3, [6.0, 7.0, 8.0, 9.0]]
    files = list((tmp_path / "out").glob("*.parquet"))
    assert sorted(pq.read_table(files).column("offset").to_pylist()) == list(range(10))


def test_declarative_pipelines(tmp_path: Path) -> None:
    (tmp_path / "transformations").mkdir()
    (tmp_path / "spark-pipeline.yml").write_text(SPEC.format(folder=tmp_path))
    with archiving(tmp_path / "archive") as broker:
        publish(broker, [("t", b"1"), ("t", b"2"), ("u", b"3")])
        tables = TABLES.format(brokers=endpoint(broker))
        (tmp_path / "transformations" / "messages.py").write_text(tables)
        done = subprocess.run(
            [str(spark_home() / "bin" / "spark-pipelines"), "run"],
            cwd=tmp_path,
            env=spark_environment(knows_gossamer=True),
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
    # Not the exit code: Spark 4.3 itself fails after the end if Python ran on an executor.
    assert "Run is COMPLETED" in done.stderr + done.stdout, done.stderr
    found = pq.read_table(list((tmp_path / "spark-warehouse" / "topics").glob("*.parquet")))
    counts = zip(found.column("topic").to_pylist(), found.column("count").to_pylist(), strict=True)
    assert sorted(counts) == [("t", 2), ("u", 1)]
