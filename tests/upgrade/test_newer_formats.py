"""What a later version has written is refused in words, and left as it is, byte for byte.

One case for each format: how its number is raised, and every way in which it can be opened.
"""

import io
import json
import shutil
import sqlite3
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pyarrow")

import pyarrow.parquet as pq

from gossamer.archive import client, log
from gossamer.archive import offline as inspecting
from gossamer.archive import replay_protocol as frames
from gossamer.archive import sealed_segment as sealed
from gossamer.archive.archive import Archive, open_beside
from gossamer.archive.folder import ArchiveError
from gossamer.archive.selection import Selection
from gossamer.bloom import summary_codec as bloom
from gossamer.bloom.hashes import TopicHasher
from gossamer.bloom.summary import Summary
from gossamer.bloom.summary_codec import SummaryError
from gossamer.mesh.directed.message import DirectedMessage, packed, unpacked
from gossamer.mesh.settings import SPEAKS
from gossamer.plus.state import SAVED_VERSION
from gossamer.session.message import Message
from gossamer.storage import export as exporting
from gossamer.storage import repair as repairing
from gossamer.storage import schema
from gossamer.storage.files import FILE_NAME, StoreError
from gossamer.storage.rows import sealed as sealed_row
from gossamer.storage.sqlite_store import SqliteStore
from gossamer.wire.errors import ProtocolError
from tests.support.archives import keep_up, read, settings
from tests.support.kept_fixtures import Fixture
from tests.support.meshes import Net

NAME = "keeper"
Way = Callable[[Path], object]


