"""A row group of a sealed segment: of its columns only those are read that its statistics leave
open.

Most columns of most archives hold one value over and over, or none: the broker, the QoS, properties
that nobody sends. Offsets follow one another. Of eighteen columns four or five have to be decoded.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from gossamer.archive.schema import SCHEMA

BATCH_ROWS: Final = 65_536
# Statistics of longer texts may have been cut off, by whoever has rewritten the file.
LONGEST_KNOWN: Final = 32  # bytes

_OFFSET: Final = "offset"


class RowGroup:
    """One of an open file."""

    def __init__(self, file: pq.ParquetFile, number: int) -> None:
        self._file = file
        self._number = number
        group = file.metadata.row_group(number)
        self._rows: int = group.num_rows
        self._statistics: dict[str, Any] = {}
        for index in range(group.num_columns):
            column = group.column(index)
            # A column of pairs is two in the file, which are null together.
            name = column.path_in_schema.partition(".")[0]
            self._statistics.setdefault(name, column.statistics)
        offsets = self._statistics[_OFFSET]
        self._first = int(offsets.min)
        self._is_dense = int(offsets.max) - self._first + 1 == self._rows

    def batches(self, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """All its rows in order, as these columns."""
        known = {name: self._constant(name) for name in columns}
        opened = [
            name
            for name in columns
            if known[name] is None and not (name == _OFFSET and self._is_dense)
        ]
        first = self._first
        filled: dict[str, pa.Array] = {}
        for rows, batch in self._read(opened):
            for name, value in known.items():
                if name in opened:
                    filled[name] = batch.column(name)
                elif value is None:
                    filled[name] = pa.array(np.arange(first, first + rows))
                elif name not in filled or len(filled[name]) != rows:
                    filled[name] = pa.repeat(value, rows)
            yield pa.RecordBatch.from_arrays([filled[name] for name in columns], list(columns))
            first += rows

    def _read(self, columns: list[str]) -> Iterator[tuple[int, Any]]:
        """With how many rows each has; None where there is nothing to read."""
        if not columns:
            for start in range(0, self._rows, BATCH_ROWS):
                yield min(BATCH_ROWS, self._rows - start), None
            return
        for batch in self._file.iter_batches(
            BATCH_ROWS, row_groups=[self._number], columns=columns, use_threads=False
        ):
            yield batch.num_rows, batch

    def _constant(self, name: str) -> pa.Scalar | None:
        """What every row has in this column, if that is known."""
        found = self._statistics[name]
        kind = SCHEMA.field(name).type
        if found is None or not found.has_null_count:
            return None
        if found.null_count == self._rows:
            return pa.scalar(None, kind)
        if found.null_count or not found.has_min_max or found.min != found.max:
            return None
        value = found.min
        is_plain = isinstance(value, bool | int) or (
            isinstance(value, str) and len(value.encode()) < LONGEST_KNOWN
        )
        # What is known of a column of pairs is known of its keys.
        return pa.scalar(value, kind) if is_plain and not pa.types.is_nested(kind) else None
