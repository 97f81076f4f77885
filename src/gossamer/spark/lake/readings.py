"""Messages to typed readings, on the executors: a number, a text, or one for each field of JSON.

A field is named by its JSON pointer (`/sensor/temp`), as MQTT+ names it; the whole payload has the
empty name. Numbers and documents are read by the broker's own rules. What cannot be read becomes a
row with the reason. A reading was taken when its message was received, or when a field of it says.
"""

import math
import re
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema

from gossamer.plus.limits import MAX_JSON_BYTES
from gossamer.plus.plan import Field
from gossamer.plus.publication import read_time
from gossamer.plus.values import read_document, read_number, text_of

READINGS: Final = "silver/readings"  # the table

# Deeper values stay one reading, as JSON text. Sensors nest two or three levels.
DEEPEST: Final = 8
# A message of more fields is a table or an attack; each would be a series of its own.
MOST_FIELDS: Final = 1_000

_LOOKS_LIKE_JSON: Final = re.compile(r'[ \t\n\r]*(?:[\[{"]|(?:true|false|null)[ \t\n\r]*\Z)')
_OPENS_DOCUMENT: Final = re.compile(r"[ \t\n\r]*[\[{]")

NUMBER: Final = "number"
TEXT: Final = "text"
BOOLEAN: Final = "boolean"
NULL: Final = "null"
JSON: Final = "json"

_DAY: Final = 86_400_000_000  # microseconds
# A device may be away for a year and then send what it kept; its clock may be a day ahead. What is
# beyond is a clock that was never set, and would make partitions of its own.
OLDEST: Final = 366 * _DAY
NEWEST: Final = _DAY

# Seconds since 1970 are below this until the year 5138. Larger numbers are milliseconds, and those
# are below its thousandfold.
_SECONDS_BELOW: Final = 1e11

KEPT: Final = ("broker", "offset", "topic", "publisher", "content_type")
_TIME: Final = pa.timestamp("us", "UTC")

_KEPT_FIELDS: Final = [
    ("broker", pa.string()),
    ("offset", pa.int64()),
    ("topic", pa.string()),
    ("publisher", pa.string()),
    ("content_type", pa.string()),
    ("received", _TIME),
]
_READ_FIELDS: Final = [
    ("time", _TIME),
    ("field", pa.string()),
    ("kind", pa.string()),
    ("number", pa.float64()),
    ("text", pa.string()),
    ("payload", pa.binary()),  # of what is unreadable
    ("reason", pa.string()),
]
SCHEMA: Final = pa.schema([*_KEPT_FIELDS, *_READ_FIELDS])


class FieldReading(NamedTuple):
    field: str
    kind: str
    number: float | None  # finite
    text: str | None


class Unreadable(ValueError):
    """The text is the reason."""


def read_payload(payload: bytes) -> list[FieldReading]:
    """Raises Unreadable. A document without values has no readings."""
    number = read_number(payload)
    if math.isfinite(number):
        return [FieldReading("", NUMBER, number, None)]
    if math.isinf(number):
        raise Unreadable("it is a number out of range")
    if not payload:
        raise Unreadable("it is empty")
    if len(payload) > MAX_JSON_BYTES:
        raise Unreadable(f"it is over {MAX_JSON_BYTES} bytes")
    try:
        text = payload.decode()
    except UnicodeDecodeError:
        raise Unreadable("it is not UTF-8") from None
    if _LOOKS_LIKE_JSON.match(text) is None:
        return [FieldReading("", TEXT, None, text)]
    try:
        document = read_document(text)
    except RecursionError:
        raise Unreadable("it is nested too deeply") from None
    except ValueError:
        if _OPENS_DOCUMENT.match(text) is None:
            return [FieldReading("", TEXT, None, text)]
        raise Unreadable("it is not JSON") from None
    return flatten(document)


