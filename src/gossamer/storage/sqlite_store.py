"""The store of a running broker: loads at start, then commits what its journal collected.

The shell calls `end_turn` once in every turn of its event loop. While one batch is being written
the next collects, so a slow disk makes batches larger, not the queue longer.
"""

import logging
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, Literal

from gossamer.plus.state import SAVED_VERSION, saved_version
from gossamer.session.records import DeliveryRecord, Snapshot
from gossamer.storage.backup import Backup, Progress, back_up
from gossamer.storage.files import (
    DAMAGE,
    FILE_NAME,
    StoreDamaged,
    StoreError,
    ValuesTooNew,
    companions,
    open_store,
)
from gossamer.storage.index import Index, LaneIndex
from gossamer.storage.journal import CollectingJournal
from gossamer.storage.lane_reader import lane_records, set_aside
from gossamer.storage.load import Loaded
from gossamer.storage.rows import Row, UnreadableRow
from gossamer.storage.schema import (
    CREATE_POSITION,
    DELIVERY,
    DELIVERY_KEYS,
    LANE,
    MESSAGE,
    PLACES,
    PUT_POSITION,
    READ_POSITION,
    RETAINED,
    TABLES,
    WILLS,
    Table,
    last_key_statement,
)
from gossamer.storage.unread import DeliveryKeys, UnreadRows
from gossamer.storage.writer import Participant, SqliteTarget, Writer

logger = logging.getLogger("gossamer.storage")

Sync = Literal["full", "normal", "off"]

# full: an acknowledgement means that the disk has it; it survives a power cut.
# normal: it means that the operating system has it; it survives a crash of the broker.
# off: it means nothing yet; a crash loses what was acknowledged in the last moments.
SYNC_MODES: Final[dict[Sync, str]] = {"full": "FULL", "normal": "NORMAL", "off": "OFF"}

# Of a queue, what is read back at once.
READ_MESSAGES: Final = 2_000
READ_BYTES: Final = 2 << 20

# The names of what waits for one session that are read at the start, and how long that may take.
MOST_NAMES: Final = 65_536
NAMES_SECONDS: Final = 10.0

# The part of the free disk that what waits may take, unless the configuration names another, and
# how often it is looked at.
QUEUE_SHARE: Final = 0.5
MEASURE_SECONDS: Final = 1.0

# Kept in memory of the file's pages (negative: KiB). Tables are read and cut at the front and grow
# at the end, so that more would only hold what is not needed again.
_PAGE_CACHE: Final = -2 * 1024


# Of these the snapshot has next to nothing: `unread.py` reads them.
_LATER: Final = (MESSAGE, DELIVERY, RETAINED)


def _ignore_reading() -> None: ...


class SqliteJournal(CollectingJournal):
    """Has what was spilled read back on the writer's thread, by its connection: the file is locked
    for that one, and the event loop must not wait for a disk."""

    def __init__(self, index: Index, connection: sqlite3.Connection, target: SqliteTarget) -> None:
        super().__init__(index)
        self.was_read: Callable[[], None] = _ignore_reading  # called on the writer's thread
        self._connection = connection
        # By lane; the writer's thread puts them here.
        self._answers: dict[int, list[DeliveryRecord]] = {}
        self._asked: dict[int, int] = {}  # by lane: behind which place
        self.writer = Writer(target, self)

    def read_lane(self, lane: LaneIndex) -> list[DeliveryRecord]:
        key = lane.key
        records = self._answers.pop(key, None)
        # What was asked for before the lane was to be read again is not what comes next.
        if records is not None and self._asked.pop(key) == lane.read:
            return records
        if key not in self._asked:
            self._asked[key] = lane.read
            after, before = lane.read, lane.next

            def read() -> None:
                self._answers[key] = self._read(key, after, before)
                self.was_read()

            self.writer.ask(read)
        return []

    def read_names(self, lane: LaneIndex) -> list[bytes]:
        """Waits for the writer's thread, which has nothing to do before the first turn."""
        first = lane.key * PLACES
        bounds = (first + lane.read, first + PLACES, MOST_NAMES)
        found: list[bytes] = []
        is_read = threading.Event()

        def read() -> None:
            for record in lane_records(self._connection, *bounds):
                message = record.message
                if message is not None and not message.retain:
                    found.append(message.name)
            is_read.set()

        self.writer.ask(read)
        is_read.wait(NAMES_SECONDS)
        return found

    def _read(self, lane: int, after: int, before: int) -> list[DeliveryRecord]:
        """On the writer's thread: the next deliveries of a lane, as many as make a good piece."""
        first = lane * PLACES
        bounds = (first + after, first + before, READ_MESSAGES)
        records: list[DeliveryRecord] = []
        size = 0
        for record in lane_records(self._connection, *bounds):
            records.append(record)
            size += record.size
            if size >= READ_BYTES:
                break
        damaged = [first + record.place for record in records if record.message is None]
        if damaged:
            set_aside(self._connection, damaged)
        return records


def _written_at(path: Path) -> float:
    """When the files of the store were last changed; 0.0 if there are none."""
    found = [one.stat().st_mtime for one in (path, *companions(path)) if one.exists()]
    return max(found, default=0.0)


