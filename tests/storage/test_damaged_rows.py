"""A row of a queue on disk that the disk has changed: set aside and counted, the rest delivered.

Bytes are flipped in the file of a store that waits, as a bad disk does it.
"""

import logging
import random
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from gossamer.broker.sys_topics import statistics
from gossamer.net.admin import views
from gossamer.net.admin.metrics import exposition
from gossamer.session.queue import AWAY_MESSAGES
from gossamer.storage import lane_reader as lane_reading
from gossamer.storage.files import FILE_NAME
from gossamer.wire.packets import PUBACK, Acknowledgement, Publish
from tests.support.disk_world import DiskWorld
from tests.support.memory import MemoryClient

SPILLED = 2_500
MANY = AWAY_MESSAGES + SPILLED


def payload(number: int) -> str:
    return f"<message {number:06}>"


def filled(folder: Path, qos: int = 1, filter: str = "t/#") -> Path:
    """The file of a store in which most of a queue waits on disk."""
    world = DiskWorld(folder)
    client = world.client("away", clean=False, expiry=1000)
    client.subscribe(filter, qos=qos)
    client.lose()
    writer = world.client("writer")
    world.turns = False
    for number in range(MANY):
        writer.publish(f"t/{number}", payload(number), qos=qos, packet_id=number % 60_000 + 1)
        if number % 500 == 0:
            world.settle()
    world.settle()
    assert world.broker.core.sessions["away"].lane.messages == SPILLED
    world.close()
    return folder / "0" / FILE_NAME


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return filled(tmp_path_factory.mktemp("filled"))


def copied(store: Path, folder: Path) -> Path:
    shutil.copytree(store.parent, folder / "0")
    return folder / "0" / FILE_NAME


def flip(file: Path, content: bytes, at: int, value: int = 0xFF) -> None:
    """One byte of what is found in the file; all copies of it, since pages may hold old ones."""
    data = bytearray(file.read_bytes())
    places = 0
    found = data.find(content)
    while found >= 0:
        data[found + at] ^= value
        places += 1
        found = data.find(content, found + 1)
    assert places
    file.write_bytes(data)


def delivered(world: DiskWorld, client: MemoryClient) -> list[str]:
    found: list[str] = []
    while payloads := client.payloads():
        found += payloads
        world.settle()
    return found


def received(folder: Path, damaged: list[int]) -> DiskWorld:
    """The client comes back, and gets all but those; nothing is left of the queue."""
    world = DiskWorld(folder)
    session = world.broker.core.sessions["away"]
    client = world.client("away", clean=False, expiry=1000)
    found = delivered(world, client)
    assert found == [payload(number) for number in range(MANY) if number not in damaged]
    world.settle()
    assert session.lane.damaged == len(damaged) == world.broker.core.counters.damaged
    assert session.lane.messages == session.lane.bytes == session.queue_bytes == 0
    assert world.store.journal.spilled_bytes == 0
    rows = world.store.store._connection.execute
    for table in ("waiting", "lane", "flight", "delivery", "message"):
        assert rows(f"SELECT count(*) FROM {table}").fetchone() == (0,), table
    assert world.store.error is None
    return world


