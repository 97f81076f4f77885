"""What a writer was asked for, checked before anything is published."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql.types import (
    BinaryType,
    BooleanType,
    DataType,
    IntegralType,
    MapType,
    StringType,
    StructType,
)

from gossamer.net.client_socket import parse_address
from gossamer.spark import options as parse

RETRY_SECONDS: Final = 60.0
AT_LEAST_ONCE: Final = "at-least-once"
ONCE: Final = "once"

_TEXT: Final = (StringType,)
_BYTES: Final = (BinaryType, StringType)
_NUMBER: Final = (IntegralType,)

# What a row may say of its message, under the names of the archive; other columns are an error.
COLUMNS: Final[dict[str, tuple[type[DataType], ...]]] = {
    "topic": _TEXT,
    "payload": _BYTES,
    "qos": _NUMBER,
    "retain": (BooleanType,),
    "content_type": _TEXT,
    "format_indicator": _NUMBER,
    "response_topic": _TEXT,
    "correlation_data": _BYTES,
    "expiry": _NUMBER,
    "user_properties": (MapType,),
}
NEEDED: Final = ("topic", "payload")
# What `subscribe` gives beside them, and the broker gives anew.
IGNORED: Final = ("time", "value")


@dataclass(frozen=True)
class SinkOptions:
    url: str
    qos: int  # where a row does not say it
    delivery: str
    key: str  # of what is written, for `once`: a stream has one by itself
    user: str | None
    password: str | None
    ca_file: str | None
    retry_seconds: float


def _url(text: str) -> str:
    parse_address(text)
    return text


OPTIONS: Final[dict[str, Callable[[str], Any]]] = {
    "url": _url,
    "qos": parse.one_of("0", "1", "2"),
    "delivery": parse.one_of(AT_LEAST_ONCE, ONCE),
    "key": str,
    "user": str,
    "password": str,
    "caFile": str,
    "retrySeconds": parse.seconds,
    # Of the query itself; Spark hands them on.
    "checkpointLocation": str,
    "queryName": str,
}


def read_sink_options(given: Mapping[str, str], needs_key: bool = False) -> SinkOptions:
    """Raises ValueError."""
    options = parse.read(given, OPTIONS)
    parse.check_given(options, "url", "mqtt://127.0.0.1:1883")
    delivery = options.get("delivery", AT_LEAST_ONCE)
    if delivery == ONCE and needs_key:
        parse.check_given(options, "key", "readings of May")
    return SinkOptions(
        url=options["url"],
        qos=int(options.get("qos", "1")),
        delivery=delivery,
        key=options.get("key", ""),
        user=options.get("user"),
        password=options.get("password"),
        ca_file=options.get("caFile"),
        retry_seconds=options.get("retrySeconds", RETRY_SECONDS),
    )


def check_schema(schema: StructType) -> None:
    """Raises ValueError."""
    names = [field.name for field in schema.fields]
    for name in NEEDED:
        if name not in names:
            raise ValueError(f"the rows have no column {name!r}, which every message needs")
    for field in schema.fields:
        if field.name in IGNORED:
            continue
        if field.name not in COLUMNS:
            known = ", ".join((*COLUMNS, *IGNORED))
            raise ValueError(f"no message has a {field.name!r}; columns are {known}")
        if not isinstance(field.dataType, COLUMNS[field.name]):
            raise ValueError(f"column {field.name} is a {field.dataType.simpleString()}")
