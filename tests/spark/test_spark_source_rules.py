"""Rules in the source's option `filter`: the rows that the broker would pass on, and no others."""

from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa
import pytest

from gossamer.plus.vocabulary import Vocabulary
from tests.support.archive_brokers import archiving, endpoint, publish
from tests.support.histories import engine_results, history

pytest.importorskip("pyspark")

from gossamer.spark.source.filter_rules import RowFilter, reads_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@pytest.mark.parametrize(
    "filter",
    ["$GT;3/#", "$LTE;30$GTE;-12.75$NEQ;5/+/+", "$CONTAINS;ho/a/#", "$NEQ;5;t$EQ;ok;s/#"],
)
def test_the_same_rows_as_the_broker(filter: str) -> None:
    rows = history(11, 400)
    batch = pa.RecordBatch.from_pylist(
        [{"topic": row["topic"], "payload": row["payload"]} for row in rows]
    )
    found = [
        row for passed in RowFilter((filter,)).passing(iter([batch])) for row in passed.to_pylist()
    ]
    chain = filter.split("/")[0]
    assert [(f"{chain}/{row['topic']}", row["payload"]) for row in found] == [
        (topic, payload) for _, topic, payload in engine_results(rows, filter, Vocabulary())
    ]
    assert found


def test_what_brokers_are_asked_for() -> None:
    filters = ("$GT;3/room/+/t", "room/+/t", "$EQ;1$LT;5/x/#")
    assert reads_of(filters) == ("room/+/t", "x/#")


def test_histories_and_streams(spark: "SparkSession", tmp_path: Path) -> None:
    with archiving(tmp_path, "b1") as broker:
        messages = [("room/temp", str(number).encode()) for number in range(28, 34)]
        publish(broker, [*messages, ("room/temp", b"broken"), ("door", b"open"), ("gate", b"1")])
        options = {
            "brokers": endpoint(broker),
            "filter": "$GT;30/+/temp\ndoor",
            "starting": "earliest",
            "columns": "time,payload",
        }
        rows = spark.read.format("gossamer").options(**options).load()
        assert rows.columns == ["time", "payload"]
        assert sorted(bytes(row.payload) for row in rows.collect()) == [
            b"31",
            b"32",
            b"33",
            b"open",
        ]
        stream = spark.readStream.format("gossamer").options(**options, maxRowsPerTrigger="3")
        query = (
            stream.load()
            .writeStream.format("memory")
            .queryName("rules")
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
        found = spark.table("rules").collect()
        assert sorted(row.payload for row in found) == sorted(row.payload for row in rows.collect())
