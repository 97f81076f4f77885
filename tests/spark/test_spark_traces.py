"""The last leg of a trace: rows whose publisher asked for it are told of, the others are not."""

from datetime import UTC, datetime
from importlib.util import find_spec

import pytest
from pyspark.sql import SparkSession

from gossamer.spark.tracing import follow
from tests.support.collector import running_collector

TRACE_ID = "4bf92f3577b34da6a3ce929d0e0e4736"


@pytest.mark.skipif(find_spec("opentelemetry.sdk") is None, reason="needs the extra trace")
def test_rows_are_told_in_their_trace(spark: SparkSession) -> None:
    received = datetime(2026, 1, 2, tzinfo=UTC)
    rows = spark.createDataFrame(
        [
            ("hall", 7, received, "a/b", {"traceparent": f"00-{TRACE_ID}-00f067aa0ba902b7-01"}),
            ("hall", 8, received, "a/b", {"other": "x"}),
            ("hall", 9, received, "a/b", None),
        ],
        "broker string, offset long, time timestamp, topic string, "
        "user_properties map<string,string>",
    )
    with running_collector() as collector:
        follow(rows, collector.endpoint)
        spans = collector.await_spans(1)
    assert len(spans) == 1
    service, span = spans[0]
    assert service == "gossamer-spark"
    assert span.trace_id.hex() == TRACE_ID
    assert span.start_time_unix_nano == int(received.timestamp() * 1e9)
    about = {each.key: each.value for each in span.attributes}
    assert about["gossamer.offset"].int_value == 7
