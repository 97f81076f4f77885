"""The thread that makes batches last: one transaction each, in order, one at a time.

A batch that cannot be written (the disk is full, the disk fails) stays and is tried again; what
follows it joins it, so that deletions can make the room that it needs. Nothing that was handed over
is let go before it is written.

Here are the seams of a store too: `Store` is what a shell needs of one, `Participant` is whoever
shares its transactions.
"""

import logging
import sqlite3
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, Final, Protocol

from gossamer.session.journal import Written
from gossamer.storage.batch import Batch
from gossamer.storage.files import StoreDamaged, StoreError
from gossamer.storage.schema import (
    CLEAR_LANE,
    CUT_LANE,
    FIRST_WAITING,
    PLACES,
    PUT_POSITION,
    chunks,
    delete_statement,
    put_statement,
)

logger = logging.getLogger("gossamer.storage")

# Between two tries at a batch that the disk did not take.
RETRY_SECONDS: Final = 0.5

# Rows of a lane that ended which are deleted at a time: batches come between.
CLEARED_AT_ONCE: Final = 1_000

# Size of the write-ahead log from which its pages are copied to the main file, after the batch was
# reported: rarely enough that a page changed often is copied once.
CHECKPOINT_BYTES: Final = 16 * 1024 * 1024


class NoRoom(Exception):
    """Somebody who shares the store's transactions has no room on its disk; it may have later."""


# What a disk raises that takes nothing now and may take it later.
NO_ROOM: Final = (sqlite3.OperationalError, NoRoom)


class Store(Protocol):
    """What a shell needs of whatever makes its broker's promises last."""

    def start(
        self,
        committed: Callable[[int], None],
        failed: Callable[[StoreError], None],
        was_read: Callable[[], None],
    ) -> None:
        """Name the callbacks; all are called on the writer's thread."""

    def end_turn(self) -> None:
        """Have written what this turn changed, unless a batch is being written right now."""

    def close(self) -> None:
        """Write everything that is left."""


class Target(Protocol):
    """Where batches go."""

    name: str  # such as "the store /var/lib/…", for people

    def write(self, batch: Batch) -> None:
        """Makes it last, whole or not at all."""

    def tidy(self) -> bool:
        """After a batch was reported; whether something is left to do when there is time."""

    def failure(self, error: Exception) -> StoreError:
        """What ends the writer, as the shell is to hear of it."""


class Source(Protocol):
    """Where batches come from: a journal."""

    dirty: bool
    accepts: bool
    written: Written

    def take(self) -> Batch: ...


class Participant(Protocol):
    """Somebody else whose records belong to the store's transactions: both have one, or neither.

    The archive is one. Its offset as of the last transaction is kept with the store, so that both
    agree after a crash. All but `take` and `finish_copy` is called on the writer's thread.
    """

    @property
    def next(self) -> int:
        """The offset that it gives next."""

    def take(self) -> list[Any]:
        """On the core's thread, as a transaction ends: what is to be written with it."""

    def transaction(self, records: list[Any], *, is_joint: bool) -> AbstractContextManager[int]:
        """Writes them; the body commits the rest, with the next offset to remember. NoRoom if the
        disk takes nothing. `is_joint` says that there is a rest."""

    def begin_copy(self, folder: Path) -> None:
        """For a backup, at the moment for which it stands: what comes from now on is not in it."""

    def finish_copy(self, folder: Path) -> tuple[int, str]:
        """On any thread: copies what was there then. The number of its files, and where others
        are that are not copied, "" if all are."""

    def close(self) -> None: ...


def write(connection: sqlite3.Connection, batch: Batch, position: int | None = None) -> None:
    """Run one batch as one transaction, with the next offset of whoever shares it; on an
    error nothing of it is done."""
    connection.execute("BEGIN IMMEDIATE")
    try:
        for table, keys in batch.deletes():
            start = 0
            for size in chunks(len(keys)):
                connection.execute(delete_statement(table, size), keys[start : start + size])
                start += size
        for first, last in batch.cuts():
            connection.execute(CUT_LANE, (first, last))
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


class SqliteTarget:
    """A database, and whoever shares its transactions."""

    def __init__(self, connection: sqlite3.Connection, path: Path, log: Path) -> None:
        self.name = f"the store {path}"
        self._connection = connection
        self._path = path
        self._log = log
        self._ended: list[int] = []  # lanes of which rows may be left
        self.participant: Participant | None = None

    def find_ended(self, lanes: set[int]) -> int:
        """At the start: what waits without a lane is left over; the last lane that has any."""
        last = 0
        while True:
            (key,) = self._connection.execute(FIRST_WAITING, ((last + 1) * PLACES,)).fetchone()
            if key is None:
                return last
            last = key // PLACES
            if last not in lanes:
                self._ended.append(last)

    def write(self, batch: Batch) -> None:
        if self.participant is None:
            write(self._connection, batch)
        else:
            # Rows of the participant alone are its own business: one sync less.
            is_joint = len(batch) > 0
            with self.participant.transaction(batch.joint, is_joint=is_joint) as position:
                if is_joint:
                    write(self._connection, batch, position)
        self._ended += batch.waiting.ended

    def tidy(self) -> bool:
        try:
            if self._ended:
                lane = self._ended[0]
                bounds = (lane * PLACES, (lane + 1) * PLACES, CLEARED_AT_ONCE)
                if self._connection.execute(CLEAR_LANE, bounds).rowcount < CLEARED_AT_ONCE:
                    del self._ended[0]
            if self._log.stat().st_size > CHECKPOINT_BYTES:
                self._connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except (OSError, sqlite3.Error) as error:
            logger.warning("the store could not be checkpointed (%s); trying again later", error)
            return False
        return bool(self._ended)

    def failure(self, error: Exception) -> StoreError:
        return StoreDamaged(self._path, [str(error)])


