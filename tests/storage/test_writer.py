"""The writer: batches in order, a full disk waited out, a log that does not grow for ever."""

import sqlite3
from pathlib import Path

import pytest

from gossamer.session.records import DeliveryRecord, SessionRecord
from gossamer.storage import writer
from gossamer.storage.files import FILE_NAME, StoreDamaged
from gossamer.storage.sqlite_store import SqliteStore
from tests.support.polling import eventually
from tests.support.store_model import a_message
from tests.support.stores import CommitWaiter, SqliteUnderTest


def limit_pages(store: SqliteUnderTest, room: int) -> None:
    """Let the file grow by so many pages and no more; SQLite then says that the disk is full."""
    connection = store.store._connection
    (pages,) = connection.execute("PRAGMA page_count").fetchone()
    connection.execute(f"PRAGMA max_page_count = {pages + room}")


def queue(store: SqliteUnderTest, first: int, count: int) -> None:
    for number in range(first, first + count):
        record = DeliveryRecord(number, a_message(payload=bytes(2000)), 1, False, [], 0, 0)
        store.journal.delivery_queued("c", record)


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "RETRY_SECONDS", 0.01)


def test_a_turn_that_changed_nothing_writes_nothing(tmp_path: Path) -> None:
    store = SqliteUnderTest(tmp_path)
    store.store.end_turn()
    assert store.journal.batch == 1
    store.close()


def test_a_transaction_of_which_all_is_gone_again_is_not_written(tmp_path: Path) -> None:
    store = SqliteUnderTest(tmp_path)
    store.journal.session_saved(SessionRecord("c", "u", 1))
    store.commit()
    commits = store.journal.written.commits
    queue(store, 0, 10)
    for number in range(10):
        store.journal.delivery_removed("c", number)
    assert store.journal.dirty
    store.commit()
    assert store._commits.last == store.journal.batch - 1
    assert store.journal.written.commits == commits
    queue(store, 10, 1)
    store.commit()
    assert store.journal.written.commits == commits + 1
    assert [d.number for d in store.reopen().sessions[0].deliveries] == [10]
    store.close()


def test_batches_collect_while_one_is_written(tmp_path: Path) -> None:
    store = SqliteStore(tmp_path, "off")
    commits = CommitWaiter()
    store.start(commits.committed, commits.failed)
    store.journal.session_saved(SessionRecord("c", "u", 1))
    for number in range(2000):
        record = DeliveryRecord(number, a_message(), 1, False, [], 0, 0)
        store.journal.delivery_queued("c", record)
        store.end_turn()
    last = store.journal.batch
    eventually(lambda: store.end_turn() or not store.journal.dirty)  # type: ignore[func-returns-value]
    store.close()
    assert commits.last >= last - 1
    again = SqliteStore(tmp_path)
    assert [d.number for d in again.snapshot.sessions[0].deliveries] == list(range(2000))
    again.close()


def test_a_full_disk_is_waited_out(tmp_path: Path) -> None:
    store = SqliteUnderTest(tmp_path)
    store.journal.session_saved(SessionRecord("c", "u", 1))
    store.commit()
    limit_pages(store, 5)
    queue(store, 0, 100)
    waiting = store.journal.batch
    store.store.end_turn()
    eventually(lambda: not store.journal.accepts)
    assert store._commits.last < waiting
    store.store._connection.execute("PRAGMA max_page_count = 1000000")
    store._commits.wait(waiting)
    eventually(lambda: store.journal.accepts)
    assert len(store.reopen().sessions[0].deliveries) == 100
    store.close()


def test_deletions_make_room_for_the_batch_that_waits(tmp_path: Path) -> None:
    store = SqliteUnderTest(tmp_path)
    store.journal.session_saved(SessionRecord("c", "u", 1))
    queue(store, 0, 100)
    store.commit()
    limit_pages(store, 5)
    queue(store, 100, 60)
    store.store.end_turn()
    eventually(lambda: not store.journal.accepts)
    for number in range(80):
        store.journal.delivery_removed("c", number)
    joined = store.journal.batch
    eventually(lambda: store.store.end_turn() or not store.journal.dirty)  # type: ignore[func-returns-value]
    store._commits.wait(joined)
    assert [d.number for d in store.reopen().sessions[0].deliveries] == list(range(80, 160))
    store.close()


def test_closing_on_a_full_disk_says_so(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = SqliteUnderTest(tmp_path)
    store.journal.session_saved(SessionRecord("c", "u", 1))
    store.commit()
    limit_pages(store, 2)
    queue(store, 0, 100)
    store.close()
    assert "could not be written" in caplog.text
    again = SqliteStore(tmp_path)
    assert again.snapshot.sessions[0].deliveries == []
    again.close()


def test_a_file_that_breaks_while_running_is_reported(tmp_path: Path) -> None:
    store = SqliteUnderTest(tmp_path)
    store.store._connection.execute("DROP TABLE retained")
    store.store._connection.execute("CREATE TABLE retained (message TEXT CHECK (0))")
    store.journal.retained_saved(a_message(), 0)
    store.store.end_turn()
    eventually(lambda: store._commits.error is not None)
    assert isinstance(store._commits.error, StoreDamaged)
    store.close()


def test_the_log_is_emptied_now_and_then(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(writer, "CHECKPOINT_BYTES", 100_000)
    store = SqliteUnderTest(tmp_path)
    store.journal.session_saved(SessionRecord("c", "u", 1))
    for first in range(0, 500, 10):
        queue(store, first, 10)
        for number in range(first - 10, first):
            store.journal.delivery_removed("c", number)
        store.commit()
    log = tmp_path / f"{FILE_NAME}-wal"
    eventually(lambda: log.stat().st_size < 300_000)
    assert (tmp_path / FILE_NAME).stat().st_size < 300_000
    assert len(store.reopen().sessions[0].deliveries) == 10
    store.close()


def test_a_failing_batch_changes_nothing(tmp_path: Path) -> None:
    store = SqliteUnderTest(tmp_path)
    store.journal.session_saved(SessionRecord("c", "u", 1))
    store.commit()
    connection = store.store._connection
    connection.execute("DROP TABLE retained")
    connection.execute("CREATE TABLE retained (message INTEGER CHECK (message < 0))")
    queue(store, 0, 5)
    store.journal.retained_saved(a_message(), 0)
    with pytest.raises(sqlite3.IntegrityError):
        writer.write(connection, store.journal.take())
    assert not connection.in_transaction
    assert connection.execute("SELECT count(*) FROM delivery").fetchone() == (0,)
    store.close()
