"""A run of a pipeline: a streaming query with its checkpoint in the lake, watched until it ends.

The checkpoint lies beside the tables that it belongs to, so that a lake can be moved as a whole,
and a run goes on where the last one was, however that ended. Beside tables in an object store Spark
may not be able to write: then it is in a folder of its own.
"""

import re
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Final

from deltalake.exceptions import DeltaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from gossamer.spark.lake.conversion import CHECKPOINTS, prepare
from gossamer.spark.lake.folders import (
    LakeError,
    check_place,
    exists,
    is_local,
    joined,
    write_text,
)
from gossamer.spark.pipelines.geo import GEO
from gossamer.spark.pipelines.insight import INSIGHT
from gossamer.spark.pipelines.lake import LAKE
from gossamer.spark.pipelines.pipeline import Pipeline, PipelineError, PipelineSettings, Work
from gossamer.spark.source.archives import SourceError, find_replays
from gossamer.spark.source.progress import behind
from gossamer.spark.source.source_options import read_source_options

# In the order in which they are listed.
PIPELINES: Final = (LAKE, GEO, INSIGHT)

# A broker that is not there at the start is an error; one that goes away later is waited for.
_PATIENCE_SECONDS: Final = 0.0
_LOOK_SECONDS: Final = 0.5
_SHUFFLE: Final = "spark.sql.shuffle.partitions"
# The last line of a traceback, among much that Spark and Java add.
_RAISED: Final = re.compile(r"^\s*(?:[\w.]+\.)?(\w*(?:Error|Exception)): (.+)$", re.MULTILINE)
_WRAPPERS: Final = frozenset(
    {"Py4JException", "PythonException", "SparkException", "StreamingQueryException"}
)


def find(name: str) -> Pipeline:
    for pipeline in PIPELINES:
        if pipeline.name == name:
            return pipeline
    known = ", ".join(pipeline.name for pipeline in PIPELINES)
    raise PipelineError(f"there is no pipeline {name!r}; pipelines are {known}")


def check(pipeline: Pipeline, settings: PipelineSettings) -> None:
    """What can be found wrong with a run before Spark takes its time to start.

    ValueError if the source's options mean nothing, PipelineError if it could not run.
    """
    asked = read_source_options(settings.source_options())
    pipeline.check(settings)
    try:
        check_place(settings.lake)
    except LakeError as problem:
        raise PipelineError(str(problem)) from None
    checkpoints_of(settings)
    try:
        find_replays(replace(asked, retry_seconds=_PATIENCE_SECONDS))
    except SourceError as problem:
        raise PipelineError(str(problem)) from problem


@dataclass(frozen=True)
class BatchDone:
    """A batch that is done."""

    batch: int
    rows: int
    seconds: float
    behind: int  # rows that are archived and not yet read


class PipelineRun:
    def __init__(self, spark: SparkSession, pipeline: Pipeline, settings: PipelineSettings) -> None:
        """Starts it. Raises PipelineError."""
        self._settings = settings
        fit_shuffles(spark)
        self._stopping = threading.Event()
        try:
            prepare(spark, settings.lake)
            self._work: Work = pipeline.open(spark, settings)
            self._query = self._start(spark, pipeline)
        except PySparkException as problem:
            raise PipelineError(reason_of(problem)) from problem
        except (LakeError, DeltaError) as problem:
            raise PipelineError(f"the lake {settings.lake}: {problem}") from problem

    def follow(self, show: Callable[[BatchDone], None]) -> list[str]:
        """Until it ends or is stopped; then what the work has to say. Raises PipelineError."""
        query, shown = self._query, -1
        while True:
            stopping = self._stopping.is_set()
            ended = _await(query, _LOOK_SECONDS)
            steps = self._steps_after(shown)
            for step in steps:
                shown = step.batch
                show(step)
            if ended:
                return self._work.summary()
            # Between two batches nothing is lost; within one, it would be written again.
            if stopping and (steps or not query.status["isTriggerActive"]):
                query.stop()

    def stop(self) -> None:
        """Lets the batch that is being written come to its end; called twice, it does not."""
        if self._stopping.is_set():
            self._query.stop()
        self._stopping.set()

    def _start(self, spark: SparkSession, pipeline: Pipeline) -> StreamingQuery:
        settings = self._settings
        options = settings.source_options()
        if pipeline.columns:
            options["columns"] = ",".join(pipeline.columns)
        stream = spark.readStream.format("gossamer").options(**options).load()
        writer = (
            stream.writeStream.queryName(f"gossamer-{pipeline.name}")
            .option("checkpointLocation", checkpoint(spark, settings, pipeline.name))
            .foreachBatch(self._work.take)
        )
        if settings.is_once:
            return writer.trigger(availableNow=True).start()
        return writer.trigger(processingTime=f"{settings.every} seconds").start()

    def _steps_after(self, batch: int) -> list[BatchDone]:
        return [
            BatchDone(
                progress.batchId,
                progress.numInputRows,
                progress.batchDuration / 1000,
                sum(behind(progress).values()),
            )
            for progress in self._query.recentProgress
            if progress.batchId > batch and progress.numInputRows
        ]


def fit_shuffles(spark: SparkSession) -> None:
    """Unless told otherwise: within a stream Spark does not adapt its 200 tasks to the cores."""
    if spark.sparkContext.getConf().get(_SHUFFLE) is None:
        spark.conf.set(_SHUFFLE, str(2 * spark.sparkContext.defaultParallelism))


def checkpoint(spark: SparkSession, settings: PipelineSettings, name: str) -> str:
    """Raises PipelineError if it was there and is gone: the tables would miss rows, or none would
    be new."""
    path = joined(checkpoints_of(settings), name)
    marker = joined(settings.lake, CHECKPOINTS, f"{name}.started")
    begins = not exists(marker)
    if not begins and not _exists(spark, path):
        raise PipelineError(
            f"the checkpoint {path} is gone: put it back, or begin in an empty folder (--lake)"
        )
    if begins:
        write_text(marker, path)
    return path


def checkpoints_of(settings: PipelineSettings) -> str:
    """Raises PipelineError."""
    if settings.checkpoints:
        return settings.checkpoints
    if not is_local(settings.lake):
        raise PipelineError(
            f"the lake is in an object store ({settings.lake}): name a folder for checkpoints that "
            "Spark can write to and that stays (--checkpoints)"
        )
    return joined(settings.lake, CHECKPOINTS)


def _exists(spark: SparkSession, path: str) -> bool:
    """Wherever Spark can write."""
    java: Any = spark.sparkContext._jvm
    place = java.org.apache.hadoop.fs.Path(path)
    return bool(place.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration()).exists(place))


def reason_of(problem: Exception) -> str:
    """What went wrong in the first place, in one line."""
    raised = [found for found in _RAISED.findall(str(problem)) if found[0] not in _WRAPPERS]
    if raised:
        return str(raised[-1][1]).strip()
    return str(problem).splitlines()[0]


def _await(query: StreamingQuery, seconds: float) -> bool:
    """Whether it has ended within this time. Raises PipelineError."""
    try:
        return bool(query.awaitTermination(seconds))  # type: ignore[arg-type]
    except PySparkException as problem:
        raise PipelineError(reason_of(problem)) from problem
