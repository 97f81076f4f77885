"""Reads ranges of an archive, across sealed files and logs alike. For any thread."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from gossamer.archive.blocks import HEADER, Header, Parts
from gossamer.archive.catalog import Catalog, Segment
from gossamer.archive.columns import Rows
from gossamer.archive.folder import RowsLost
from gossamer.archive.log import LogFile, Mark
from gossamer.archive.schema import projection
from gossamer.archive.sealed_segment import SealedSegment
from gossamer.archive.selection import Selection

# A log can be sealed and removed between being found and being opened; then it is found anew.
MOST_TRIES: Final = 3
# Read and decoded at a time: some ten thousands of small messages.
READ_BYTES: Final = 4 * 1024 * 1024


class ArchiveReader:
    """What the archive of one broker answers."""

    def __init__(self, catalog: Catalog, broker: str) -> None:
        self.catalog = catalog
        self.broker = broker

    def check(self, start: int, end: int) -> None:
        """RowsLost unless every offset of [start, end) is there."""
        position = start
        for segment in self.catalog.segments:
            if position >= end:
                return
            if position < segment.first:
                raise RowsLost(position, min(segment.first, end))
            position = max(position, segment.end)

    def read(self, selection: Selection) -> Iterator[pa.RecordBatch]:
        """The selected rows that are safe now, in order. RowsLost if offsets are missing."""
        position = selection.start
        end = min(selection.end, self.catalog.next)
        tries = 0
        while position < end:
            segment = self.catalog.at(position)
            if segment is None:
                after = (one.first for one in self.catalog.segments if one.first > position)
                raise RowsLost(position, min(next(after, end), end))
            limit = min(segment.end, end)
            try:
                for batch in self._read_segment(segment, selection.between(position, limit)):
                    tries = MOST_TRIES  # rows were given: the same cannot be tried again
                    yield batch
            except FileNotFoundError:
                tries += 1
                if tries > MOST_TRIES:
                    raise
                continue
            tries = 0
            position = limit

    def locate(self, time: int) -> int:
        """The first offset whose time is not before `time` (microseconds); the next one to be
        written if there is none."""
        next_offset = self.catalog.next
        for segment in self.catalog.segments:
            times = segment.times
            if times is None or times[1] < time:
                continue
            selection = Selection(
                start=segment.first,
                end=min(segment.end, next_offset),
                start_time=time,
                schema=projection(["offset"]),
            )
            for batch in self.read(selection):
                return int(np.min(batch.column("offset").to_numpy()))
        return next_offset

    def describe(self, *, segments: bool = True, files: bool = False) -> dict[str, Any]:
        """What there is, as JSON values: with its segments, and with what a reader of their files
        has to know."""
        catalog = self.catalog
        known = catalog.segments
        there = [one for one in known if one.end > one.first] if segments else []
        return {
            "broker": self.broker,
            "earliest": catalog.earliest,
            "next": catalog.next,
            "sealed": max((one.end for one in known if isinstance(one, SealedSegment)), default=0),
            "schema": projection(None).to_string(),
            "segments": [_described(one) | (_file_of(one) if files else {}) for one in there],
        }

    def _read_segment(self, segment: Segment, selection: Selection) -> Iterator[pa.RecordBatch]:
        if isinstance(segment, LogFile):
            return read_log(segment, self.broker, selection)
        return segment.read(selection)


def _file_of(segment: Segment) -> dict[str, Any]:
    if not isinstance(segment, SealedSegment):
        return {}
    return {"file": segment.path.rpartition("/")[2], "groups": segment.group_starts}


def _described(segment: Segment) -> dict[str, Any]:
    times = segment.times
    end = segment.end
    return {
        "first": segment.first,
        "last": end - 1,
        "min_time": times[0] if times else None,
        "max_time": times[1] if times else None,
        "rows": end - segment.first,
        "bytes": segment.size,
        "sealed": isinstance(segment, SealedSegment),
    }


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
    batch = rows.batch(selection.schema)
    if low or high < rows.count:
        batch = batch.slice(low, high - low)
    return batch if mask is None else batch.filter(pa.array(mask[low:high]))
