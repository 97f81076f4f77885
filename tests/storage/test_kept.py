"""What rooms keep for themselves: in the store, in its tools, and in files of the first format."""

import io
import json
import sqlite3
from base64 import b64decode
from contextlib import closing
from pathlib import Path

from gossamer.session.journal import Saver
from gossamer.session.records import Snapshot
from gossamer.storage.checking import check
from gossamer.storage.exporting import export
from gossamer.storage.files import FILE_NAME
from gossamer.storage.repairing import repair
from gossamer.storage.sqlite_store import SqliteStore
from tests.support.stores import SqliteUnderTest

# The tables of the first format, as it made them.
FIRST_FORMAT = """
CREATE TABLE message (id INTEGER PRIMARY KEY, topic TEXT, payload BLOB, qos INTEGER, retain INTEGER,
 properties TEXT, expires_at REAL, publisher TEXT, user TEXT, checksum INTEGER);
CREATE TABLE session (id INTEGER PRIMARY KEY, client_id TEXT, user TEXT, expiry INTEGER,
 disconnected_at REAL, will INTEGER, will_delay INTEGER, will_due REAL, is_311 INTEGER, note TEXT,
 checksum INTEGER);
CREATE TABLE subscription (id INTEGER PRIMARY KEY, session INTEGER, filter TEXT, qos INTEGER,
 no_local INTEGER, retain_as_published INTEGER, retain_handling INTEGER, identifier INTEGER,
 user TEXT, checksum INTEGER);
CREATE TABLE delivery (id INTEGER PRIMARY KEY, session INTEGER, number INTEGER, message INTEGER,
 qos INTEGER, retain INTEGER, identifiers TEXT, share TEXT, packet_id INTEGER, state INTEGER);
CREATE TABLE incoming (id INTEGER PRIMARY KEY, session INTEGER, packet_id INTEGER);
CREATE TABLE retained (message INTEGER PRIMARY KEY);
CREATE TABLE operator (id INTEGER PRIMARY KEY, state TEXT, part TEXT, data BLOB, checksum INTEGER);
CREATE TABLE spill (id INTEGER PRIMARY KEY, session INTEGER, delivery_qos INTEGER,
 delivery_retain INTEGER, topic TEXT, payload BLOB, qos INTEGER, retain INTEGER, properties TEXT,
 expires_at REAL, publisher TEXT, user TEXT, checksum INTEGER);
PRAGMA application_id = 0x474F5353;
PRAGMA user_version = 1;
"""


def first_format(folder: Path, archive: int | None = None) -> Path:
    path = folder / FILE_NAME
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(FIRST_FORMAT)
        if archive is not None:
            connection.execute("CREATE TABLE archive (id INTEGER PRIMARY KEY, position INTEGER)")
            connection.execute("INSERT INTO archive VALUES (1, ?)", (archive,))
            connection.commit()
    return path


def started(folder: Path) -> Snapshot:
    store = SqliteStore(folder, "off")
    store.close()
    return store.snapshot


def kept(folder: Path) -> Path:
    store = SqliteUnderTest(folder)
    store.journal.keep("room", "a", b"one")
    store.journal.keep("room", "b", b"\xff\x00")
    store.journal.keep("other", "a", b"")
    store.close()
    return folder / FILE_NAME


WHOLE = {"room": {"a": b"one", "b": b"\xff\x00"}, "other": {"a": b""}}


def test_a_saver_writes_once_when_a_transaction_is_complete(tmp_path: Path) -> None:
    store = SqliteUnderTest(tmp_path)

    class Counting(Saver):
        def __init__(self) -> None:
            self.times = 0

        def save(self) -> None:
            self.times += 1
            store.journal.keep("room", "count", str(self.times).encode())

    saver = Counting()
    store.journal.savers.append(saver)
    for _ in range(3):
        store.journal.dirty = True
    store.commit()
    assert saver.times == 1
    store.journal.savers.clear()
    assert store.reopen().rooms == {"room": {"count": b"1"}}
    store.close()


def test_the_tools_know_what_is_kept(tmp_path: Path) -> None:
    path = kept(tmp_path)
    assert check(path).contents.kept == 3
    out = io.StringIO()
    assert export(path, out) == []
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    found = {(each["room"], each["key"]): b64decode(each["value"]) for each in lines}
    assert found == {("room", "a"): b"one", ("room", "b"): b"\xff\x00", ("other", "a"): b""}
    assert repair(path).contents.kept == 3
    assert started(tmp_path).rooms == WHOLE


def test_what_is_kept_is_found_when_the_first_page_is_lost(tmp_path: Path) -> None:
    path = kept(tmp_path)
    with path.open("r+b") as file:
        file.write(b"\xff" * 100)
    assert repair(path).problems == []
    assert started(tmp_path).rooms == WHOLE


def test_a_file_of_the_first_format_is_brought_to_this_one(tmp_path: Path) -> None:
    path = first_format(tmp_path, archive=7)
    assert check(path).problems == []
    store = SqliteStore(tmp_path, "off")
    store.journal.keep("room", "a", b"one")
    store.close()
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT position FROM archive").fetchall() == [(7,)]
    # Its tables begin where those of a new file do, so it can be mended like one.
    with path.open("r+b") as file:
        file.write(b"\xff" * 100)
    assert repair(path).problems == []
    assert started(tmp_path).rooms == {"room": {"a": b"one"}}


def test_looking_at_an_old_file_does_not_change_its_format(tmp_path: Path) -> None:
    path = first_format(tmp_path)
    check(path)
    export(path, io.StringIO())
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (1,)
