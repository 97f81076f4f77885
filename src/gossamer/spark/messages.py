"""The rows that operators read: those of the archive, or of any frame with topic, payload and time.

Columns that a frame does not have are taken as absent in every message. Rows are in the order of
`time`, then `broker` and `offset`; without offsets, in the order in which the frame has them.
"""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

NEEDED: Final = ("topic", "payload", "time")
OPTIONAL: Final = {
    "broker": "string",
    "offset": "bigint",
    "expiry": "bigint",
    "user_properties": "map<string,string>",
    "lat": "double",
    "lon": "double",
    "glp": "string",
}


def messages(frame: DataFrame) -> DataFrame:
    """The frame with exactly the columns of `NEEDED` and `OPTIONAL`; raises ValueError."""
    missing = [name for name in NEEDED if name not in frame.columns]
    if missing:
        raise ValueError(f"the source has no column {missing[0]!r}; it needs {', '.join(NEEDED)}")
    columns = [
        F.col("topic"),
        F.col("payload").cast("binary").alias("payload"),
        F.col("time").cast("timestamp").alias("time"),
    ]
    for name, kind in OPTIONAL.items():
        columns.append(_column(frame, name).cast(kind).alias(name))
    return frame.select(*columns)


def _column(frame: DataFrame, name: str) -> Column:
    if name in frame.columns:
        return F.col(name)
    if name == "offset" and not frame.isStreaming:
        return F.monotonically_increasing_id()
    return F.lit(None)


def order() -> Column:
    return F.struct("time", "broker", "offset")
