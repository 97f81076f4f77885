"""Answers one request of a reader, on a thread of its own: rows go straight into its socket.

A socket that takes no more stops the reading: that is all the back-pressure there is.
"""

import io
import select
import socket
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc

from gossamer.archive.archive import Archive
from gossamer.archive.folder import ArchiveError, RowsLost
from gossamer.archive.replay_protocol import ACCEPTED, BAD, DENIED, FAILED, LOST, frame
from gossamer.archive.schema import SCHEMA, UnknownColumns, projection
from gossamer.archive.sealed_segment import SealedSegment
from gossamer.archive.segment_bytes import extents, pieces
from gossamer.archive.segment_files import shown_place
from gossamer.archive.selection import FOREVER, Allows, Selection
from gossamer.topics.names import TopicError, check_filter

# The columns that say where a publisher was.
LOCATION: Final = ("lat", "lon", "glp")
MayLocate = Callable[[str], bool]

# How often a reader that waits for rows looks whether it is still wanted.
WAIT_SECONDS: Final = 0.5
# A reader that waits gets an empty batch so often: it sees that the broker lives, and the broker
# that the reader does.
HEARTBEAT_SECONDS: Final = 10.0
# The largest piece of a record batch to send: what a client has to hold at a time.
MOST_ROWS: Final = 65_536
# What a reader must take within the time that its connection has: one that takes less holds its
# place for nothing. A reader that waits for its own disk for minutes is still served.
PIECE_BYTES: Final = 1 << 18


class BadRequest(Exception):
    """The request cannot be answered; `code` says in which way."""

    def __init__(self, text: str, code: str = BAD) -> None:
        super().__init__(text)
        self.code = code


