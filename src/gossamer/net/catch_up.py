"""Reads the archive for operators that begin late, on a thread of its own: one after the other, and
no more rows for each than the configuration allows.
"""

from __future__ import annotations

import logging
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from gossamer.archive.collector import MICROSECONDS
from gossamer.archive.folder import ArchiveError, RowsLost
from gossamer.archive.schema import projection
from gossamer.archive.selection import Selection
from gossamer.broker.catch_up import CatchUpPort, CatchUpRequest
from gossamer.broker.loop_turns import ARCHIVE, MeasuredTurn

if TYPE_CHECKING:
    from gossamer.archive.archive import Archive
    from gossamer.net.server import Server

logger = logging.getLogger(__name__)

COLUMNS: Final = ["time", "topic", "payload", "content_type", "expiry", "user_properties"]
# So long an operator waits for what was published before it to be on disk.
DISK_SECONDS: Final = 60.0
_LOOK_SECONDS: Final = 0.25
# Rows after which the thread lets others have the processor.
_SLICE: Final = 200


class _GivenUp(Exception):
    """Why not all can be had."""


class CatchUps(CatchUpPort):
    """Started on the event loop, and answered there."""

    def __init__(self, server: Server, archive: Archive, most_rows: int) -> None:
        super().__init__()
        self._server = server
        self._archive = archive
        self._most_rows = most_rows
        self._stopping = threading.Event()
        self._thread = ThreadPoolExecutor(1, "gossamer-catch-up")

    def start(self, request: CatchUpRequest) -> None:
        self._thread.submit(self._run, request)

    def stop(self) -> None:
        """What is being read is not answered any more."""
        self._stopping.set()
        self._thread.shutdown(cancel_futures=True)

    def _run(self, request: CatchUpRequest) -> None:
        try:
            self._read(request)
        except _GivenUp as error:
            request.trouble = str(error)
        except (ArchiveError, OSError, pa.ArrowException) as error:
            request.trouble = f"the archive cannot be read: {error}"
        except Exception as error:
            logger.exception("reading for %s failed", request.state.key)
            request.trouble = f"it failed: {error!r}"
        loop = self._server.loop
        if not self._stopping.is_set() and not loop.is_closed():
            loop.call_soon_threadsafe(self._answer, request)

    def _answer(self, request: CatchUpRequest) -> None:
        server = self._server
        with MeasuredTurn(server.host.turns, ARCHIVE, "an operator has caught up"):
            now = server.clock.now()
            server.broker.caught_up(request, now)
            server.host.after_chunk(now)

    def _read(self, request: CatchUpRequest) -> None:
        end = self._end_of(request)
        reader = self._archive.reader
        start_time = max(0, int(request.start * MICROSECONDS))
        end_time = int(request.end * MICROSECONDS)
        start = min(reader.locate(start_time), end)
        self._refuse_what_is_gone(start_time)
        selection = Selection(request.reads, start, end, start_time, end_time, projection(COLUMNS))
        try:
            for batch in reader.read(selection):
                self._take(request, batch)
        except RowsLost as error:
            raise _GivenUp(f"offsets {error.start} to {error.end} are not there any more") from None

    def _end_of(self, request: CatchUpRequest) -> int:
        """The offset at which it began, once all before it is on disk."""
        place = request.place
        deadline = time.monotonic() + DISK_SECONDS
        while place.offset < 0 or self._archive.next < place.offset:
            if self._stopping.is_set() or time.monotonic() > deadline:
                raise _GivenUp("what came last is not on disk")
            self._archive.wait(self._archive.next, _LOOK_SECONDS)
        return place.offset

    def _refuse_what_is_gone(self, start_time: int) -> None:
        first = self._archive.catalog.segments[0]
        times = first.times
        if first.first > 0 and (times is None or times[0] > start_time):
            raise _GivenUp("the archive does not reach back so far")

    def _take(self, request: CatchUpRequest, batch: pa.RecordBatch) -> None:
        past = request.past
        columns: list[list[Any]] = [
            batch.column("time").cast(pa.int64()).to_pylist(),
            *(batch.column(name).to_pylist() for name in COLUMNS[1:]),
        ]
        for at, row in enumerate(zip(*columns, strict=True)):
            micros, topic, payload, content_type, expiry, user = row
            if past.rows >= self._most_rows:
                raise _GivenUp(f"it has more than {self._most_rows} rows (plus.catch_up_rows)")
            past.take(topic, payload, micros / MICROSECONDS, expiry, content_type, user or [])
            if at % _SLICE == 0:
                if self._stopping.is_set():
                    raise _GivenUp("the broker is stopping")
                time.sleep(0)
