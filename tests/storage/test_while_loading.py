"""What a broker does with rows that are damaged, queues that fill and clients that subscribe, while
it reads its store: nothing ends it, no queue outgrows its limit, nothing comes twice."""

import logging
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

import pytest

from gossamer.session.queue_policy import DROP_NEWEST, DROP_OLDEST
from gossamer.storage import unread
from gossamer.storage.damaged_rows import MOST_AT_START
from gossamer.storage.files import FILE_NAME, StoreDamaged
from gossamer.storage.sqlite_store import SqliteStore
from tests.support.disk_world import DiskWorld

QUEUED = 40
RETAINED = 1_300  # more than are read at once


def filled(folder: Path, retained: int = RETAINED) -> Path:
    """A store with a queue that is in memory whole, and retained messages."""
    world = DiskWorld(folder)
    away = world.client("away", clean=False, expiry=100_000)
    away.subscribe("q/#", qos=1)
    away.lose()
    writer = world.client("writer")
    world.turns = False
    for number in range(QUEUED):
        writer.publish(f"q/{number}", f"queued {number}", qos=1, packet_id=number + 1)
    for number in range(retained):
        packet_id = QUEUED + number + 1
        writer.publish(f"r/{number}", f"kept {number}", qos=1, retain=True, packet_id=packet_id)
    world.settle()
    world.close()
    return folder / "0" / FILE_NAME


def changed(file: Path, *statements: str) -> None:
    with closing(sqlite3.connect(file)) as connection, connection:
        for statement in statements:
            connection.execute(statement)


def table(world: DiskWorld, statement: str) -> list[object]:
    return [row[0] for row in world.store.store._connection.execute(statement)]


def queue_of(world: DiskWorld) -> list[str]:
    client = world.client("away", clean=False, expiry=100_000)
    found: list[str] = []
    while payloads := client.payloads():
        found += payloads
        world.settle()
    client.lose()
    return found


def retained_of(world: DiskWorld) -> set[str]:
    client = world.client("looking")
    client.subscribe("r/#")
    world.settle()
    found = set(client.payloads())
    client.lose()
    return found


BROKEN = {
    "content": "UPDATE message SET payload = x'00' WHERE topic IN ('q/7', 'r/900')",
    "text": "UPDATE message SET topic = CAST(x'ff41' AS TEXT) WHERE topic IN ('q/7', 'r/900')",
    "kind": "UPDATE message SET qos = 'one' WHERE topic IN ('q/7', 'r/900')",
    "gone": "DELETE FROM message WHERE topic IN ('q/7', 'r/900')",
}