def flatten(document: object) -> list[FieldReading]:
    """Fields in the order of the document. Raises Unreadable if there are too many."""
    found: list[FieldReading] = []
    _add(found, "", document, 0)
    return found


def _add(found: list[FieldReading], field: str, value: object, depth: int) -> None:
    if isinstance(value, dict | list) and depth < DEEPEST:
        members = value.items() if isinstance(value, dict) else enumerate(value)
        for name, member in members:
            _add(found, f"{field}/{_escaped(str(name))}", member, depth + 1)
        return
    if len(found) == MOST_FIELDS:
        raise Unreadable(f"it has over {MOST_FIELDS} fields")
    found.append(_typed(field, value))


def _typed(field: str, value: object) -> FieldReading:
    if isinstance(value, bool):
        return FieldReading(field, BOOLEAN, None, text_of(value))
    if isinstance(value, int | float):
        return FieldReading(field, NUMBER, float(value) if math.isfinite(value) else None, None)
    if isinstance(value, str):
        return FieldReading(field, TEXT, None, _whole(value))
    if value is None:
        return FieldReading(field, NULL, None, None)
    return FieldReading(field, JSON, None, _whole(text_of(value)))


def _escaped(name: str) -> str:
    return _whole(name.replace("~", "~0").replace("/", "~1"))


def _whole(text: str) -> str:
    """JSON can spell half a surrogate pair, which no UTF-8 can hold: it becomes a `?`."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def pointer(field: Field) -> str:
    """The field as readings name it."""
    return "".join(f"/{_escaped(step)}" for step in field.steps)


def event_time(readings: list[FieldReading], name: str, received: int) -> int:
    """Microseconds since 1970; the time received where the message states none.

    Raises Unreadable if what it states is no time, or implausible.
    """
    for reading in readings:
        if reading.field == name:
            stated = _micros(reading)
            if not received - OLDEST <= stated <= received + NEWEST:
                raise Unreadable("its event time is implausible")
            return stated
    return received


def _micros(reading: FieldReading) -> int:
    """RFC 3339, or seconds, milliseconds or microseconds since 1970."""
    number = reading.number
    if number is None:
        try:
            return round(read_time(reading.text or "") * 1e6)
        except ValueError:
            raise Unreadable("its event time is no time") from None
    if abs(number) < _SECONDS_BELOW:
        return round(number * 1e6)
    return round(number * 1e3) if abs(number) < 1e3 * _SECONDS_BELOW else round(number)


def readings(messages: DataFrame, event_field: str = "") -> DataFrame:
    """`reason` is null for readings. `event_field` is a pointer to the time in a payload."""

    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return (read_batch(batch, event_field) for batch in batches)

    needed = messages.select(*KEPT, "time", "payload")
    return needed.mapInArrow(read, from_arrow_schema(SCHEMA))


def read_batch(batch: pa.RecordBatch, event_field: str) -> pa.RecordBatch:
    times = batch.column("time").cast(pa.int64()).to_pylist()
    payloads = batch.column("payload").to_pylist()
    sources: list[int] = []  # of each row that goes out, the row that came in
    rows: list[tuple[object, ...]] = []
    for at, (payload, received) in enumerate(zip(payloads, times, strict=True)):
        try:
            found = read_payload(payload)
            time = event_time(found, event_field, received) if event_field else received
        except Unreadable as reason:
            sources.append(at)
            rows.append((received, None, None, None, None, payload, str(reason)))
            continue
        for reading in found:
            sources.append(at)
            rows.append((time, *reading, None, None))
    kept = batch.select([*KEPT, "time"]).take(pa.array(sources, pa.int64()))
    columns = zip(*rows, strict=True) if rows else [[] for _ in _READ_FIELDS]
    made = [
        pa.array(list(column), kind)
        for column, (_, kind) in zip(columns, _READ_FIELDS, strict=True)
    ]
    return pa.RecordBatch.from_arrays([*kept.columns, *made], schema=SCHEMA)
