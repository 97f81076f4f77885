"""The archive and the store share transactions: both have a publication, or neither has."""

import sqlite3
from pathlib import Path

import pytest

from gossamer.archive.archive import Archive, open_beside
from gossamer.broker.broker import Broker
from gossamer.broker.policy import Origin
from gossamer.broker.settings import Settings
from gossamer.session.records import SessionRecord
from gossamer.session.sink import Sink
from gossamer.storage import writer
from gossamer.storage.sqlite_store import SqliteStore
from gossamer.wire.codec import encode
from gossamer.wire.packets import V5, Connect, Publish
from gossamer.wire.properties import Properties
from tests.support.archives import Row, read, settings
from tests.support.stores import CommitWaiter


class Sent(Sink):
    def __init__(self) -> None:
        self.data = b""

    def write(self, data: bytes) -> None:
        self.data += data


class Opened:
    """A store with an archive, as a broker has it."""

    def __init__(self, folder: Path) -> None:
        self.store = SqliteStore(folder)
        self.archive: Archive = open_beside(self.store, settings(folder / "archive", syncs=True))
        self.commits = CommitWaiter()
        self.store.start(self.commits.committed, self.commits.failed)

    def commit(self) -> None:
        number = self.store.journal.batch
        self.store.end_turn()
        self.commits.wait(number)

    def close(self) -> None:
        self.store.close()


def archive_row(opened: Opened, row: Row) -> None:
    row.collect(opened.archive.collector)
    opened.store.journal.dirty = True


def test_rows_and_records_are_committed_together(tmp_path: Path) -> None:
    opened = Opened(tmp_path)
    archive_row(opened, Row(payload=b"1"))
    opened.commit()
    opened.store.journal.session_saved(SessionRecord("c", "", 60))
    archive_row(opened, Row(payload=b"2"))
    opened.commit()
    assert opened.archive.next == 2
    opened.close()
    again = Opened(tmp_path)
    assert [row["payload"] for row in read(again.archive)] == [b"1", b"2"]
    assert len(again.store.snapshot.sessions) == 1
    again.close()


def test_a_store_that_has_no_room_leaves_no_rows_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "RETRY_SECONDS", 0.01)
    opened = Opened(tmp_path)
    whole = writer.write
    tries: list[int] = []

    def write(connection: sqlite3.Connection, batch: object, position: int | None = None) -> None:
        tries.append(opened.archive.next)
        if len(tries) < 3:
            raise sqlite3.OperationalError("database or disk is full")
        whole(connection, batch, position)  # type: ignore[arg-type]

    monkeypatch.setattr(writer, "write", write)
    opened.store.journal.session_saved(SessionRecord("c", "", 60))
    archive_row(opened, Row())
    opened.commit()
    assert tries == [0, 0, 0]
    assert [row["offset"] for row in read(opened.archive)] == [0]
    opened.close()


def test_an_archive_without_room_holds_the_acknowledgement_and_refuses_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writer, "RETRY_SECONDS", 0.01)
    opened = Opened(tmp_path)
    broker = Broker(Settings(), opened.store.journal, 0.0)
    broker.begin_archiving(opened.archive.collector, ["kept/#"])
    sink = Sent()
    connection = broker.open(sink, Origin("127.0.0.1", "test"), 0.0)

    def receive(packet: Connect | Publish) -> bytes:
        sink.data = b""
        connection.receive(encode(packet, V5), 1.0)
        broker.flush(1.0)
        return sink.data

    receive(Connect("c"))
    collector = opened.archive.collector
    for properties in (None, _some_properties()):
        collector.accepts = True
        held = receive(Publish("kept/1", b"", 1, packet_id=1, properties=properties))
        assert held == b"", "it waits for the disk"
        collector.accepts = False
        refused = receive(Publish("kept/1", b"", 1, packet_id=2, properties=properties))
        assert refused == b"", "it waits for its turn"
        assert receive(Publish("other", b"", 1, packet_id=3)) == b""
        number = opened.store.journal.batch
        opened.commit()
        broker.committed(number, 1.0)
        answers = sink.data
        assert answers.startswith(b"\x40\x03\x00\x01\x10"), "no subscribers, and archived"
        assert b"\x00\x02\x97" in answers, "quota exceeded"
        assert b"the archive is full" in answers
        assert b"\x40\x03\x00\x03\x10" in answers
    assert collector.accepts, "a disk that has taken a batch has room"
    assert opened.archive.next == 2
    opened.close()


def _some_properties() -> Properties:
    properties = Properties()
    properties.content_type = "x"
    return properties
