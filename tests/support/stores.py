"""Stores of both kinds behind one small face, for tests that must hold for each."""

import queue
import shutil
import threading
from pathlib import Path

from gossamer.broker.broker import Broker
from gossamer.session.records import Snapshot
from gossamer.storage.journal import CollectingJournal
from gossamer.storage.memory_journal import MemoryJournal
from gossamer.storage.rows import Row, waiting_from
from gossamer.storage.schema import PLACES, TABLES, WAITING
from gossamer.storage.sqlite_store import SqliteStore, Sync

PATIENCE = 30.0  # seconds for something that takes milliseconds on an idle machine


def with_lanes(snapshot: Snapshot, journal: CollectingJournal, rows: list[Row]) -> Snapshot:
    """The snapshot with the deliveries that a store keeps to itself until they are asked for."""
    for stored in snapshot.sessions:
        lane = journal._index.sessions[stored.record.client_id].lane
        if lane is None:
            assert stored.spilled == 0
            continue
        found = [waiting_from(row) for row in rows if row[0] // PLACES == lane.key]
        # The rest was sent, or is in the snapshot because something follows it that has no lane.
        found = [record for record in found if record.place > lane.read]
        given = [record for record in stored.deliveries if record.place]
        found.sort(key=lambda record: record.place)
        assert stored.spilled == len(found) == lane.messages - len(given)
        assert stored.spilled_bytes == sum(record.size for record in found)
        assert all(record.number <= stored.last_number for record in found)
        stored.deliveries += found
        stored.deliveries.sort(key=lambda record: record.number)
    return snapshot


def whole(store: SqliteStore) -> Snapshot:
    """Everything in a store that was just opened."""
    rows: list[Row] = []
    is_read = threading.Event()

    def read() -> None:
        rows.extend(store._connection.execute(WAITING.select).fetchall())
        is_read.set()

    store._writer.ask(read)
    assert is_read.wait(PATIENCE)
    return with_lanes(store.snapshot, store.journal, rows)


class MemoryUnderTest:
    def __init__(self, folder: Path) -> None:
        self._journal = MemoryJournal()

    @property
    def journal(self) -> CollectingJournal:
        return self._journal

    def commit(self) -> None:
        self._journal.commit()

    def reopen(self) -> Snapshot:
        self._journal = self._journal.restarted()
        rows = list(self._journal.tables.rows[WAITING].values())
        return with_lanes(self._journal.snapshot, self._journal, rows)

    def rows(self) -> int:
        return sum(len(rows) for rows in self._journal.tables.rows.values())

    def close(self) -> None: ...


class SqliteUnderTest:
    def __init__(self, folder: Path, sync: Sync = "off") -> None:
        self._folder = folder
        self._sync: Sync = sync
        self._commits = CommitWaiter()
        self._open()

    def _open(self) -> None:
        self.store = SqliteStore(self._folder, self._sync)
        self._commits = CommitWaiter()
        self.store.start(self._commits.committed, self._commits.failed)

    @property
    def journal(self) -> CollectingJournal:
        return self.store.journal

    def commit(self) -> None:
        if not self.journal.dirty:
            return
        batch = self.journal.batch
        self.store.end_turn()
        self._commits.wait(batch)

    def reopen(self) -> Snapshot:
        """As after a crash: what was not committed is dropped."""
        self.journal.take()
        self.store.close()
        self._open()
        return whole(self.store)

    def rows(self) -> int:
        query = " + ".join(f"(SELECT count(*) FROM {table.name})" for table in TABLES)
        (count,) = self.store._connection.execute(f"SELECT {query}").fetchone()
        return int(count)

    def close(self) -> None:
        self.store.close()


class CommitWaiter:
    """Receives the writer's reports and lets a test wait for one."""

    def __init__(self) -> None:
        self.last = 0
        self.error: Exception | None = None
        self._changed = threading.Condition()

    def committed(self, batch: int) -> None:
        with self._changed:
            assert batch > self.last
            self.last = batch
            self._changed.notify_all()

    def failed(self, error: Exception) -> None:
        with self._changed:
            self.error = error
            self._changed.notify_all()

    def wait(self, batch: int) -> None:
        with self._changed:
            assert self._changed.wait_for(lambda: self.last >= batch or self.error, PATIENCE)
        assert self.error is None


class TurnedStore:
    """A real store whose turns a test takes: what its thread reports waits until then."""

    def __init__(self, folder: Path, sync: Sync = "off", in_background: bool = True) -> None:
        self.folder = folder
        self.sync: Sync = sync
        self.store = SqliteStore(folder, sync, in_background)
        self._reports: queue.SimpleQueue[int] = queue.SimpleQueue()
        self.error: Exception | None = None
        self.store.start(self._reports.put, self._failed, lambda: self._reports.put(0))

    @property
    def journal(self) -> CollectingJournal:
        return self.store.journal

    def turn(self, broker: Broker, now: float) -> bool:
        """Has everything written and read that is asked for; whether there was anything."""
        self.store.end_turn()
        is_idle = threading.Event()
        self.store._writer.ask(is_idle.set)
        while not is_idle.wait(0.05):
            assert self.error is None, self.error
        has_news = False
        while not self._reports.empty():
            has_news = True
            batch = self._reports.get()
            if batch:
                broker.committed(batch, now)
            else:
                broker.was_read(now)
        return has_news or self.journal.dirty

    def killed(self, folder: Path) -> "TurnedStore":
        """What a kill would leave at this moment, opened in another folder."""
        shutil.copytree(self.folder, folder)
        return TurnedStore(folder, self.sync)

    def close(self) -> None:
        self.journal.take()
        self.store.close()

    def _failed(self, error: Exception) -> None:
        self.error = error