def test_a_flipped_payload_is_set_aside_and_the_rest_delivered(
    store: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    damaged = [AWAY_MESSAGES + 10, AWAY_MESSAGES + 11, MANY - 1]
    file = copied(store, tmp_path)
    for number in damaged:
        flip(file, payload(number).encode(), 3)
    with caplog.at_level(logging.ERROR):
        world = received(tmp_path, damaged)
    assert len([line for line in caplog.messages if "client 'away' are damaged" in line]) == 1
    aside = world.store.store._connection.execute("SELECT topic FROM damaged ORDER BY id")
    assert [topic for (topic,) in aside] == [f"t/{number}" for number in damaged]
    world.close()


def test_it_is_told_by_every_means(store: Path, tmp_path: Path) -> None:
    file = copied(store, tmp_path)
    flip(file, payload(AWAY_MESSAGES + 5).encode(), 0)
    world = received(tmp_path, [AWAY_MESSAGES + 5])
    core = world.broker.core
    [shown] = [one for one in views.sessions(core, {})["entries"] if one["client_id"] == "away"]
    assert shown["damaged"] == 1
    assert b"gossamer_dropped_damaged_total 1.0" in exposition(core)
    assert statistics(core, world.now)["dropped/damaged"] == "1"
    world.close()


def test_a_topic_that_is_no_text_any_more(store: Path, tmp_path: Path) -> None:
    """SQLite's module cannot even give it to us as a row."""
    damaged = [AWAY_MESSAGES + 700, AWAY_MESSAGES + 701, AWAY_MESSAGES + 1_900]
    file = copied(store, tmp_path)
    for number in damaged:
        flip(file, f"t/{number}{payload(number)}".encode(), 0, 0x8B)
    received(tmp_path, damaged).close()


def test_all_of_a_queue_on_disk_is_damaged(
    store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lane_reading, "MOST_SET_ASIDE", 100)
    file = copied(store, tmp_path)
    with closing(sqlite3.connect(file)) as connection, connection:
        connection.execute("UPDATE waiting SET payload = x'00', topic = 'longer' || topic")
    world = received(tmp_path, list(range(AWAY_MESSAGES, MANY)))
    rows = world.store.store._connection.execute
    assert rows("SELECT count(*) FROM damaged").fetchone() == (100,)
    client = world.client("writer")
    client.publish("t/new", payload(MANY), qos=1)
    world.settle()
    world.close()


def test_columns_of_other_kinds_are_damage_too(store: Path, tmp_path: Path) -> None:
    """Whatever stands in a column: a number for a text, nothing, a blob."""
    seed = random.randrange(1 << 30)
    print("seed", seed)
    draw = random.Random(seed)
    file = copied(store, tmp_path)
    with closing(sqlite3.connect(file)) as connection, connection:
        keys = [key for (key,) in connection.execute("SELECT id FROM waiting ORDER BY id")]
        columns = [row[1] for row in connection.execute("PRAGMA table_info(waiting)")][1:]
        damaged = sorted(draw.sample(range(SPILLED), 60))
        for index in damaged:
            value = draw.choice([None, -1, 1 << 62, 0.5, "\x00", b"\xff\xff", "é" * 100])
            column = draw.choice(columns)
            (old,) = connection.execute(
                f"SELECT {column} FROM waiting WHERE id = ?", (keys[index],)
            ).fetchone()
            value = b"other" if type(value) is type(old) and value == old else value
            connection.execute(
                f"UPDATE waiting SET {column} = ? WHERE id = ?", (value, keys[index])
            )
    received(tmp_path, [AWAY_MESSAGES + index for index in damaged]).close()


def test_a_kill_while_it_is_set_aside_counts_it_once_more_and_loses_nothing(
    store: Path, tmp_path: Path
) -> None:
    damaged = AWAY_MESSAGES + 3
    flip(copied(store, tmp_path), payload(damaged).encode(), 3)
    world = DiskWorld(tmp_path)
    client = world.client("away", clean=False, expiry=1000)
    world.turns = False
    found = client.payloads()
    world.settle()
    world.kill()
    client = world.client("away", clean=False, expiry=1000)
    found += delivered(world, client)
    world.settle()
    wanted = {payload(number) for number in range(MANY) if number != damaged}
    assert set(found) == wanted
    rows = world.store.store._connection.execute
    assert rows("SELECT count(*) FROM damaged").fetchone() == (1,)
    world.close()


@pytest.mark.parametrize("first", [0, 5])
def test_what_came_when_memory_had_all_stays_behind_what_is_damaged(
    store: Path, tmp_path: Path, first: int
) -> None:
    """The start reads such a queue: a damaged row there does not keep the broker from starting."""
    world = DiskWorld(copied(store, tmp_path / "a").parents[1])
    world.settle()
    world.turns = False
    client = world.client("away", clean=False, expiry=1000, receive_maximum=20)
    writer = world.client("writer")
    session = world.broker.core.sessions["away"]
    while session.queued() + session.lane.messages > 300:
        for packet in client.take():
            if isinstance(packet, Publish):
                client.send(Acknowledgement(PUBACK, packet.packet_id))
        world.settle()
    writer.publish("t/last", payload(MANY), qos=1)
    world.settle()
    assert session.queue is not None
    waiting = [delivery for delivery in session.queue if delivery.place]
    assert len(waiting) > 20
    chosen = [waiting[first + n].message for n in range(3)]
    shutil.copytree(tmp_path / "a" / "0", tmp_path / "b" / "0")
    world.close()
    left = [delivery.message.payload.decode() for delivery in session.queue if delivery.message]
    connection = sqlite3.connect(tmp_path / "b" / "0" / FILE_NAME)
    lost = [message.payload.decode() for message in chosen if message is not None]
    with closing(connection), connection:
        for text in lost:
            connection.execute(
                "UPDATE waiting SET topic = CAST(x'ff41' AS TEXT) WHERE payload = ?",
                (text.encode(),),
            )
    world = DiskWorld(tmp_path / "b")
    client = world.client("away", clean=False, expiry=1000)
    found = delivered(world, client)
    assert found[-1] == payload(MANY)
    wanted = [text for text in left if text not in lost]
    assert found[-len(wanted) :] == wanted
    assert world.store.journal.spilled_bytes == 0
    world.close()
