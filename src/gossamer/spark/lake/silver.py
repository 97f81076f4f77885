"""Messages to readings, on the executors: a row for each reading, or one for what is unreadable."""

from collections.abc import Callable, Iterable, Iterator
from typing import Final

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.pandas.types import from_arrow_schema

from gossamer.spark.lake.event_time import event_time
from gossamer.spark.lake.payloads import Unreadable, read_payload

KEPT: Final = ("broker", "offset", "topic", "publisher", "content_type")
_NEEDED: Final = (*KEPT, "time", "payload")
_TIME: Final = pa.timestamp("us", "UTC")

_KEPT_FIELDS: Final = [
    pa.field("broker", pa.string()),
    pa.field("offset", pa.int64()),
    pa.field("topic", pa.string()),
    pa.field("publisher", pa.string()),
    pa.field("content_type", pa.string()),
    pa.field("received", _TIME),
]
_READ_FIELDS: Final = [
    pa.field("time", _TIME),
    pa.field("field", pa.string()),
    pa.field("kind", pa.string()),
    pa.field("number", pa.float64()),
    pa.field("text", pa.string()),
    pa.field("payload", pa.binary()),  # of what is unreadable
    pa.field("reason", pa.string()),
]
SCHEMA: Final = pa.schema([*_KEPT_FIELDS, *_READ_FIELDS])


def readings(messages: DataFrame, event_field: str = "") -> DataFrame:
    """`reason` is null for readings. `event_field` is a pointer to the time in a payload."""
    return messages.select(*_NEEDED).mapInArrow(_reader(event_field), from_arrow_schema(SCHEMA))


def _reader(
    event_field: str,
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def read(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            yield read_batch(batch, event_field)

    return read


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
    made = [pa.array(list(c), f.type) for c, f in zip(columns, _READ_FIELDS, strict=True)]
    return pa.RecordBatch.from_arrays([*kept.columns, *made], schema=SCHEMA)
