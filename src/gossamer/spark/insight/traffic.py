"""What was published, by hour, and whom it reached."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.types import from_arrow_schema

from gossamer.spark.insight.interests import Interests
from gossamer.spark.lake.hours import hour_columns

_FIELDS: Final = [
    pa.field("broker", pa.string()),
    pa.field("topic", pa.string()),
    pa.field("publisher", pa.string()),
    pa.field("messages", pa.int64()),
    pa.field("bytes", pa.int64()),
]
_MATCHED: Final = pa.schema([*_FIELDS, pa.field("filters", pa.list_(pa.int32()))])


def counted(messages: DataFrame) -> DataFrame:
    """Messages and bytes of each broker, topic and publisher, in each hour."""
    hours = messages.withColumns(hour_columns(F.col("time")))
    return hours.groupBy("date", "hour", "broker", "topic", "publisher").agg(
        F.count("*").alias("messages"),
        F.sum(F.octet_length("payload")).cast("bigint").alias("bytes"),
        F.max("time").alias("last"),
    )


def flows(traffic: DataFrame, filters: Sequence[str]) -> DataFrame:
    """Over all hours, with the numbers of the filters that each topic reaches."""
    summed = traffic.groupBy("broker", "topic", "publisher").agg(
        F.sum("messages").alias("messages"), F.sum("bytes").alias("bytes")
    )
    return summed.mapInArrow(_matcher(tuple(filters)), from_arrow_schema(_MATCHED))


def _matcher(
    filters: tuple[str, ...],
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def match(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        interests = Interests(filters)
        for batch in batches:
            found = [interests.of(topic) for topic in batch.column("topic").to_pylist()]
            matched = pa.array(found, pa.list_(pa.int32()))
            yield pa.RecordBatch.from_arrays([*batch.columns, matched], schema=_MATCHED)

    return match
