"""The writers that Spark calls: for a frame, and for each batch of a stream."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)

from gossamer.spark.sink.once import Part, publish_once
from gossamer.spark.sink.publisher import publish_rows
from gossamer.spark.sink.settings import ONCE, SinkSettings

# Under which names Spark tells a task which batch of which query it works for.
QUERY_ID: Final = "sql.streaming.queryId"
BATCH_ID: Final = "streaming.sql.batchId"


@dataclass
class Published(WriterCommitMessage):
    rows: int


class FrameWriter(DataSourceArrowWriter):
    def __init__(self, settings: SinkSettings) -> None:
        self._settings = settings

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Published:
        return _write(iterator, self._settings, self._settings.key, 0)


class StreamWriter(DataSourceStreamArrowWriter):
    def __init__(self, settings: SinkSettings) -> None:
        self._settings = settings

    def write(self, iterator: Iterator[pa.RecordBatch]) -> Published:
        task = TaskContext.get()
        assert task is not None
        query = self._settings.key or task.getLocalProperty(QUERY_ID) or ""
        return _write(iterator, self._settings, query, int(task.getLocalProperty(BATCH_ID) or 0))


def _write(
    batches: Iterator[pa.RecordBatch], settings: SinkSettings, query: str, batch: int
) -> Published:
    rows = (row for one in batches for row in one.to_pylist())
    if settings.delivery != ONCE:
        return Published(publish_rows(rows, settings))
    task = TaskContext.get()
    assert task is not None
    part = Part(query, batch, task.partitionId())
    return Published(publish_once(list(rows), part, settings))
