"""Reads ranges of an archive, across sealed files and logs alike. For any thread."""

from collections.abc import Iterator
from typing import Any, Final

import numpy as np
import pyarrow as pa

from gossamer.archive.catalog import Catalog, Segment, end_of, size_of, times_of
from gossamer.archive.errors import RowsLost
from gossamer.archive.log import LogFile
from gossamer.archive.log_reader import read_log
from gossamer.archive.schema import projection
from gossamer.archive.sealed_segment import SealedSegment
from gossamer.archive.selection import Selection

# A log can be sealed and removed between being found and being opened; then it is found anew.
MOST_TRIES: Final = 3


class Reader:
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
            position = max(position, end_of(segment))

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
            limit = min(end_of(segment), end)
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
            times = times_of(segment)
            if times is None or times[1] < time:
                continue
            selection = Selection(
                start=segment.first,
                end=min(end_of(segment), next_offset),
                start_time=time,
                schema=projection(["offset"]),
            )
            for batch in self.read(selection):
                return int(np.min(batch.column("offset").to_numpy()))
        return next_offset

    def describe(self) -> dict[str, Any]:
        """What there is, as JSON values."""
        catalog = self.catalog
        segments = [_described(segment) for segment in catalog.segments]
        return {
            "broker": self.broker,
            "earliest": catalog.earliest,
            "next": catalog.next,
            "schema": projection(None).to_string(),
            "segments": [segment for segment in segments if segment["rows"]],
        }

    def _read_segment(self, segment: Segment, selection: Selection) -> Iterator[pa.RecordBatch]:
        if isinstance(segment, LogFile):
            return read_log(segment, self.broker, selection)
        return segment.read(selection)


def _described(segment: Segment) -> dict[str, Any]:
    times = times_of(segment)
    end = end_of(segment)
    return {
        "first": segment.first,
        "last": end - 1,
        "min_time": times[0] if times else None,
        "max_time": times[1] if times else None,
        "rows": end - segment.first,
        "bytes": size_of(segment),
        "sealed": isinstance(segment, SealedSegment),
    }
