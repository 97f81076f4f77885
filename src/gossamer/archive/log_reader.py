"""Rows of a log file, while it is written and after."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pyarrow as pa

from gossamer.archive.blocks import HEADER, Header, Parts
from gossamer.archive.columns import Rows
from gossamer.archive.log import LogFile, Mark
from gossamer.archive.selection import Selection

# Read and decoded at a time: some ten thousands of small messages.
READ_BYTES: Final = 4 * 1024 * 1024


def read_log(log: LogFile, broker: str, selection: Selection) -> Iterator[pa.RecordBatch]:
    """The selected rows that are safe, in order. OSError if the file is gone."""
    next_offset, end = log.safe
    if selection.start >= next_offset:
        return
    marks = log.marks.list[log.marks.before(selection.start) :]
    with log.path.open("rb", buffering=0) as file:
        for stretch in _stretches(marks, end, selection):
            file.seek(stretch.start)
            data = _read_exactly(file.fileno(), stretch.stop - stretch.start, log.path)
            parts = [
                Parts(data, position, header)
                for position, header in headers(data)
                if header.next > selection.start and header.first < selection.end
            ]
            batch = select(Rows(broker, parts), selection) if parts else None
            if batch is not None:
                yield batch


def _read_exactly(descriptor: int, size: int, path: Path) -> bytes:
    pieces = []
    while size:
        piece = os.read(descriptor, size)
        if not piece:
            raise OSError(f"{path} is shorter than it was")
        pieces.append(piece)
        size -= len(piece)
    return pieces[0] if len(pieces) == 1 else b"".join(pieces)


def headers(data: bytes, position: int = 0) -> Iterator[tuple[int, Header]]:
    """Every block from there on, with where it starts."""
    while position + HEADER.size <= len(data):
        header = Header(data, position)
        yield position, header
        position += header.size


def _stretches(marks: list[Mark], end: int, selection: Selection) -> Iterator[slice]:
    """Byte ranges to read, each of about `READ_BYTES`; what cannot be wanted is left out."""
    start = stop = -1
    for index, mark in enumerate(marks):
        if mark.first >= selection.end or mark.position >= end:
            break
        after = marks[index + 1].position if index + 1 < len(marks) else end
        after = min(after, end)
        is_wanted = selection.meets_times(mark.min_time, mark.max_time)
        if stop >= 0 and (not is_wanted or stop - start >= READ_BYTES):
            yield slice(start, stop)
            start = stop = -1
        if is_wanted:
            start = mark.position if start < 0 else start
            stop = after
    if stop >= 0:
        yield slice(start, stop)


def select(rows: Rows, selection: Selection) -> pa.RecordBatch | None:
    """The wanted rows as the wanted columns; None if there are none."""
    low = max(selection.start - rows.first, 0)
    high = min(selection.end - rows.first, rows.count)
    codes, names = rows.topic_codes() if selection.has_topics else (None, [])
    times = rows.times() if selection.has_times else None
    mask = selection.mask(codes, names, times)
    if low >= high or (mask is not None and not mask[low:high].any()):
        return None
    columns = [rows.column(name) for name in selection.schema.names]
    batch = pa.RecordBatch.from_arrays(columns, schema=selection.schema)
    if low or high < rows.count:
        batch = batch.slice(low, high - low)
    return batch if mask is None else batch.filter(pa.array(mask[low:high]))
