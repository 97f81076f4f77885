"""A row as the message that it says."""

from typing import Any

from gossamer.spark.sink.errors import SinkError
from gossamer.topics.names import TopicError, check_name
from gossamer.wire.packets import Publish
from gossamer.wire.properties import Properties

Row = dict[str, Any]


def message_of(row: Row, qos: int) -> Publish:
    """`qos` holds where the row does not say one. Raises SinkError."""
    try:
        check_name(row["topic"] or "")
    except TopicError as problem:
        raise SinkError(f"no message can go to {row['topic']!r}: {problem}") from None
    stated = row.get("qos")
    return Publish(
        row["topic"],
        _bytes(row["payload"]) or b"",
        qos if stated is None else int(stated),
        bool(row.get("retain")),
        False,
        0,
        _properties(row),
    )


def _properties(row: Row) -> Properties:
    properties = Properties()
    properties.content_type = row.get("content_type")
    properties.payload_format = row.get("format_indicator")
    properties.response_topic = row.get("response_topic")
    properties.correlation_data = _bytes(row.get("correlation_data"))
    properties.message_expiry = row.get("expiry")
    pairs = row.get("user_properties") or []
    properties.user = [(name, value or "") for name, value in pairs]
    return properties


def _bytes(value: bytes | str | None) -> bytes | None:
    return value.encode() if isinstance(value, str) else value