class SqliteStore:
    """One broker's store. `journal` is for the core, `snapshot` is what the core starts from."""

    def __init__(self, folder: Path, sync: Sync = "full", in_background: bool = False) -> None:
        """Open and read the store in `folder`, or raise a `StoreError` that says what to do.

        With `in_background` the snapshot has neither retained messages nor deliveries: they are
        read from `start` on (`Journal.unread`), and what is wrong with them comes as a failure.
        """
        self.path = folder / FILE_NAME
        self._committed: Callable[[int], None] = lambda batch: None
        self.written_at = _written_at(self.path)
        self.queue_share = QUEUE_SHARE  # of the free disk, for what waits
        self._measured_at = 0.0  # on the monotonic clock
        self._connection = open_store(self.path)
        try:
            self._connection.execute(f"PRAGMA synchronous = {SYNC_MODES[sync]}")
            self._connection.execute(f"PRAGMA cache_size = {_PAGE_CACHE}")
            self._connection.execute("PRAGMA wal_autocheckpoint = 0")  # the writer's work
            # Some builds of SQLite write zeros over all that is deleted, through the log: then a
            # deletion needs as much room as it frees.
            self._connection.execute("PRAGMA secure_delete = FAST")
            loaded, keys = _load(self._connection, self.path)
            log = companions(self.path)[0]
            self._target = SqliteTarget(self._connection, self.path, log)
            _find_ended(self._target, loaded.index, self.path)
        except BaseException:
            self._connection.close()
            raise
        self.snapshot: Snapshot = loaded.snapshot
        self.journal = SqliteJournal(loaded.index, self._connection, self._target)
        self.journal.durable = sync != "off"
        self._writer = self.journal.writer
        self._unread = UnreadRows(loaded, keys, self.journal, self.path)
        self.journal.unread = self._unread
        if loaded.problems:
            self.close()
            raise StoreDamaged(self.path, loaded.problems)
        if not in_background:
            self._read_all()

    def _read_all(self) -> None:
        try:
            found = self._unread.read_all(self._connection)
        except DAMAGE as error:
            found = [str(error)]
        if found:
            self.close()
            raise StoreDamaged(self.path, found)

    def position(self) -> int | None:
        """The offset that was next for whoever shares the transactions, after the last of them."""
        self._connection.execute(CREATE_POSITION)
        found = self._connection.execute(READ_POSITION).fetchone()
        return None if found is None else int(found[0])

    def join(self, participant: Participant) -> None:
        """Before the first turn: from then on it shares the store's transactions, and is closed
        with the store."""
        self._connection.execute(PUT_POSITION, (participant.next,))
        self._target.participant = participant
        self.journal.take_joint = participant.take

    def start(
        self,
        committed: Callable[[int], None],
        failed: Callable[[StoreError], None],
        was_read: Callable[[], None] = _ignore_reading,
    ) -> None:
        """Name the callbacks; all are called on the writer's thread.

        `committed` gets the number of the last batch that is safe. The shell passes it to the core
        on the loop's thread and then calls `end_turn`. After `failed` nothing is written any more.
        `was_read`: something that was spilled can be taken back; the shell tells the core so.
        """
        self._committed = committed
        self.journal.was_read = was_read
        self._writer.start(self._was_committed, failed)
        if self._unread.has_more:
            self._unread.begin(self._connection, self._writer, was_read, failed)

    def end_turn(self) -> None:
        """Have written what this turn changed, unless a batch is being written right now."""
        if self.journal.dirty:
            self._writer.end_turn()

    def back_up(self, folder: Path, progress: Progress) -> Backup:
        """A copy of everything in a folder that is not there yet; BackupError if there is none.

        It waits, so not on the event loop: batches are written and promises kept meanwhile.
        """
        return back_up(folder, self._connection, self._writer, self._target.participant, progress)

    def close(self) -> None:
        """Write everything that is left and let go of the file."""
        self._writer.stop()
        self._connection.close()
        if self._target.participant is not None:
            self._target.participant.close()

    def _was_committed(self, batch: int) -> None:
        now = time.monotonic()
        if now - self._measured_at >= MEASURE_SECONDS:
            self._measured_at = now
            self._measure()
        self._committed(batch)

    def _measure(self) -> None:
        """What waits may take a share of the disk: of what is free now, and what it has already."""
        try:
            free = shutil.disk_usage(self.path.parent).free
        except OSError as error:
            logger.warning("the free space beside %s is not known (%s)", self.path, error)
            return
        self.journal.spill_limit = int(self.queue_share * (free + self.journal.spilled_bytes))


def _load(connection: sqlite3.Connection, path: Path) -> tuple[Loaded, DeliveryKeys]:
    """What a broker needs before it serves anybody, and where the rest of it is."""
    keys = DeliveryKeys()
    try:
        rows: dict[Table, Iterable[Row]] = {
            table: connection.execute(table.select) for table in TABLES if table not in _LATER
        }
        rows |= {table: () for table in _LATER}
        rows[MESSAGE] = connection.execute(WILLS)
        loaded = Loaded(rows)
        for row in connection.execute(DELIVERY_KEYS):
            try:
                keys.add(row)
            except UnreadableRow as problem:
                loaded.problems.append(f"{DELIVERY.name} {row[0]} is unreadable: {problem}")
        for table in _LATER:
            (last,) = connection.execute(last_key_statement(table)).fetchone()
            loaded.index.next[table] = (last or 0) + 1
    except DAMAGE as error:
        raise StoreDamaged(path, [str(error)]) from error
    newest = max((saved_version(data) for _, _, data in loaded.snapshot.operators), default=0)
    if newest > SAVED_VERSION:
        raise ValuesTooNew(path, "values of operators", newest, SAVED_VERSION)
    loaded.index.unread_before = loaded.index.next[MESSAGE]
    return loaded, keys


def _find_ended(target: SqliteTarget, index: Index, path: Path) -> None:
    """New lanes must not meet what is left of those that ended."""
    lanes = {each.lane.key for each in index.sessions.values() if each.lane is not None}
    try:
        last = target.find_ended(lanes)
    except DAMAGE as error:
        raise StoreDamaged(path, [str(error)]) from error
    index.next[LANE] = max(index.next[LANE], last + 1)
