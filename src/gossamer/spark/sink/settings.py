"""What a writer was asked for, checked before anything is published."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

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

NAMES: Final = (
    "url",
    "qos",
    "delivery",
    "key",
    "user",
    "password",
    "caFile",
    "retrySeconds",
    # Of the query itself; Spark hands them on.
    "checkpointLocation",
    "queryName",
)

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
class SinkSettings:
    url: str
    qos: int  # where a row does not say it
    delivery: str
    key: str  # of what is written, for `once`: a stream has one by itself
    user: str | None
    password: str | None
    ca_file: str | None
    retry_seconds: float


def read_settings(given: Mapping[str, str], needs_key: bool = False) -> SinkSettings:
    """Raises ValueError."""
    options = parse.known(given, NAMES)
    url = parse.needed(options, "url", "mqtt://127.0.0.1:1883")
    parse_address(url)
    delivery = parse.read(options, "delivery", parse.one_of(AT_LEAST_ONCE, ONCE), AT_LEAST_ONCE)
    if delivery == ONCE and needs_key:
        parse.needed(options, "key", "readings of May")
    return SinkSettings(
        url=url,
        qos=int(parse.read(options, "qos", parse.one_of("0", "1", "2"), "1")),
        delivery=delivery,
        key=options.get("key", ""),
        user=options.get("user"),
        password=options.get("password"),
        ca_file=options.get("caFile"),
        retry_seconds=parse.read(options, "retrySeconds", parse.seconds, RETRY_SECONDS),
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
