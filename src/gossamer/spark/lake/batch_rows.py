"""What the messages of a batch become, on the executors: rows of bronze and of silver."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from gossamer.spark.lake.files import BATCH, HOUR, Target, chunks, with_hours
from gossamer.spark.lake.readings import READINGS, SCHEMA, read_batch

MESSAGES: Final = "bronze/messages"
ASIDE: Final = "silver/aside"

_CUT: Final = [(BATCH, pa.int32()), (HOUR, pa.string())]
_NOT_READINGS: Final = ("content_type", "payload", "reason")
_NOT_ASIDE: Final = ("field", "kind", "number", "text")


def _but(schema: pa.Schema, names: tuple[str, ...]) -> pa.Schema:
    kept = [field for field in schema if field.name not in names]
    return pa.schema([*kept, *_CUT])


def schemas_of(messages: pa.Schema) -> dict[str, pa.Schema]:
    """Of the rows that `split` makes."""
    return {
        MESSAGES: _but(messages, ()),
        READINGS: _but(SCHEMA, _NOT_READINGS),
        ASIDE: _but(SCHEMA, _NOT_ASIDE),
    }


def split(
    targets: Mapping[str, Target], batch: int, event_field: str
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[list[tuple[Target, pa.Table]]]]:
    """Of each piece of a batch, the rows of each table."""

    def work(batches: Iterable[pa.RecordBatch]) -> Iterator[list[tuple[Target, pa.Table]]]:
        for messages in chunks(batches):
            read = pa.Table.from_batches(
                [read_batch(one, event_field) for one in messages.to_batches()]
            )
            is_good = pc.is_null(read.column("reason"))
            rows = {
                READINGS: read.filter(is_good).drop_columns(list(_NOT_READINGS)),
                ASIDE: read.filter(pc.invert(is_good)).drop_columns(list(_NOT_ASIDE)),
                MESSAGES: messages,
            }
            yield [(target, _placed(rows[name], batch)) for name, target in targets.items()]

    return work


def _placed(rows: pa.Table, batch: int) -> pa.Table:
    number = pa.repeat(pa.scalar(batch, pa.int32()), rows.num_rows)
    return with_hours(rows.append_column(BATCH, number))