@pytest.mark.parametrize("kind", BROKEN)
def test_a_damaged_row_is_set_aside_and_the_rest_is_there(
    tmp_path: Path, kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    changed(filled(tmp_path), BROKEN[kind])
    queued = [f"queued {number}" for number in range(QUEUED) if number != 7]
    kept = {f"kept {number}" for number in range(RETAINED) if number != 900}
    world = DiskWorld(tmp_path)
    assert world.store.journal.unread.has_more
    with caplog.at_level(logging.ERROR):
        world.settle()
    assert world.store.error is None
    core = world.broker.core
    assert core.counters.damaged == 2
    assert core.sessions["away"].lane.damaged == 1
    lines = "\n".join(caplog.messages)
    assert "delivery" in lines
    assert "retained" in lines
    if kind != "gone":
        assert len(table(world, "SELECT id FROM damaged")) == 2
    assert retained_of(world) == kept
    assert queue_of(world) == queued
    world.kill()  # nothing of it is met again
    assert world.broker.core.counters.damaged == 0
    assert retained_of(world) == kept
    assert table(world, "SELECT count(*) FROM retained") == [len(kept)]
    world.close()


@pytest.mark.parametrize("column", ["state", "qos", "packet_id"])
def test_a_delivery_that_is_no_delivery(tmp_path: Path, column: str) -> None:
    changed(filled(tmp_path, 10), f"UPDATE delivery SET {column} = 99999999 WHERE id = 5")
    world = DiskWorld(tmp_path)
    world.settle()
    assert world.store.error is None
    assert world.broker.core.counters.damaged == 1
    assert len(queue_of(world)) == QUEUED - 1
    world.close()


@pytest.mark.parametrize("column", ["session", "number"])
def test_a_delivery_of_nobody_refuses_the_start_with_the_way_out(
    tmp_path: Path, column: str
) -> None:
    changed(filled(tmp_path, 10), f"UPDATE delivery SET {column} = 'x' WHERE id = 5")
    with pytest.raises(StoreDamaged, match="gossamer store repair"):
        SqliteStore(tmp_path / "0", "off", in_background=True)


def test_too_many_end_the_broker_and_stay_where_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unread, "MOST_AT_START", 100)
    assert MOST_AT_START > 100
    changed(filled(tmp_path), "UPDATE message SET payload = x'00' WHERE topic LIKE 'r/%'")
    world = DiskWorld(tmp_path)
    with suppress(AssertionError):
        world.settle()
    assert isinstance(world.store.error, StoreDamaged)
    assert "gossamer store repair" in str(world.store.error)
    world.close()
    with closing(sqlite3.connect(tmp_path / "0" / FILE_NAME)) as connection:
        assert connection.execute("SELECT count(*) FROM retained").fetchone() == (RETAINED,)


@pytest.mark.parametrize("policy", [DROP_NEWEST, DROP_OLDEST])
def test_a_queue_that_is_not_read_yet_keeps_its_limit(tmp_path: Path, policy: int) -> None:
    filled(tmp_path)
    most = QUEUED + 20
    world = DiskWorld(tmp_path, max_queued=most, queue_policy=policy)
    world.turns = False
    session = world.broker.core.sessions["away"]
    writer = world.client("writer")
    for number in range(most * 3):
        writer.publish(f"q/new/{number}", f"new {number}", qos=1, packet_id=number + 1)
        assert session.queued() + session.lane.messages <= most
    assert world.store.journal.unread.has_more
    world.settle()
    assert not world.store.journal.unread.has_more
    found = queue_of(world)
    assert len(found) == most
    old = [f"queued {number}" for number in range(QUEUED)]
    if policy == DROP_NEWEST:
        assert found == [*old, *(f"new {number}" for number in range(20))]
    else:
        assert found == [f"new {number}" for number in range(2 * most, 3 * most)]
    assert world.broker.core.counters.dropped_full == QUEUED + 3 * most - most
    world.close()


def test_what_comes_while_a_subscriber_waits_comes_once(tmp_path: Path) -> None:
    filled(tmp_path)
    world = DiskWorld(tmp_path)
    world.turns = False
    reader = world.client("reader")
    reader.subscribe("r/#", qos=1)
    writer = world.client("writer")
    writer.publish("r/5", "changed", qos=1, retain=True, packet_id=1)
    writer.publish("r/new", "new", qos=1, retain=True, packet_id=2)
    assert world.store.journal.unread.has_retained
    world.settle()
    found = reader.payloads()
    world.settle()
    found += reader.payloads()
    kept = [f"kept {number}" for number in range(RETAINED) if number != 5]
    assert sorted(found) == sorted([*kept, "changed", "new"])
    world.close()


def test_what_a_waiting_subscriber_missed_is_not_held_back(tmp_path: Path) -> None:
    """What is dropped at QoS 0 for a client that does not read comes as a retained message."""
    filled(tmp_path, 700)
    world = DiskWorld(tmp_path)
    world.turns = False
    reader = world.client("reader")
    reader.subscribe("r/#", qos=0)
    reader.connection.outbox.blocked = True
    writer = world.client("writer")
    writer.publish("r/5", "changed", retain=True)
    reader.connection.unblocked(world.now)
    world.settle()
    assert "changed" in reader.payloads()
    world.close()