def bytes_of(folder: Path) -> dict[str, bytes]:
    """The lock is no data."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != "lock"]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


# The store -----------------------------------------------------------------------------------


def raise_store(data: Path) -> None:
    """Everything is in the file itself."""
    with sqlite3.connect(data / FILE_NAME) as connection:
        connection.execute(f"PRAGMA user_version = {schema.FORMAT + 1}")
    connection.close()


def raise_store_in_its_log(data: Path) -> None:
    """As a kill leaves it: the number, and much else, is in the write-ahead log only."""
    other = data.with_name("other")
    shutil.copytree(data, other)
    connection = sqlite3.connect(other / FILE_NAME)
    connection.execute("PRAGMA wal_autocheckpoint = 0")
    connection.execute(f"PRAGMA user_version = {schema.FORMAT + 1}")
    connection.execute("DELETE FROM subscription")
    for file in (FILE_NAME, FILE_NAME + "-wal"):
        shutil.copy(other / file, data / file)
    connection.close()
    assert (data / (FILE_NAME + "-wal")).stat().st_size > 0


STORE_WAYS: dict[str, Way] = {
    "start": lambda data: SqliteStore(data),
    "check": lambda data: repairing.check(data / FILE_NAME),
    "export": lambda data: exporting.export(data / FILE_NAME, io.StringIO()),
    "repair": lambda data: repairing.repair(data / FILE_NAME),
}


@pytest.mark.parametrize("way", STORE_WAYS)
@pytest.mark.parametrize("change", [raise_store, raise_store_in_its_log])
def test_a_newer_store(data: Path, change: Callable[[Path], None], way: str) -> None:
    change(data)
    before = bytes_of(data)
    found, known = schema.FORMAT + 1, schema.FORMAT
    with pytest.raises(StoreError, match=rf"format {found} .* knows {known}.* newer gossamer"):
        STORE_WAYS[way](data)
    assert bytes_of(data) == before


def test_newer_values_in_a_store(data: Path) -> None:
    """Within a format that is known: the rows stay as they are."""
    SqliteStore(data).close()
    path = data / FILE_NAME
    with sqlite3.connect(path) as connection:
        key, state, part, value, _ = connection.execute("SELECT * FROM operator").fetchone()
        newer = json.dumps([SAVED_VERSION + 1, *json.loads(value)[1:]]).encode()
        row = sealed_row((key, state, part, newer))
        connection.execute("REPLACE INTO operator VALUES (?, ?, ?, ?, ?)", row)
    connection.close()
    before = rows_in(path)
    with pytest.raises(StoreError, match=r"values of operators of version 2 .* knows 1.* newer"):
        SqliteStore(data)
    assert rows_in(path) == before


def rows_in(path: Path) -> dict[str, list[Any]]:
    connection = sqlite3.connect(path)
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master")]
    found = {name: connection.execute(f"SELECT * FROM {name}").fetchall() for name in tables}
    connection.close()
    return found


# The archive ---------------------------------------------------------------------------------


def logs_of(data: Path) -> list[Path]:
    return sorted((data / "archive" / NAME).glob("*.log"))


def segments_of(data: Path) -> list[Path]:
    return sorted((data / "archive" / NAME).glob("*.parquet"))


def raise_log(data: Path) -> None:
    path = logs_of(data)[-1]
    path.write_bytes(path.read_bytes().replace(log.FILE_MAGIC, b"GOSSARC2", 1))


def raise_empty_log(data: Path) -> None:
    """It has a header and nothing else, as one that was being created."""
    path = logs_of(data)[-1]
    size = log.read_file_header(path.read_bytes()).size
    path.write_bytes(b"GOSSARC2" + path.read_bytes()[8:size])


def raise_segment(data: Path) -> None:
    path = segments_of(data)[-1]
    table = pq.read_table(path)
    kept = dict(pq.read_metadata(path).metadata)
    kept = {key: value for key, value in kept.items() if key.startswith(b"gossamer.")}
    kept[sealed.FORMAT_KEY] = str(sealed.FORMAT + 1).encode()
    with pq.ParquetWriter(path, table.schema) as writer:
        writer.write_table(table)
        writer.add_key_value_metadata(kept)


def open_with_store(data: Path) -> None:
    store = SqliteStore(data)
    try:
        open_beside(store, settings(data / "archive", broker=NAME))
    finally:
        store.close()


ARCHIVE_WAYS: dict[str, Way] = {
    "start": lambda data: Archive(settings(data / "archive", broker=NAME)),
    "verify": lambda data: inspecting.verify(data / "archive" / NAME),
    "repair": lambda data: inspecting.repair(data / "archive" / NAME),
    "read": lambda data: list(inspecting.open_reader(data / "archive" / NAME).read(Selection())),
}


@pytest.mark.parametrize("way", ARCHIVE_WAYS)
@pytest.mark.parametrize("change", [raise_log, raise_empty_log, raise_segment])
def test_a_newer_archive(data: Path, change: Callable[[Path], None], way: str) -> None:
    change(data)
    before = bytes_of(data / "archive")
    with pytest.raises(ArchiveError, match=r"format 2 .* knows 1.* newer gossamer"):
        ARCHIVE_WAYS[way](data)
    assert bytes_of(data / "archive") == before


def test_a_newer_archive_beside_a_store(data: Path) -> None:
    """The store is opened first; the archive keeps the broker from starting all the same."""
    raise_log(data)
    before = bytes_of(data / "archive")
    with pytest.raises(ArchiveError, match="newer gossamer"):
        open_with_store(data)
    assert bytes_of(data / "archive") == before


def test_a_newer_segment_among_known_ones(data: Path) -> None:
    """What is before it can be read; where it begins, the reader is told why it ends."""
    raise_segment(data)
    first = int(segments_of(data)[-1].stem.split("-")[0])
    reader = inspecting.open_reader(data / "archive" / NAME)
    before = list(reader.read(Selection(end=first)))
    assert sum(batch.num_rows for batch in before) == first > 0
    with pytest.raises(ArchiveError, match=r"format 2 .* knows 1"):
        list(reader.read(Selection(start=first)))


def test_what_this_version_seals_states_its_format(data: Path) -> None:
    before = segments_of(data)
    archive = Archive(settings(data / "archive", broker=NAME))
    keep_up(archive)
    new = set(segments_of(data)) - set(before)
    assert new
    assert {pq.read_metadata(path).metadata[sealed.FORMAT_KEY] for path in new} == {b"1"}
    assert len(read(archive)) == 100
    archive.close()


# Between processes ---------------------------------------------------------------------------


def test_a_newer_request_and_a_newer_answer() -> None:
    with pytest.raises(frames.BadFrame, match=r"version 2 .* version 1 is known here: upgrade it"):
        frames.check_version({"version": frames.VERSION + 1}, "it")
    for wrong in (0, -1, "1", None, True, 1.5):
        with pytest.raises(frames.BadFrame):
            frames.check_version({"version": wrong}, "it")
    frames.check_version({}, "it")
    with pytest.raises(frames.BadFrame, match="upgrade this reader"):
        client._checked({"ok": True, "version": frames.VERSION + 1})
    assert client._checked({"ok": True}) == {"ok": True}


def test_a_newer_bloom_summary() -> None:
    told = bytearray(Summary(TopicHasher()).full())
    told[len(bloom.MAGIC)] = bloom.FORMAT + 1
    told[-4:] = zlib.crc32(bytes(told[:-4])).to_bytes(4, "big")
    with pytest.raises(SummaryError, match=r"format 2; only 1 is understood"):
        bloom.decode(bytes(told))


def test_a_newer_neighbour_is_spoken_to_as_before() -> None:
    """It says what it speaks, and speaks what both do."""
    net = Net()
    net.node("a")
    net.node("b", speaks=SPEAKS + 1)
    net.join("a", "b")
    reader = net.nodes["b"].client("reader")
    reader.subscribe("t", qos=1)
    net.run()
    net.nodes["a"].client("writer").publish("t", "x", qos=1)
    net.run()
    assert reader.payloads() == ["x"]


def test_newer_directed_messages() -> None:
    message = Message("t" * 65_000, b"x", 1, False, None, 0.0, "", "")
    directed = DirectedMessage("share", "b", {"group": "g" * 60_000}, message)
    sent = packed(directed, 1)
    assert unpacked(sent).message.topic == message.topic
    for at in (0, 5 + int.from_bytes(sent.payload[1:5], "big")):  # the envelope's, the message's
        newer = bytearray(sent.payload)
        newer[at] += 1
        with pytest.raises(ProtocolError, match="envelope"):
            unpacked(Message(sent.topic, bytes(newer), 1, False, sent.properties, 0.0, "", ""))


def test_newer_offsets_of_a_stream() -> None:
    pytest.importorskip("pyspark")
    from gossamer.spark.source.archives import SourceError
    from gossamer.spark.source.stream_reader import FORMAT_NAME, checked

    assert checked({"b1": 7}) == {"b1": 7}
    with pytest.raises(SourceError, match=r"format 2, and this version knows 1: use a newer"):
        checked({"b1": 7, FORMAT_NAME: 2})


def test_every_fixture_says_who_wrote_it(fixture: Fixture) -> None:
    manifest = fixture.table("manifest")
    assert manifest["version"] == fixture.version
    assert len(manifest["commit"]) == 40


# The rows of the guide's table whose numbers have been raised so far.
STATED = (
    ("store (`gossamer.db`)", schema.FORMAT),
    ("values of operators", SAVED_VERSION),
    ("archive: log", log.FORMAT),
    ("archive: sealed segment", sealed.FORMAT),
    ("requests and answers of the replay service", frames.VERSION),
    ("control messages between brokers", SPEAKS),
    ("Bloom summaries", bloom.FORMAT),
)


@pytest.mark.parametrize(("row", "number"), STATED, ids=[row for row, _ in STATED])
def test_the_guide_has_the_numbers(row: str, number: int) -> None:
    guide = (Path(__file__).parents[2] / "docs" / "upgrades.md").read_text(encoding="utf-8")
    (line,) = [line for line in guide.splitlines() if line.startswith(f"| {row}")]
    assert line.split("|")[4].strip() == str(number)