class PositionGuard:
    """Positions that a reader may not see are null for it, as subscribers get messages without
    them. For batches of one schema. Who published decides: where that is not known, nobody sees."""

    def __init__(self, schema: pa.Schema, may_locate: MayLocate | None) -> None:
        self.schema = schema
        self.hidden = [name for name in LOCATION if name in schema.names] if may_locate else []
        self._may_locate = may_locate
        self._known: dict[str | None, bool] = {None: False}

    def needed(self) -> pa.Schema:
        """What has to be read."""
        if not self.hidden or "user" in self.schema.names:
            return self.schema
        return self.schema.append(SCHEMA.field("user"))

    def shown(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """What may be sent."""
        if not self.hidden:
            return batch
        users = batch.column("user").dictionary_encode()
        visible = pc.take(
            pa.array([self._sees(user) for user in users.dictionary.to_pylist()], pa.bool_()),
            users.indices,
        ).fill_null(False)
        columns = [
            pc.if_else(visible, batch.column(field.name), pa.scalar(None, field.type))
            if field.name in self.hidden
            else batch.column(field.name)
            for field in self.schema
        ]
        return pa.RecordBatch.from_arrays(columns, schema=self.schema)

    def _sees(self, user: str | None) -> bool:
        known = self._known.get(user)
        if known is None:
            assert user is not None
            known = self._may_locate is None or self._may_locate(user)
            self._known[user] = known
        return known


@dataclass(frozen=True)
class Reading:
    """A request for rows, checked."""

    selection: Selection
    guard: PositionGuard
    tail: bool
    max_rows: int | None


class Rights:
    """What one reader may see. The base may see everything for ever."""

    def may_subscribe(self, filter: str) -> bool:
        return True

    def allows(self) -> Allows | None:
        """Which topics it may see, if not all that it may subscribe to."""
        return None

    def may_locate(self) -> MayLocate | None:
        """Whose positions it may see, if not everybody's."""
        return None

    def may_read_everything(self) -> bool:
        """Whether no row of the archive, and nothing in it, is kept from it."""
        return True

    def hold(self) -> bool:
        """False once other rules are in force."""
        return True


class ReplayAnswer:
    """One archive for one reader."""

    def __init__(self, archive: Archive, rights: Rights, stopping: threading.Event) -> None:
        self._archive = archive
        self._rights = rights
        self._reader = archive.reader
        self._stopping = stopping

    def describe(self, request: dict[str, Any]) -> dict[str, Any]:
        """With the files of segments for those who ask, and may read all that is in them."""
        has_files = request.get("files") is True and self._rights.may_read_everything()
        has_segments = request.get("segments") is not False
        found = self._reader.describe(segments=has_segments, files=has_files)
        if has_files:
            found["files"] = shown_place(self._archive.settings.sealed)
        return {**ACCEPTED, **found}

    def locate(self, request: dict[str, Any]) -> dict[str, Any]:
        time = _number(request, "time", None)
        if time is None:
            raise BadRequest("locate needs a time in microseconds")
        return {**ACCEPTED, "offset": self._reader.locate(time)}

    def send_segment(self, request: dict[str, Any], connection: socket.socket) -> None:
        """Row groups of a sealed segment as they lie in its file."""
        if not self._rights.may_read_everything():
            raise BadRequest("files are for those who may read everything", DENIED)
        first, start = _number(request, "first", None), _number(request, "start", 0)
        end = _number(request, "end", FOREVER)
        found = None if first is None else self._reader.catalog.at(first)
        if not isinstance(found, SealedSegment) or found.first != first:
            raise BadRequest(f"no sealed segment begins with offset {first}")
        assert start is not None
        assert end is not None
        parts = extents(found, start, end)
        connection.sendall(frame({**ACCEPTED, "size": found.size, "parts": parts}))
        for piece in pieces(found, parts):
            self._check_going_on()
            _send_all(connection, piece)

    def reading(self, request: dict[str, Any]) -> Reading:
        """BadRequest for what nobody can answer, RowsLost for what is gone."""
        filters = _filters(request)
        for filter in filters:
            if not self._rights.may_subscribe(filter):
                raise BadRequest(f"you may not read {filter!r}", DENIED)
        columns = request.get("columns")
        if columns is not None and not _is_texts(columns):
            raise BadRequest("columns must be a list of names")
        try:
            guard = PositionGuard(projection(columns), self._rights.may_locate())
        except UnknownColumns as error:
            raise BadRequest(str(error)) from None
        tail = request.get("tail") is True
        start = _number(request, "start", 0)
        end = _number(request, "end", None)
        assert start is not None
        if end is not None and end < start:
            raise BadRequest(f"the end {end} is before the start {start}")
        next_offset = self._archive.next
        if end is None:
            end = FOREVER if tail else max(start, next_offset)
        if start > next_offset or (end > next_offset and not tail):
            raise BadRequest(f"[{start}, {end}) is not there yet: the next offset is {next_offset}")
        self._reader.check(start, min(end, next_offset))
        selection = Selection(
            filters,
            start,
            end,
            _number(request, "start_time", 0) or 0,
            _number(request, "end_time", None) or FOREVER,
            guard.needed(),
            self._rights.allows(),
        )
        return Reading(selection, guard, tail, _number(request, "max_rows", None))

    def send(self, reading: Reading, connection: socket.socket) -> None:
        """The status, the rows, and whether they are complete."""
        connection.sendall(frame(dict(ACCEPTED)))
        end: dict[str, Any] = dict(ACCEPTED)
        out = pa.PythonFile(_Outlet(connection), "w")
        with pa.ipc.new_stream(out, reading.guard.schema) as stream:
            try:
                for batch in limited(self._rows(reading, connection), reading.max_rows):
                    for start in range(0, max(1, batch.num_rows), MOST_ROWS):
                        stream.write_batch(batch.slice(start, MOST_ROWS))
            except RowsLost as error:
                end = self.lost(error)
            except (ArchiveError, FileNotFoundError, pa.ArrowException) as error:
                end = {"ok": False, "code": FAILED, "error": str(error)}
        connection.sendall(frame(end))

    def lost(self, error: RowsLost) -> dict[str, Any]:
        return {
            "ok": False,
            "code": LOST,
            "error": str(error),
            "start": error.start,
            "end": error.end,
            "earliest": self._archive.catalog.earliest,
        }

    def _rows(self, reading: Reading, connection: socket.socket) -> Iterator[pa.RecordBatch]:
        selection = reading.selection
        position = selection.start
        heard = time.monotonic()
        while position < selection.end:
            end = min(selection.end, self._archive.next)
            if position < end:
                for batch in self._reader.read(selection.between(position, end)):
                    self._check_going_on()
                    yield reading.guard.shown(batch)
                position = end
                continue
            self._check_going_on()
            self._archive.wait(position, WAIT_SECONDS)
            if _is_gone(connection):
                return
            if time.monotonic() - heard > HEARTBEAT_SECONDS:
                heard = time.monotonic()
                yield pa.RecordBatch.from_pylist([], reading.guard.schema)

    def _check_going_on(self) -> None:
        if self._stopping.is_set():
            raise ArchiveError("the broker is stopping")
        if not self._rights.hold():
            raise ArchiveError("permissions have changed: send the request again")


class _Outlet(io.RawIOBase):
    """A socket that takes whatever is written, however long that lasts."""

    def __init__(self, connection: socket.socket) -> None:
        super().__init__()
        self._connection = connection

    def writable(self) -> bool:
        return True

    def write(self, data: Any) -> int:
        return _send_all(self._connection, data)


def _send_all(connection: socket.socket, data: Any) -> int:
    view = memoryview(data).cast("B")
    for start in range(0, len(view), PIECE_BYTES):
        connection.sendall(view[start : start + PIECE_BYTES])
    return len(view)


def _is_gone(connection: socket.socket) -> bool:
    """A client has nothing to say after its request: what can be read is the end.

    By `poll`, since `select` knows no descriptors above 1,023, and a broker has more clients.
    """
    poll = select.poll()
    poll.register(connection, select.POLLIN)
    return bool(poll.poll(0))


def limited(batches: Iterable[pa.RecordBatch], most: int | None) -> Iterator[pa.RecordBatch]:
    """The first `most` rows."""
    left = FOREVER if most is None else most
    if not left:
        return
    for batch in batches:
        yield batch.slice(0, left)
        left -= min(left, batch.num_rows)
        if not left:
            return


def _filters(request: dict[str, Any]) -> list[str]:
    asked = request.get("filter", "#")
    filters = [asked] if isinstance(asked, str) else asked
    if not _is_texts(filters) or not filters:
        raise BadRequest("filter is a topic filter or a list of them")
    for filter in filters:
        try:
            check_filter(filter)
        except TopicError as error:
            raise BadRequest(f"{filter!r}: {error}") from None
    return list(filters)


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _number(request: dict[str, Any], key: str, default: int | None) -> int | None:
    value: object = request.get(key)
    if value is None:
        return default
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value <= FOREVER:
        raise BadRequest(f"{key} is a number that is not below 0")
    return value
