"""The archives of brokers, read with patience: ranges of offsets, as Arrow batches.

Rows of a range are the same however often they are read, so what fails for a moment is tried again,
and a connection that broke goes on behind the last row that came.
"""

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, TypeVar

import pyarrow as pa
from pyspark.sql.datasource import InputPartition

from gossamer.archive.client import (
    Address,
    OffsetsLost,
    ReplayError,
    Request,
    Unreachable,
    describe,
    fetch,
    locate,
    read,
)
from gossamer.archive.replay_protocol import DENIED, FAILED, REFUSED, UNTRUSTED
from gossamer.archive.schema import projection
from gossamer.archive.sealed_segment import SealedSegment
from gossamer.archive.segment_bytes import FetchedFiles
from gossamer.archive.segment_files import NEVER, SegmentFile, files_told
from gossamer.archive.selection import FOREVER, Selection
from gossamer.backoff import Patience
from gossamer.spark.source.filter_rules import LOOKED_AT, RowFilter
from gossamer.spark.source.source_options import EARLIEST, EVERYTHING, FAIL, Position, SourceOptions

logger = logging.getLogger(__name__)

T = TypeVar("T")

# What to do about answers that another try does not change.
_WAYS_OUT: Final = {
    REFUSED: ": see the options user, password and token",
    DENIED: ": narrow the option filter, or have its topics permitted",
    UNTRUSTED: ": name its authority in the option caFile",
}


class SourceError(Exception):
    """A query cannot go on; the text says which broker and what to do."""


def _wait(patience: Patience, problem: ReplayError) -> None:
    """Until the next try; raises SourceError if there is none."""
    passing = isinstance(problem, Unreachable) or problem.code == FAILED
    if not passing:
        raise SourceError(f"{problem}{_WAYS_OUT.get(problem.code, '')}") from problem
    pause = patience.pause(time.monotonic())
    if pause is None:
        tried = f" (tried for {patience.seconds:g} s)" if patience.seconds else ""
        raise SourceError(
            f"no archive at {problem}{tried}: start the broker, with an [archive], or correct "
            "the option brokers"
        ) from problem
    logger.warning("%s; trying again in %.1f s", problem, pause)
    time.sleep(pause)


def _patiently(ask: Callable[[], T], seconds: float) -> T:
    patience = Patience(seconds)
    while True:
        try:
            return ask()
        except ReplayError as problem:
            _wait(patience, problem)


@dataclass(frozen=True)
class SegmentSize:
    """How large a segment is: the rows with offsets in [first, end)."""

    first: int
    end: int
    bytes: int

    @property
    def rows(self) -> int:
        return self.end - self.first

    def bytes_between(self, start: int, end: int) -> int:
        rows = min(end, self.end) - max(start, self.first)
        return max(rows, 0) * self.bytes // self.rows


@dataclass(frozen=True)
class Replay:
    """One broker's archive as it is now: offsets from `earliest` to before `next`."""

    address: Address
    options: SourceOptions
    broker: str
    earliest: int
    next: int
    sealed: int = 0  # before this offset are sealed segments
    files: tuple[SegmentFile, ...] = ()  # of those that may be read past the broker
    sizes: tuple[SegmentSize, ...] = ()  # of all segments, where they were asked for

    def offset_of(self, position: Position) -> int:
        """The offset at the position, within what is there. Raises ValueError, SourceError."""
        if position.micros is not None:
            return max(self.earliest, min(self._locate(position.micros), self.next))
        if not position.offsets:
            return self.earliest if position.end == EARLIEST else self.next
        offsets = dict(position.offsets)
        if self.broker not in offsets:
            named = ", ".join(sorted(offsets))
            raise ValueError(f"there is an offset for {named}, but none for {self.broker}")
        if offsets[self.broker] > self.next:
            raise ValueError(
                f"offset {offsets[self.broker]} of {self.broker} is not there yet: "
                f"its next one is {self.next}"
            )
        return offsets[self.broker]

    def bytes_between(self, start: int, end: int) -> int:
        """What these offsets take in the archive, if the rows of a segment are of one size."""
        return sum(one.bytes_between(start, end) for one in self.sizes)

    def rows_in(self, start: int, end: int, most: int) -> int:
        """How many rows from `start` on take so many bytes; one at least, if there is one."""
        for one in self.sizes:
            taken = one.bytes_between(start, end)
            if taken > most:
                rows = most * one.rows // one.bytes
                return max(max(start, one.first) + rows, start + 1) - start
            most -= taken
        return end - start

    def _locate(self, micros: int) -> int:
        ask = partial(locate, self.address, self.options.credentials, micros)
        return _patiently(ask, self.options.retry_seconds)


