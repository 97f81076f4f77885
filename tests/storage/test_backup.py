"""A backup of a running store: what was safe when it began is in it, and it is one state whole.

Traffic goes on meanwhile; batches are written and queues are read between its steps.
"""

import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gossamer.archive.archive import open_beside
from gossamer.storage import backup
from gossamer.storage.backup import Backup, BackupError
from gossamer.storage.files import FILE_NAME
from gossamer.storage.repair import check
from gossamer.storage.sqlite_store import SqliteStore
from tests.support.archives import keep_up
from tests.support.archives import read as read_archive
from tests.support.archives import settings as archive_settings
from tests.support.store_model import a_message
from tests.support.stores import PATIENCE, CommitWaiter

PAYLOAD = b"x" * 2_000
BEFORE = 500


class Traffic:
    """A store in which retained messages are kept one after the other, each a batch of its own;
    with an archive that has the same rows."""

    def __init__(self, folder: Path, *, archives: bool = False) -> None:
        self.store = SqliteStore(folder / "data", "off")
        self.archive = (
            open_beside(self.store, archive_settings(folder / "data" / "archive"))
            if archives
            else None
        )
        self.commits = CommitWaiter()
        self.store.start(self.commits.committed, self.commits.failed)
        self.written = 0

    def keep(self) -> int:
        """One more; the number of its batch."""
        journal = self.store.journal
        message = a_message(f"t/{self.written}", PAYLOAD)
        journal.retained_saved(message, 0)
        if self.archive is not None:
            collector = self.archive.collector
            collector.append(message.topic_bytes, PAYLOAD, 1, "c", "", float(self.written))
        self.written += 1
        batch = journal.batch
        self.store.end_turn()
        return batch

    def keep_safely(self, count: int) -> None:
        for _ in range(count):
            self.commits.wait(self.keep())


@pytest.fixture
def traffic(tmp_path: Path) -> Iterator[Traffic]:
    made = Traffic(tmp_path)
    made.keep_safely(BEFORE)
    yield made
    made.store.close()


@pytest.fixture
def archived(tmp_path: Path) -> Iterator[Traffic]:
    made = Traffic(tmp_path, archives=True)
    made.keep_safely(BEFORE)
    yield made
    made.store.close()


def under_way(store: SqliteStore, folder: Path, during: Callable[[], None]) -> Backup:
    """Made on another thread while this one does something again and again."""
    made: list[Backup] = []
    thread = threading.Thread(target=lambda: made.append(store.back_up(folder, lambda a, b: None)))
    thread.start()
    while thread.is_alive():
        during()
    thread.join()
    [one] = made
    return one


def retained_in(folder: Path) -> list[int]:
    assert check(folder / FILE_NAME).problems == []
    store = SqliteStore(folder, "off")
    found = sorted(int(message.topic[2:]) for message in store.snapshot.retained)
    store.close()
    return found


def test_everything_from_before_is_in_it_and_it_is_one_state(
    traffic: Traffic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backup, "PAGES_AT_ONCE", 8)
    made = under_way(traffic.store, tmp_path / "copy", lambda: traffic.keep_safely(1))
    during = traffic.written
    traffic.keep_safely(10)
    found = retained_in(tmp_path / "copy")
    assert found == list(range(len(found)))
    assert BEFORE <= len(found) <= during
    assert made.size >= BEFORE * len(PAYLOAD)
    assert traffic.commits.error is None


def test_batches_and_questions_come_between_its_steps(
    traffic: Traffic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backup, "PAGES_AT_ONCE", 1)
    asked: list[int] = []
    safe_at: list[int] = []

    def progress(done: int, pages: int) -> None:
        # On the writer's own thread: who waited here would wait for ever.
        if done < 100:
            safe_at.append(traffic.commits.last)
            traffic.keep()
            traffic.store._writer.ask(lambda: asked.append(done))

    traffic.store.back_up(tmp_path / "copy", progress)
    assert safe_at == sorted(set(safe_at))  # each step found another batch written
    assert len(safe_at) == len(asked) == 99
    assert retained_in(tmp_path / "copy") == list(range(BEFORE + 99))


def test_the_archive_is_the_one_of_the_same_moment(
    archived: Traffic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backup, "PAGES_AT_ONCE", 8)
    assert archived.archive is not None
    keep_up(archived.archive)
    archived.keep_safely(20)
    made = under_way(archived.store, tmp_path / "copy", lambda: archived.keep_safely(1))
    assert made.segments >= 2  # a sealed one, and the log
    keep_up(archived.archive)  # what the source does with its files is nothing to the copy
    archived.keep_safely(20)
    _hold_the_same(tmp_path / "copy")
    assert read_archive(archived.archive)[-1]["offset"] == archived.written - 1


