"""The columns of the archive, the same in every segment, on the wire and in Parquet.

Needs nothing but pyarrow: readers on other machines import it.
"""

from typing import Final

import pyarrow as pa

# Absent values are null: a property the message did not have, a publisher that is not kept.
SCHEMA: Final = pa.schema(
    [
        pa.field("broker", pa.string()),
        pa.field("offset", pa.int64()),
        pa.field("time", pa.timestamp("us", "UTC")),  # when it was received
        pa.field("topic", pa.string()),
        pa.field("payload", pa.binary()),
        pa.field("qos", pa.int8()),
        pa.field("retain", pa.bool_()),
        pa.field("content_type", pa.string()),
        pa.field("format_indicator", pa.int8()),
        pa.field("response_topic", pa.string()),
        pa.field("correlation_data", pa.binary()),
        pa.field("expiry", pa.int64()),  # seconds
        pa.field("user_properties", pa.map_(pa.string(), pa.string())),
        pa.field("publisher", pa.string()),
        pa.field("user", pa.string()),
        pa.field("lat", pa.float64()),
        pa.field("lon", pa.float64()),
        pa.field("glp", pa.string()),  # JSON list of the pairs whose names begin with gpl_
    ]
)
COLUMNS: Final = tuple(SCHEMA.names)


class UnknownColumns(ValueError):
    """Somebody asked for columns that there are not."""


def projection(columns: list[str] | None) -> pa.Schema:
    """The schema of these columns, in their own order; all of them for None.

    Without any column rows could not be counted: then it is the offset.
    """
    if columns is None:
        return SCHEMA
    unknown = [name for name in columns if name not in COLUMNS]
    if unknown:
        raise UnknownColumns(f"no column {', '.join(unknown)}; there are {', '.join(COLUMNS)}")
    chosen = [name for name in COLUMNS if name in columns] or ["offset"]
    return pa.schema([SCHEMA.field(name) for name in chosen])
