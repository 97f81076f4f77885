"""The writers that Spark calls: for a frame, and for each batch of a stream.

There is nothing to do when Spark commits: a task ends when the broker has all of its rows, and what
makes a batch that is written again harmless is in `exactly_once.py`.
"""

from collections.abc import Iterator
from typing import Final

import pyarrow as pa
from pyspark import TaskContext
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamArrowWriter,
    WriterCommitMessage,
)

from gossamer.spark.sink.exactly_once import Part, publish_once
from gossamer.spark.sink.publisher import publish_rows
from gossamer.spark.sink.sink_options import ONCE, SinkOptions

# Under which names Spark tells a task which batch of which query it works for.
QUERY_ID: Final = "sql.streaming.queryId"
BATCH_ID: Final = "streaming.sql.batchId"


class GossamerWriter(DataSourceArrowWriter):
    def __init__(self, options: SinkOptions) -> None:
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        return _write(iterator, self._options, self._options.key, 0)


class GossamerStreamWriter(DataSourceStreamArrowWriter):
    def __init__(self, options: SinkOptions) -> None:
        self._options = options

    def write(self, iterator: Iterator[pa.RecordBatch]) -> WriterCommitMessage:
        task = TaskContext.get()
        assert task is not None
        query = self._options.key or task.getLocalProperty(QUERY_ID) or ""
        return _write(iterator, self._options, query, int(task.getLocalProperty(BATCH_ID) or 0))


def _write(
    batches: Iterator[pa.RecordBatch], options: SinkOptions, query: str, batch: int
) -> WriterCommitMessage:
    rows = (row for one in batches for row in one.to_pylist())
    if options.delivery != ONCE:
        publish_rows(rows, options)
    else:
        task = TaskContext.get()
        assert task is not None
        publish_once(list(rows), Part(query, batch, task.partitionId()), options)
    return WriterCommitMessage()