def find_replays(
    options: SourceOptions, *, files: bool = False, sizes: bool = False
) -> dict[str, Replay]:
    """By the brokers' names, with their files and the sizes of segments if they are wanted. Raises
    SourceError."""
    files = files and options.files != NEVER
    found: dict[str, Replay] = {}
    for address in options.addresses:
        ask = partial(describe, address, options.credentials, segments=files or sizes, files=files)
        told = _patiently(ask, options.retry_seconds)
        name = str(told["broker"])
        if name in found:
            raise SourceError(
                f"{found[name].address} and {address} both call themselves {name!r}: give each "
                "broker a name of its own in [archive]"
            )
        found[name] = Replay(
            address,
            options,
            name,
            int(told["earliest"]),
            int(told["next"]),
            int(told.get("sealed", 0)),
            files_told(told, options.files),
            tuple(map(_size_told, told["segments"])) if sizes else (),
        )
    return found


def _size_told(segment: Mapping[str, Any]) -> SegmentSize:
    return SegmentSize(int(segment["first"]), int(segment["last"]) + 1, int(segment["bytes"]))


@dataclass
class OffsetRange(InputPartition):
    """What one task reads: rows with offsets in [start, end) on topics of the filters; from a file
    that has them all, if it can be reached."""

    address: Address
    start: int
    end: int
    filters: tuple[str, ...]
    start_time: int | None = None
    end_time: int | None = None
    file: SegmentFile | None = None


def cut(whole: OffsetRange, rows: int, files: Iterable[SegmentFile] = ()) -> Iterator[OffsetRange]:
    """Into ranges of so many offsets, and those of files where row groups begin."""
    at = whole.start
    for file in files:
        if file.end <= at or file.first >= whole.end:
            continue
        yield from _cut_evenly(whole, at, file.first, rows)
        for start, end in file.pieces(rows):
            start, end = max(start, at), min(end, whole.end)
            if start < end:
                yield replace(whole, start=start, end=end, file=file)
        at = min(file.end, whole.end)
    yield from _cut_evenly(whole, at, whole.end, rows)


def _cut_evenly(whole: OffsetRange, at: int, end: int, rows: int) -> Iterator[OffsetRange]:
    for start in range(at, end, rows):
        yield replace(whole, start=start, end=min(start + rows, end))


def rows_of(part: InputPartition | None, options: SourceOptions) -> Iterator[pa.RecordBatch]:
    """Runs on the executors. Where there is no range at all, Spark asks for None."""
    if not isinstance(part, OffsetRange):
        return iter(())
    columns = asked = options.columns
    if options.rules and columns is not None:
        asked = tuple(projection([*columns, *LOOKED_AT]).names)
    rows = _rows_of_file(part, asked, options)
    if rows is None:
        times = part.start_time, part.end_time
        request = Request(part.filters, part.start, part.end, *times, asked)
        rows = read_range(part.address, request, options)
    if options.rules:
        rows = RowFilter(options.rules).passing(rows)
    return rows if asked == columns else (batch.select(list(columns or ())) for batch in rows)


def _rows_of_file(
    part: OffsetRange, columns: tuple[str, ...] | None, options: SourceOptions
) -> Iterator[pa.RecordBatch] | None:
    """Decoded here. None if it cannot be reached, or not any more: then the broker has the rows,
    or says that they are gone. Where only a part of a file is wanted that is not here, the broker
    picks it."""
    if part.file is None:
        return None
    segment = part.file.find()
    is_whole = columns is None and part.filters == EVERYTHING and part.start_time is None
    if segment is None and is_whole and part.end_time is None:
        with suppress(ReplayError):
            segment = _fetched(part, part.file, options)
    if segment is None:
        return None
    return segment.read(
        Selection(
            part.filters,
            part.start,
            part.end,
            part.start_time or 0,
            part.end_time or FOREVER,
            projection(None if columns is None else list(columns)),
        )
    )


def _fetched(part: OffsetRange, file: SegmentFile, options: SourceOptions) -> SealedSegment:
    """With the row groups that the part needs."""
    there = fetch(part.address, options.credentials, file.first, part.start, part.end)
    return SealedSegment(FetchedFiles(*there), file.name, file.first, file.end - 1, file.size)


def read_range(
    address: Address, request: Request, options: SourceOptions
) -> Iterator[pa.RecordBatch]:
    """The rows, each once. Raises SourceError."""
    columns = request.columns
    if columns is not None and "offset" not in columns:
        request = replace(request, columns=[*columns, "offset"])
    patience = Patience(options.retry_seconds)
    while True:
        try:
            for batch in read(address, options.credentials, request):
                last: int = batch.column("offset")[-1].as_py()
                yield batch if columns is None else batch.select(list(columns))
                request = replace(request, start=last + 1)
                patience.reset()
            return
        except OffsetsLost as problem:
            if options.on_data_loss == FAIL:
                raise SourceError(
                    f"{address}: {problem}; the earliest is {problem.earliest}. Start there, or "
                    "set onDataLoss to warn to go on without them"
                ) from problem
            logger.warning("%s: %s; going on without them", address, problem)
            if problem.start > request.start:
                yield from read_range(address, replace(request, end=problem.start), options)
            if request.end is None or problem.end >= request.end:
                return
            request = replace(request, start=problem.end)
        except ReplayError as problem:
            _wait(patience, problem)
