"""What one task reads: a range of one broker's offsets."""

from collections.abc import Iterator
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql.datasource import InputPartition

from gossamer.archive.client import Address, Request
from gossamer.archive.schema import projection
from gossamer.spark.source.replay import read_range
from gossamer.spark.source.settings import FAIL, SourceSettings
from gossamer.spark.source.sieve import LOOKED_AT, Sieve


@dataclass
class Range(InputPartition):
    """Rows with offsets in [start, end) on topics of the filters."""

    address: Address
    start: int
    end: int
    filters: tuple[str, ...]
    start_time: int | None = None
    end_time: int | None = None


def cut(whole: Range, rows: int) -> Iterator[Range]:
    """Into ranges of so many offsets. The same range is always cut the same way."""
    for start in range(whole.start, whole.end, rows):
        end = min(start + rows, whole.end)
        yield Range(whole.address, start, end, whole.filters, whole.start_time, whole.end_time)


def rows_of(part: InputPartition | None, settings: SourceSettings) -> Iterator[pa.RecordBatch]:
    """Runs on the executors. Where there is no range at all, Spark asks for None."""
    if not isinstance(part, Range):
        return iter(())
    columns = settings.columns
    if not settings.rules:
        return _read(part, columns, settings)
    looked_at = None if columns is None else tuple(projection([*columns, *LOOKED_AT]).names)
    rows = Sieve(settings.rules).sift(_read(part, looked_at, settings))
    return rows if columns is None else (batch.select(list(columns)) for batch in rows)


def _read(
    part: Range, columns: tuple[str, ...] | None, settings: SourceSettings
) -> Iterator[pa.RecordBatch]:
    request = Request(part.filters, part.start, part.end, part.start_time, part.end_time, columns)
    return read_range(
        part.address,
        settings.credentials,
        request,
        settings.retry_seconds,
        settings.on_data_loss == FAIL,
    )
