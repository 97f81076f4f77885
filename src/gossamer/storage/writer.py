"""The thread that makes batches last: one transaction each, in order, one at a time.

A batch that cannot be written (the disk is full, the disk fails) stays and is tried again; what
follows it joins it, so that deletions can make the room that it needs.
"""

import logging
import sqlite3
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from gossamer.session.journal import Written
from gossamer.storage.archive.errors import ArchiveFull
from gossamer.storage.batch import Batch
from gossamer.storage.schema import (
    DROP_SPILL,
    PUT_POSITION,
    chunks,
    delete_statement,
    put_statement,
)

if TYPE_CHECKING:
    from gossamer.storage.archive.archive import Archive

logger = logging.getLogger("gossamer.storage")

# Between two tries at a batch that the disk did not take.
RETRY_SECONDS: Final = 0.5

# Size of the write-ahead log from which its pages are copied to the main file, after the batch was
# reported: rarely enough that a page changed often is copied once.
CHECKPOINT_BYTES: Final = 16 * 1024 * 1024


# What a disk raises that takes nothing now and may take it later.
NO_ROOM: Final = (sqlite3.OperationalError, ArchiveFull)


def write(connection: sqlite3.Connection, batch: Batch, position: int | None = None) -> None:
    """Run one batch as one transaction, with the archive's next offset if it shares it; on an
    error nothing of it is done."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        for table, keys in batch.deletes():
            start = 0
            for size in chunks(len(keys)):
                connection.execute(delete_statement(table, size), keys[start : start + size])
                start += size
        for session in batch.dropped_spills:
            connection.execute(DROP_SPILL, (session,))
        for table, rows in batch.puts():
            start = 0
            for size in chunks(len(rows)):
                values = [value for row in rows[start : start + size] for value in row]
                connection.execute(put_statement(table, size), values)
                start += size
        if position is not None:
            connection.execute(PUT_POSITION, (position,))
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


class Target(Protocol):
    """Where batches go."""

    def write(self, batch: Batch) -> None:
        """Makes it last, whole or not at all."""

    def tidy(self) -> None:
        """After a batch was reported."""


class SqliteTarget:
    """A database, and the archive that shares its transactions if there is one."""

    def __init__(self, connection: sqlite3.Connection, log: Path) -> None:
        self._connection = connection
        self._log = log
        self.archive: Archive | None = None

    def write(self, batch: Batch) -> None:
        if self.archive is None:
            write(self._connection, batch)
            return
        is_joint = len(batch) > 0
        with self.archive.transaction(batch.blocks, is_joint=is_joint) as position:
            if is_joint:
                write(self._connection, batch, position)

    def tidy(self) -> None:
        try:
            if self._log.stat().st_size > CHECKPOINT_BYTES:
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except (OSError, sqlite3.Error) as error:
            logger.warning("the log of the store stays long for now (%s)", error)


class Writer:
    """Takes a batch when idle; calls `committed`, on its own thread, when it is safe.

    `room` is called with False when the disk stops taking batches and with True when it takes them
    again; `failed` when the file turns out to be damaged, which ends the writer.
    """

    def __init__(
        self,
        target: Target,
        committed: Callable[[int], None],
        room: Callable[[bool], None],
        failed: Callable[[Exception], None],
        written: Written,
    ) -> None:
        self._target = target
        self._written = written
        self._committed = committed
        self._room = room
        self._failed = failed
        self._changed = threading.Condition()
        self._pending: Batch | None = None  # handed over, and not being written at this moment
        self._writing = False
        self._waiting = False  # for room on the disk
        self._retrying = False  # the last try found no room
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="gossamer-store", daemon=True)
        self._thread.start()

    @property
    def takes(self) -> bool:
        """Whether a batch can be handed over now."""
        return (self._pending is None and not self._writing) or self._waiting

    def hand_over(self, batch: Batch) -> None:
        with self._changed:
            if self._pending is not None:
                self._pending.absorb(batch)
            else:
                self._pending = batch
                self._changed.notify()

    def stop(self) -> bool:
        """Write what was handed over and end; whether it could be written."""
        with self._changed:
            self._stopping = True
            self._changed.notify()
        self._thread.join()
        return self._pending is None

    def _run(self) -> None:
        while True:
            with self._changed:
                while self._pending is None and not self._stopping:
                    self._changed.wait()
                batch = self._pending
                if batch is None:
                    return
                self._pending = None
                self._writing = True
                self._waiting = False
            began = time.monotonic_ns()
            try:
                self._target.write(batch)
            except NO_ROOM as error:
                if not self._wait_for_room(batch, error):
                    return
                continue
            except Exception as error:  # what cannot write must not go on promising
                self._failed(error)
                return
            self._written.microseconds += (time.monotonic_ns() - began) // 1_000
            self._done(batch)

    def _done(self, batch: Batch) -> None:
        self._written.commits += 1
        self._written.rows += len(batch)
        with self._changed:
            self._writing = False
            self._retrying = False
        self._committed(batch.number)
        self._room(True)
        self._target.tidy()

    def _wait_for_room(self, batch: Batch, error: Exception) -> bool:
        """Keep the batch for another try; False when there will be none."""
        with self._changed:
            is_first = not self._retrying
            self._retrying = True
        if is_first:
            logger.error("the store cannot be written (%s): trying until it can", error)
            self._room(False)
        with self._changed:
            self._pending = batch
            self._writing = False
            self._waiting = True
            if self._stopping:
                return False
            self._changed.wait(RETRY_SECONDS)
        return True
