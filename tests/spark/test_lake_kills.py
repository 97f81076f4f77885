"""A pipeline that is killed while it fills a lake, at moments drawn from a seed: every message of
the archive is in the tables once."""

import os
import random
import subprocess
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import gossamer
from tests.support.archive_brokers import archiving, endpoint, publish
from tests.support.polling import eventually
from tests.support.processes import command

pytest.importorskip("pyspark")

from deltalake import DeltaTable
from pyspark.sql import functions as F

from gossamer.spark import table
from gossamer.spark.pipelines.pipeline import PipelineError, PipelineSettings
from gossamer.spark.pipelines.run import PipelineRun, find

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.processes

KILLS = 3
MESSAGES = 60  # between two kills
PATIENCE = 500.0  # seconds; Java starts each time, beside other tests
# After the first sign of a batch of its own: its commits are within about that time.
LONGEST_WAIT_SECONDS = 1.5
SMALL = (
    *("--conf", "spark.driver.memory=512m"),
    *("--conf", "spark.sql.shuffle.partitions=2"),
    *("--conf", "spark.sql.codegen.wholeStage=false"),
    *("--conf", "spark.sql.codegen.factoryMode=NO_CODEGEN"),
)


def version(lake: Path, name: str) -> int:
    path = lake / name
    return DeltaTable(path).version() if (path / "_delta_log").exists() else -1


def is_after(lake: Path, before: int) -> bool:
    return version(lake, "silver/readings") > before


def finish(spark: "SparkSession", settings: PipelineSettings) -> None:
    """Reads the rest. Where a machine is so busy that Python takes Spark's ten seconds to start, a
    run ends and is started again, like one that was killed."""
    for is_last in (False, False, False, True):
        try:
            PipelineRun(spark, find("lake"), settings).follow(lambda step: None)
        except PipelineError as problem:
            if is_last or "failed to connect back" not in str(problem):
                raise
        else:
            return


def test_killed_again_and_again(spark: "SparkSession", tmp_path: Path) -> None:
    lake, moments, sent = tmp_path / "lake", random.Random(23), 0
    with archiving(tmp_path / "archive", "b1") as broker:
        asked = ("--brokers", endpoint(broker), "--lake", str(lake), "--every", "0.1 s")
        run = command("pipeline", "run", "lake", *asked, "--max-rows", "20", *SMALL)
        for _ in range(KILLS):
            publish(broker, [("t", b"%d" % number) for number in range(sent, sent + MESSAGES)])
            sent += MESSAGES
            committed = partial(is_after, lake, version(lake, "silver/readings"))
            process = subprocess.Popen(
                run,
                env={**os.environ, "PYTHONPATH": str(Path(gossamer.__file__).parents[1])},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            try:
                eventually(committed, seconds=PATIENCE, pause=0.01)
                time.sleep(moments.uniform(0.0, LONGEST_WAIT_SECONDS))
            finally:
                os.killpg(process.pid, 9)  # the driver's Java and Python at once
                process.wait()
        finish(spark, PipelineSettings(endpoint(broker), str(lake), is_once=True))
    for name in ("bronze/messages", "silver/readings"):
        offsets = table(spark, f"{lake}/{name}").select("offset").collect()
        assert sorted(row.offset for row in offsets) == list(range(sent)), name
    for level in ("minute", "quarter", "hour", "day"):
        sums = table(spark, f"{lake}/gold/{level}").agg(F.sum("count"), F.sum("sum")).collect()
        assert tuple(sums[0]) == (sent, sum(range(sent))), level
    told = table(spark, f"{lake}/batches").agg(F.sum("messages"), F.count_distinct("batch"))
    batches = table(spark, f"{lake}/batches").count()
    assert tuple(told.collect()[0]) == (sent, batches)