def _ignore_commit(_batch: int) -> None: ...


def _ignore_failure(_error: StoreError) -> None: ...


class Writer:
    """Takes a batch of the journal when idle; reports, on its own thread, when it is safe.

    The journal hears when the disk stops taking batches and when it takes them again (`accepts`).

    What is asked of it with `ask` runs on the same thread between two batches, also while a full
    disk is waited out: the file is locked for this one connection, so whoever reads it reads here.
    """

    def __init__(self, target: Target, journal: Source) -> None:
        self._target = target
        self._journal = journal
        self._committed: Callable[[int], None] = _ignore_commit
        self._failed: Callable[[StoreError], None] = _ignore_failure
        self._changed = threading.Condition()
        self._pending: Batch | None = None  # handed over, and not being written at this moment
        self._questions: deque[Callable[[], None]] = deque()
        self._writing = False
        self._waiting = False  # for room on the disk
        self._retry_at = 0.0  # on the monotonic clock, while it waits
        self._retrying = False  # the last try found no room
        self._untidy = False  # the target has something to do when there is time
        self._stopping = False
        self._broken: Exception | None = None  # what ended it in the midst of a question
        self._thread = threading.Thread(target=self._run, name="gossamer-store", daemon=True)
        self._thread.start()

    def start(self, committed: Callable[[int], None], failed: Callable[[StoreError], None]) -> None:
        """Name the callbacks: `committed` gets the number of the last batch that is safe; after
        `failed` nothing is written any more."""
        self._committed = committed
        self._failed = failed

    def end_turn(self) -> None:
        """Have written what this turn changed, unless a batch is being written right now."""
        if not self._journal.dirty or not self.takes:
            return
        is_idle = not self._waiting
        batch = self._journal.take()
        if is_idle and not len(batch) and not batch.joint:
            self._committed(batch.number)  # all of it was gone again
        else:
            self.hand_over(batch)

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

    def ask(self, question: Callable[[], None]) -> None:
        """Have it run after what was handed over so far, or between two tries at it."""
        with self._changed:
            self._questions.append(question)
            self._changed.notify()

    def meanwhile(self) -> bool:
        """For a question that takes long, which calls it now and then: what has come since is done
        first. False if the writer is to end, and with it the question."""
        with self._changed:
            is_due = self._is_due()
            batch, questions = self._taken(is_due)
        try:
            if batch is not None and not self._write(batch):
                return False
            for question in questions:
                question()
        except Exception as error:  # of the writer, not of the question that waits for it
            self._broken = error
        return self._broken is None and not self._stopping

    @property
    def is_alive(self) -> bool:
        return self._thread.is_alive()

    def stop(self) -> None:
        """Write everything that is left, and end."""
        if self._journal.dirty:
            self.hand_over(self._journal.take())
        with self._changed:
            self._stopping = True
            self._changed.notify()
        self._thread.join()
        if self._pending is not None:
            logger.error("the last changes could not be written to %s", self._target.name)

    def _run(self) -> None:
        try:
            while True:
                batch, questions = self._next()
                if batch is not None and not self._write(batch):
                    return
                for question in questions:
                    question()
                if self._broken is not None:
                    raise self._broken
                if batch is None and not questions:
                    if self._stopping:
                        return
                    self._untidy = self._target.tidy()
        except Exception as error:  # what cannot write or read must not go on promising
            self._failed(self._target.failure(error))

    def _next(self) -> tuple[Batch | None, list[Callable[[], None]]]:
        """Waits for something to do; nothing at all means that it is time to tidy, or to end."""
        with self._changed:
            while True:
                is_due = self._is_due()
                is_idle = self._untidy and self._pending is None
                if is_due or is_idle or self._questions or self._stopping:
                    break
                self._changed.wait(self._seconds_left() if self._waiting else None)
            return self._taken(is_due)

    def _seconds_left(self) -> float:
        """Until a batch that the disk did not take is tried again."""
        return self._retry_at - time.monotonic() if self._waiting else 0.0

    def _is_due(self) -> bool:
        return self._pending is not None and (self._seconds_left() <= 0.0 or self._stopping)

    def _taken(self, is_due: bool) -> tuple[Batch | None, list[Callable[[], None]]]:
        questions = list(self._questions)
        self._questions.clear()
        batch = self._pending if is_due else None
        if batch is not None:
            self._pending = None
            self._writing = True
            self._waiting = False
        return batch, questions

    def _write(self, batch: Batch) -> bool:
        """False if it could not be written and there will be no other try."""
        began = time.monotonic_ns()
        try:
            self._target.write(batch)
        except NO_ROOM as error:
            return self._wait_for_room(batch, error)
        written = self._journal.written
        written.microseconds += (time.monotonic_ns() - began) // 1_000
        written.commits += 1
        written.rows += len(batch)
        with self._changed:
            self._writing = False
            self._retrying = False
        self._committed(batch.number)
        if not self._journal.accepts:
            logger.warning("%s can be written again", self._target.name)
        self._journal.accepts = True
        self._untidy = self._target.tidy()
        return True

    def _wait_for_room(self, batch: Batch, error: Exception) -> bool:
        """Keep the batch for another try; False when there will be none."""
        with self._changed:
            is_first = not self._retrying
            self._retrying = True
        if is_first:
            logger.error("%s cannot be written (%s): retrying", self._target.name, error)
            self._journal.accepts = False
        with self._changed:
            # `takes` was asked while this batch waited, so a later one may have come since.
            if self._pending is not None:
                batch.absorb(self._pending)
            self._pending = batch
            self._writing = False
            self._waiting = True
            self._retry_at = time.monotonic() + RETRY_SECONDS
            return not self._stopping