def test_what_is_sealed_meanwhile_is_in_it(archived: Traffic, tmp_path: Path) -> None:
    def seal() -> None:
        archived.keep_safely(1)
        assert archived.archive is not None
        keep_up(archived.archive)

    under_way(archived.store, tmp_path / "copy", seal)
    _hold_the_same(tmp_path / "copy")


def test_files_that_cannot_be_linked_are_copied(
    archived: Traffic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def link(path: Path, copy: Path) -> None:
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr("os.link", link)
    archived.store.back_up(tmp_path / "copy", lambda done, pages: None)
    _hold_the_same(tmp_path / "copy")


def _hold_the_same(folder: Path) -> None:
    """Every message is in the store and in the archive; then rows are added, and read again."""
    kept = retained_in(folder)
    assert kept == list(range(len(kept)))
    assert len(kept) >= BEFORE
    for more in range(2):
        store = SqliteStore(folder, "off")
        archive = open_beside(store, archive_settings(folder / "archive"))
        assert archive.next == len(kept) + more
        topics = [row["topic"] for row in read_archive(archive)]
        assert topics == [f"t/{number}" for number in range(len(kept) + more)]
        store.journal.retained_saved(a_message(f"t/{len(kept) + more}", b"new"), 0)
        topic = f"t/{len(kept) + more}".encode()
        archive.collector.append(topic, b"new", 1, "c", "", 0.0)
        store.close()


def test_nothing_is_written_over(traffic: Traffic, tmp_path: Path) -> None:
    copy = tmp_path / "copy"
    copy.mkdir()
    with pytest.raises(BackupError, match="is there already"):
        traffic.store.back_up(copy, lambda done, pages: None)
    assert list(copy.iterdir()) == []
    (tmp_path / "file").write_text("mine")
    with pytest.raises(BackupError, match="is there already"):
        traffic.store.back_up(tmp_path / "file", lambda done, pages: None)
    with pytest.raises(BackupError, match="make it first"):
        traffic.store.back_up(tmp_path / "no" / "copy", lambda done, pages: None)
    _is_clean(tmp_path)


def test_a_disk_that_fails_leaves_no_half_of_it(
    traffic: Traffic, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(made: Path) -> int:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(backup, "_made_to_last", fail)
    with pytest.raises(BackupError, match="No space left"):
        traffic.store.back_up(tmp_path / "copy", lambda done, pages: None)
    assert not (tmp_path / "copy").exists()
    _is_clean(tmp_path)
    traffic.keep_safely(1)


def test_a_broker_that_stops_does_not_wait_for_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(backup, "PAGES_AT_ONCE", 1)
    traffic = Traffic(tmp_path)
    traffic.keep_safely(BEFORE)
    has_begun = threading.Event()
    may_go_on = threading.Event()
    failed: list[BackupError] = []

    def progress(done: int, pages: int) -> None:
        has_begun.set()
        assert may_go_on.wait(PATIENCE)

    def make() -> None:
        try:
            traffic.store.back_up(tmp_path / "copy", progress)
        except BackupError as error:
            failed.append(error)

    thread = threading.Thread(target=make)
    thread.start()
    assert has_begun.wait(PATIENCE)
    traffic.keep()
    closing = threading.Thread(target=traffic.store.close)
    closing.start()
    while not traffic.store._writer._stopping:
        assert closing.is_alive()
    may_go_on.set()
    closing.join(PATIENCE)
    thread.join(PATIENCE)
    assert "the broker stops" in str(failed[0])
    assert not (tmp_path / "copy").exists()
    _is_clean(tmp_path)
    assert retained_in(tmp_path / "data") == list(range(BEFORE + 1))


def test_a_fault_of_the_store_is_not_taken_for_one_of_the_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch that cannot be written in the midst of it ends the writer, as it would without."""
    monkeypatch.setattr(backup, "PAGES_AT_ONCE", 1)
    traffic = Traffic(tmp_path)
    traffic.keep_safely(BEFORE)

    def progress(done: int, pages: int) -> None:
        if done == 50:
            monkeypatch.setattr(
                traffic.store._target, "write", lambda batch: (_ for _ in ()).throw(ValueError("x"))
            )
            traffic.keep()

    with pytest.raises(BackupError):
        traffic.store.back_up(tmp_path / "copy", progress)
    traffic.store._writer._thread.join(PATIENCE)
    assert traffic.commits.error is not None
    _is_clean(tmp_path)
    traffic.store._connection.close()


def _is_clean(folder: Path) -> None:
    assert [path for path in folder.iterdir() if ".unfinished" in path.name] == []
