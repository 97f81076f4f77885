"""The file of a store: private, held by one process, of a known format, in a known place."""

import logging
import sqlite3
import stat
from contextlib import closing
from pathlib import Path

import pytest

from gossamer.session.records import SessionRecord
from gossamer.storage import files
from gossamer.storage.files import (
    FILE_NAME,
    NoStore,
    NotAStore,
    StoreInUse,
    StoreTooNew,
    default_folder,
    open_existing,
)
from gossamer.storage.sqlite_store import SqliteStore
from tests.support.store_model import a_message
from tests.support.stores import SqliteUnderTest


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_new_files_are_private(tmp_path: Path) -> None:
    folder = tmp_path / "deep" / "data"
    store = SqliteUnderTest(folder)
    store.journal.retained_saved(a_message(), 0)
    store.commit()
    assert mode(folder) == 0o700
    assert {mode(file) for file in folder.iterdir()} == {0o600}
    assert (folder / f"{FILE_NAME}-wal").exists()
    store.close()


def test_a_world_readable_file_is_warned_about_and_fixed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    SqliteStore(tmp_path).close()
    (tmp_path / FILE_NAME).chmod(0o644)
    with caplog.at_level(logging.WARNING):
        SqliteStore(tmp_path).close()
    assert mode(tmp_path / FILE_NAME) == 0o600
    assert "readable by other users" in caplog.text


def test_two_brokers_on_one_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "LOCK_SECONDS", 0.05)
    first = SqliteStore(tmp_path)
    with pytest.raises(StoreInUse, match="--data"):
        SqliteStore(tmp_path)
    first.close()
    SqliteStore(tmp_path).close()


def test_a_later_format_is_refused(tmp_path: Path) -> None:
    SqliteStore(tmp_path).close()
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as connection:
        connection.execute("PRAGMA user_version = 99")
    with pytest.raises(StoreTooNew, match="99"):
        SqliteStore(tmp_path)


def test_the_file_of_another_program_is_refused(tmp_path: Path) -> None:
    with closing(sqlite3.connect(tmp_path / FILE_NAME)) as connection:
        connection.execute("CREATE TABLE recipes (name)")
    with pytest.raises(NotAStore):
        SqliteStore(tmp_path)


def test_looking_at_nothing_creates_nothing(tmp_path: Path) -> None:
    with pytest.raises(NoStore):
        open_existing(tmp_path / FILE_NAME)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"XDG_DATA_HOME": "/x/data"}, Path("/x/data/gossamer")),
        ({"XDG_DATA_HOME": "", "HOME": "/home/anna"}, Path("/home/anna/.local/share/gossamer")),
    ],
)
def test_the_default_folder(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], expected: Path
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert default_folder() == expected


@pytest.mark.parametrize(("sync", "waits"), [("full", True), ("normal", True), ("off", False)])
def test_what_each_sync_mode_promises(tmp_path: Path, sync: str, waits: bool) -> None:
    store = SqliteStore(tmp_path, sync)  # type: ignore[arg-type]
    assert store.journal.durable is waits
    store.journal.session_saved(SessionRecord("c", "u", 1))
    store.close()
    again = SqliteStore(tmp_path)
    assert [session.record.client_id for session in again.snapshot.sessions] == ["c"]
    again.close()
