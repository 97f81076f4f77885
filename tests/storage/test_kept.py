"""What rooms keep for themselves: in the store, in its tools, and in files of the first format."""

import io
import json
import sqlite3
from base64 import b64decode
from collections.abc import Callable
from contextlib import closing
from hashlib import blake2b
from pathlib import Path

import pytest

from gossamer.session.journal import Saver
from gossamer.session.message_bytes import packed_message
from gossamer.session.records import SessionRecord, Snapshot
from gossamer.storage.export import export
from gossamer.storage.files import FILE_NAME, open_existing
from gossamer.storage.repair import check, repair
from gossamer.storage.rows import message_row, sealed, session_row
from gossamer.storage.schema import MESSAGE, OPERATOR, RETAINED, SESSION, put_statement
from gossamer.storage.sqlite_store import SqliteStore
from gossamer.storage.upgrade import upgrade
from tests.support.store_model import a_message
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


# What the first format kept where: notes of sessions, and the rooms that they belong to.
NOTES = [
    ("located", "48.1;-11.5;1700000000.5", ("position", "located", b"48.1;-11.5;1700000000.5")),
    ("settled", "::1700", ("mesh/moves", "settled", b"//1700")),
    ("moved", "moved:b:17:0a0b", ("mesh/moves", "moved", b"moved/b/17/0a0b")),
    ("odd:name", "taken:b:c:17", ("mesh/moves", "odd:name", b"taken/b:c/17")),
    ("$mesh/b;c", "0a:0b:ssf:f", ("mesh/neighbours", "b;c", b"0a:0b:ssf:f")),
    ("$stock/x", '["a/+", "☂"]', ("mesh/bridges/x", "☂", b"")),
]


def with_first_state(path: Path) -> dict[str, bytes]:
    """A file of the first format with all that has rooms now; packed directed messages by key."""
    digest = blake2b(b"located", digest_size=16).hexdigest()
    topics = {
        "$gossamer/behind/b": b"+c\n-d",
        f"$gossamer/seen/{digest}/0011": b"names",
        "$gossamer/seen/00/0011": b"of nobody",
        "$gossamer/parked/00000000000000000007": b"e" + b"carried",
        "$gossamer/early/aa/bb": b"e",
        "$mesh/sessions/x": b'{"client": "x"}',
        "a/b": b"a client's",
    }
    packed: dict[str, bytes] = {}
    with closing(sqlite3.connect(path)) as connection:
        for number, (client_id, note, _) in enumerate(NOTES, 1):
            row = session_row(number, SessionRecord(client_id, "u", 100), None)
            row = sealed((*row[:9], note))
            connection.execute(put_statement(SESSION, 1), row)
        for number, (topic, payload) in enumerate(topics.items(), 1):
            message = a_message(topic, payload, rich=True)
            connection.execute(put_statement(MESSAGE, 1), message_row(number, message))
            connection.execute(put_statement(RETAINED, 1), (number,))
            if "parked" in topic or "early" in topic:
                packed[topic] = packed_message(a_message("$gossamer/errand", payload[1:], True))
            elif topic.startswith("$mesh/"):
                packed[topic] = packed_message(message)
        connection.execute(put_statement(OPERATOR, 1), sealed((1, "$mesh/seen/0c0d", "7", b"bits")))
        connection.execute(put_statement(OPERATOR, 1), sealed((2, "$AVG/a", "part", b"{}")))
        connection.commit()
    return packed


def expected_rooms(packed: dict[str, bytes]) -> dict[str, dict[str, bytes]]:
    rooms: dict[str, dict[str, bytes]] = {}
    for _, _, (room, key, value) in NOTES:
        rooms.setdefault(room, {})[key] = value
    rooms["mesh/bridges/x"]["a/+"] = b""
    rooms["mesh/behind"] = {"b": b"+c\n-d"}
    rooms["mesh/seen/located"] = {"0011": b"names"}
    place = "00000000000000000007"
    rooms["mesh/parked"] = {f"/{place}": packed[f"$gossamer/parked/{place}"]}
    rooms["mesh/early"] = {"aa/bb": packed["$gossamer/early/aa/bb"]}
    rooms["mesh/shared"] = {"$mesh/sessions/x": packed["$mesh/sessions/x"]}
    rooms["mesh/names/0c0d"] = {"7": b"bits"}
    return rooms


@pytest.mark.parametrize("way", ["start", "repair"])
def test_state_that_had_no_room_of_its_own_gets_it(tmp_path: Path, way: str) -> None:
    path = first_format(tmp_path)
    rooms = expected_rooms(with_first_state(path))
    assert check(path).contents.kept == sum(len(kept) for kept in rooms.values())
    if way == "repair":
        assert repair(path).problems == []
    for _ in range(2):
        snapshot = started(tmp_path)
        assert snapshot.rooms == rooms
        assert [message.topic for message in snapshot.retained] == ["a/b"]
        assert snapshot.operators == [("$AVG/a", "part", b"{}")]
        assert {each.record.client_id for each in snapshot.sessions} == {each[0] for each in NOTES}
    assert check(path).problems == []


def test_an_upgrade_that_is_cut_short_leaves_the_old_format_whole(tmp_path: Path) -> None:
    """At every statement of it, as if the disk were full there."""
    path = first_format(tmp_path)
    rooms = expected_rooms(with_first_state(path))
    for allowed in range(1, 1_000):
        with closing(open_existing(path)) as connection:
            connection.set_authorizer(refusing_after(allowed))
            try:
                upgrade(connection, 1)
            except sqlite3.DatabaseError:
                connection.set_authorizer(None)
                assert connection.execute("PRAGMA user_version").fetchone() == (1,)
                continue
            break
    else:
        pytest.fail("the upgrade never ended")
    assert allowed > 10
    assert started(tmp_path).rooms == rooms


def refusing_after(allowed: int) -> Callable[..., int]:
    left = iter(range(allowed))

    def judge(_: int, what: str | None, *__: object) -> int:
        is_allowed = what == "ROLLBACK" or next(left, None) is not None
        return sqlite3.SQLITE_OK if is_allowed else sqlite3.SQLITE_DENY

    return judge
