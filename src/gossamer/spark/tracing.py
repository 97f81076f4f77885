"""The last leg of a trace: messages that became rows, told to the brokers' collector."""

from collections.abc import Iterator

from pyspark.sql import DataFrame, Row
from pyspark.sql.functions import col

from gossamer.broker.ports import TRACE_PROPERTY


def follow(rows: DataFrame, endpoint: str, service: str = "gossamer-spark") -> None:
    """One span, from the broker's receipt until now, for each row whose publisher asked for it.

    `endpoint` is a collector of OTLP over HTTP, such as `http://127.0.0.1:4318`. In a stream:
    `.foreachBatch(lambda batch, number: follow(batch, endpoint))`.
    """
    trace = col("user_properties")[TRACE_PROPERTY]
    asked = rows.where(trace.isNotNull())
    asked.select(
        trace.alias("trace"), "broker", "offset", "topic", col("time").cast("double").alias("time")
    ).foreachPartition(lambda part: _tell(part, endpoint, service))


def _tell(part: Iterator[Row], endpoint: str, service: str) -> None:
    from gossamer.net.tracing import Spans

    spans = Spans(endpoint, service)
    try:
        for row in part:
            about: dict[str, str | int] = {
                "messaging.system": "mqtt",
                "messaging.destination.name": row.topic,
                "gossamer.broker": row.broker,
                "gossamer.offset": row.offset,
            }
            spans.tell("row", row.trace, row.time, about)
    finally:
        spans.close()
