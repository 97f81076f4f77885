"""An archive of an earlier version: every row as that version's own reader saw it, and what follows
gets the next offset."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyarrow")

from gossamer.archive.archive import Archive, open_beside
from gossamer.archive.offline import verify
from gossamer.storage.sqlite_store import SqliteStore
from tests.support.archives import Row, keep_up, read, settings, write
from tests.support.kept_fixtures import Fixture

Rows = list[dict[str, Any]]


@pytest.fixture
def told(fixture: Fixture) -> dict[str, Any]:
    archive: dict[str, Any] = fixture.table("broker")["archive"]
    return archive


def open_archive(data: Path, name: str) -> tuple[SqliteStore, Archive]:
    """As a broker does: with the store that shares its transactions."""
    store = SqliteStore(data)
    archive = open_beside(store, settings(data / "archive", broker=name))
    return store, archive


def seen(archive: Archive) -> Rows:
    return [as_told(row) for row in read(archive)]


def as_told(row: dict[str, Any]) -> dict[str, Any]:
    """As the tables of fixtures spell a row."""
    row["payload"] = hashlib.sha256(row["payload"]).hexdigest()
    if row["correlation_data"] is not None:
        row["correlation_data"] = row["correlation_data"].hex()
    loaded: dict[str, Any] = json.loads(json.dumps(row))
    return loaded


def test_every_row_is_as_it_was(data: Path, told: dict[str, Any]) -> None:
    store, archive = open_archive(data, told["name"])
    assert (archive.catalog.earliest, archive.next) == (told["earliest"], told["next"])
    assert seen(archive) == told["rows"]
    store.close()


def test_what_follows_has_the_next_offset(data: Path, told: dict[str, Any]) -> None:
    store, archive = open_archive(data, told["name"])
    write(archive, [Row(topic="log/new"), Row(topic="log/newer")])
    store.close()
    store, archive = open_archive(data, told["name"])
    rows = seen(archive)
    assert rows[:-2] == told["rows"]
    found = [(row["offset"], row["topic"]) for row in rows[-2:]]
    assert found == [(told["next"], "log/new"), (told["next"] + 1, "log/newer")]
    store.close()


def test_old_logs_are_sealed_by_this_version(data: Path, told: dict[str, Any]) -> None:
    store, archive = open_archive(data, told["name"])
    before = len(list((data / "archive" / told["name"]).glob("*.parquet")))
    assert before >= 2
    keep_up(archive)
    assert len(list((data / "archive" / told["name"]).glob("*.parquet"))) > before
    assert seen(archive) == told["rows"]
    store.close()
    store, archive = open_archive(data, told["name"])
    assert seen(archive) == told["rows"]
    store.close()


def test_it_is_whole_and_can_be_read_without_its_store(data: Path, told: dict[str, Any]) -> None:
    folder = data / "archive" / told["name"]
    assert verify(folder) == []
    archive = Archive(settings(data / "archive", broker=told["name"]))
    assert seen(archive) == told["rows"]
    archive.close()
