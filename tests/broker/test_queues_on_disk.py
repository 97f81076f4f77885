"""Queues that are longer than memory should hold, on the store that ships: nothing is lost, twice
or out of order; limits and policies hold; who may not have a message any more does not get it."""

import random
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gossamer.broker.policy import Permissions
from gossamer.session.identity import Identity
from gossamer.session.queue import AWAY_BYTES, AWAY_MESSAGES, PRESENT_MESSAGES
from gossamer.session.queue_policy import DROP_OLDEST, REFUSE
from gossamer.session.records import DeliveryRecord
from gossamer.storage import sqlite_store
from gossamer.storage.files import StoreDamaged
from gossamer.wire import reasons
from gossamer.wire.packets import PUBACK, PUBCOMP, PUBREC, V311, Acknowledgement, Publish
from tests.support.disk_world import DiskWorld
from tests.support.memory import MemoryClient

MANY = AWAY_MESSAGES + 2_500


@pytest.fixture
def world(tmp_path: Path) -> Iterator[DiskWorld]:
    made = DiskWorld(tmp_path)
    yield made
    made.close()


def away(world: DiskWorld, filter: str = "t", name: str = "away", qos: int = 1) -> None:
    client = world.client(name, clean=False, expiry=1000)
    client.subscribe(filter, qos=qos)
    client.lose()


def back(world: DiskWorld, name: str = "away", **more: Any) -> MemoryClient:
    return world.client(name, clean=False, expiry=1000, **more)


def publish(
    world: DiskWorld, first: int, last: int, topic: str = "t", qos: int = 1, **more: Any
) -> None:
    writer = world.client("writer")
    world.turns = False
    for number in range(first, last):
        packet_id = number % 60_000 + 1
        writer.publish(topic, str(number), qos=qos, packet_id=packet_id, **more)
        if number % 500 == 0:
            world.settle()
    world.turns = True
    world.settle()
    writer.disconnect()


def numbers(world: DiskWorld, client: MemoryClient) -> list[int]:
    found: list[int] = []
    while payloads := client.payloads():
        found += [int(text) for text in payloads]
        world.settle()
    return found


@pytest.mark.parametrize("qos", [1, 2])
def test_a_long_queue_comes_in_order_and_leaves_nothing(world: DiskWorld, qos: int) -> None:
    away(world, qos=qos)
    publish(world, 0, MANY, qos=qos)
    session = world.broker.core.sessions["away"]
    assert session.queued() == AWAY_MESSAGES
    assert session.lane.messages == MANY - AWAY_MESSAGES
    reader = back(world)
    assert numbers(world, reader) == list(range(MANY))
    assert session.lane.messages == session.lane.bytes == session.queue_bytes == 0
    assert world.store.journal.spilled_bytes == 0
    world.settle()
    rows = world.store.store._connection.execute
    for table in ("waiting", "lane", "flight", "delivery", "message"):
        assert rows(f"SELECT count(*) FROM {table}").fetchone() == (0,), table


def test_memory_holds_few_bytes_of_large_messages(world: DiskWorld) -> None:
    away(world)
    writer = world.client("writer")
    for number in range(30):
        writer.publish("t", str(number).ljust(200_000), qos=1, packet_id=number + 1)
    session = world.broker.core.sessions["away"]
    assert session.queue_bytes <= AWAY_BYTES
    assert session.lane.messages > 20
    assert numbers(world, back(world)) == list(range(30))


@pytest.mark.parametrize("seed", range(5))
def test_kills_at_any_time(world: DiskWorld, seed: int) -> None:
    """The reader comes and goes, more is published, the broker is killed: at QoS 1 what was on its
    way may come twice."""
    print("seed", seed)
    chance = random.Random(seed)
    away(world)
    published = 0
    received: list[int] = []
    for _ in range(8):
        more = chance.choice((1, 700, 2_000))
        publish(world, published, published + more)
        published += more
        reader = back(world, receive_maximum=chance.choice((1, 20, 2_000)))
        for _ in range(chance.randrange(4)):
            packets = [each for each in reader.take() if isinstance(each, Publish)]
            received += [int(each.payload) for each in packets]
            world.turns = chance.random() < 0.5
            for each in packets[: chance.randrange(len(packets) + 1)]:
                reader.send(Acknowledgement(PUBACK, each.packet_id))
            world.turns = True
        if chance.random() < 0.6:
            world.kill()
        else:
            reader.lose()
    received += numbers(world, back(world))
    assert list(dict.fromkeys(received)) == list(range(published))
    assert world.broker.core.sessions["away"].lane.bytes == 0


def test_what_comes_meanwhile_is_behind_and_a_slow_client_stays_in_order(world: DiskWorld) -> None:
    away(world)
    publish(world, 0, 2_000)
    reader = back(world, receive_maximum=10)
    publish(world, 2_000, 2_500)
    assert numbers(world, reader) == list(range(2_500))


def test_what_comes_behind_a_queue_that_was_read_back_is_behind_it_after_a_kill(
    world: DiskWorld,
) -> None:
    away(world)
    publish(world, 0, AWAY_MESSAGES + 500)
    back(world, receive_maximum=10)
    session = world.broker.core.sessions["away"]
    assert session.lane.messages == 0
    publish(world, AWAY_MESSAGES + 500, AWAY_MESSAGES + 600)
    world.kill()
    assert numbers(world, back(world)) == list(range(AWAY_MESSAGES + 600))


@pytest.mark.parametrize("qos", [1, 2])
@pytest.mark.parametrize("seed", range(3))
def test_what_was_sent_from_the_disk_is_sent_again_under_its_identifier(
    world: DiskWorld, qos: int, seed: int
) -> None:
    """Acknowledged in any order, and killed between: the rest comes again, marked, in order."""
    print("seed", seed)
    chance = random.Random(seed)
    away(world, qos=qos)
    publish(world, 0, MANY, qos=qos)
    reader = back(world, receive_maximum=100)
    known: dict[int, int] = {}  # packet identifiers of what is not acknowledged, by number
    released: set[int] = set()  # identifiers of what is acknowledged but for its PUBCOMP
    done: set[int] = set()
    while len(done) < MANY:
        packets = reader.take()
        for each in packets:
            if isinstance(each, Publish):
                number = int(each.payload)
                assert number not in done
                assert each.dup == (number in known)
                assert known.setdefault(number, each.packet_id) == each.packet_id
        again = [int(each.payload) for each in packets if isinstance(each, Publish)]
        assert again == sorted(again)
        if chance.random() < 0.05:
            world.kill()
            reader = back(world, receive_maximum=100)
            continue
        waiting = sorted(known)
        if chance.random() < 0.3:
            chance.shuffle(waiting)
        for number in waiting[: chance.choice((1, 30, 100))]:
            done.add(number)
            if qos == 1:
                reader.send(Acknowledgement(PUBACK, known.pop(number)))
            else:
                released.add(known[number])
                reader.send(Acknowledgement(PUBREC, known.pop(number)))
        for packet_id in sorted(released):
            if chance.random() < 0.8:
                released.discard(packet_id)
                reader.send(Acknowledgement(PUBCOMP, packet_id))
        world.settle()
    for packet_id in released:
        reader.send(Acknowledgement(PUBCOMP, packet_id))
    world.settle()
    rows = world.store.store._connection.execute
    for table in ("waiting", "lane", "flight", "delivery", "message"):
        assert rows(f"SELECT count(*) FROM {table}").fetchone() == (0,), table


def test_a_burst_for_a_client_that_is_there_needs_no_disk_to_wait(world: DiskWorld) -> None:
    reader = back(world, receive_maximum=5)
    reader.subscribe("t", qos=1)
    publish(world, 0, PRESENT_MESSAGES)
    assert world.broker.core.sessions["away"].lane.messages == 0
    publish(world, PRESENT_MESSAGES, PRESENT_MESSAGES + 10)
    assert world.broker.core.sessions["away"].lane.messages > 0
    assert numbers(world, reader) == list(range(PRESENT_MESSAGES + 10))


def test_identifiers_properties_and_flags_survive(world: DiskWorld) -> None:
    client = world.client("away", clean=False, expiry=1000)
    client.subscribe("t", qos=1, identifier=7, retain_as_published=True)
    client.lose()
    publish(world, 0, AWAY_MESSAGES)
    writer = world.client("w2")
    writer.publish("t", "5", qos=1, retain=True, content_type="a", user=[("k", "ü")])
    world.kill()
    last = back(world).messages()[-1]
    assert last.retain
    assert last.properties is not None
    assert last.properties.subscription_ids == [7]
    assert last.properties.content_type == "a"
    assert last.properties.user == [("k", "ü")]


def test_messages_expire_in_the_store_too(world: DiskWorld) -> None:
    away(world)
    publish(world, 0, AWAY_MESSAGES)
    publish(world, AWAY_MESSAGES, AWAY_MESSAGES + 50, message_expiry=10)
    publish(world, AWAY_MESSAGES + 50, AWAY_MESSAGES + 60)
    world.wait(20)
    expected = [*range(AWAY_MESSAGES), *range(AWAY_MESSAGES + 50, AWAY_MESSAGES + 60)]
    assert numbers(world, back(world)) == expected
    assert world.broker.core.counters.expired == 50
    assert world.store.journal.spilled_bytes == 0


def test_the_oldest_are_dropped_from_the_disk(world: DiskWorld) -> None:
    world.settings.queue_policy = DROP_OLDEST
    world.settings.max_queued = 2_000
    away(world)
    publish(world, 0, 7_000)
    session = world.broker.core.sessions["away"]
    kept = session.queued() + session.lane.messages
    assert 2_000 <= kept <= 2_001
    assert session.dropped == 7_000 - kept
    world.kill()
    assert numbers(world, back(world)) == list(range(7_000 - kept, 7_000))


def test_the_disk_has_a_share_for_queues(world: DiskWorld) -> None:
    """What others fill, a queue may not take; it keeps what it has."""
    world.settings.queue_policy = REFUSE
    away(world)
    publish(world, 0, AWAY_MESSAGES + 10)
    world.store.journal.spill_limit = world.store.journal.spilled_bytes + 50
    writer = world.client("w5")
    writer.send(Publish("t", b"1", 1, packet_id=9))
    answers = [each for each in writer.take() if isinstance(each, Acknowledgement)]
    assert [each.reason for each in answers] == [reasons.QUOTA_EXCEEDED]
    old = world.client("w3", V311)
    old.send(Publish("t", b"2", 1, packet_id=3))
    assert old.take() == []
    world.store.journal.spill_limit = 1 << 60
    world.wait(1)
    assert [each.packet_id for each in old.take() if isinstance(each, Acknowledgement)] == [3]
    assert numbers(world, back(world)) == [*range(AWAY_MESSAGES + 10), 2]


def test_shared_messages_of_a_session_that_ends_go_to_others(world: DiskWorld) -> None:
    away(world, "$share/g/t", "one")
    publish(world, 0, MANY)
    away(world, "$share/g/t", "two")
    world.broker.disconnect("one", world.now, discard=True)
    world.settle()
    world.kill()  # while most of it is still to be handed on, or after
    world.wait(1)
    received = numbers(world, back(world, "two"))
    assert sorted(received) == list(range(MANY))
    assert world.store.journal.estates == []
    assert world.store.journal.spilled_bytes == 0


def test_a_discarded_queue_leaves_no_row(world: DiskWorld) -> None:
    away(world)
    publish(world, 0, MANY)
    world.broker.disconnect("away", world.now, discard=True)
    world.settle()
    rows = world.store.store._connection.execute
    assert rows("SELECT count(*) FROM lane").fetchone() == (0,)
    for _ in range(10):
        world.settle()
        world.store.store._writer._untidy = True
    assert rows("SELECT count(*) FROM waiting").fetchone() == (0,)
    # A session of the same name begins anew, also if something was left.
    away(world)
    publish(world, 0, MANY)
    world.kill()
    assert numbers(world, back(world)) == list(range(MANY))


def test_an_ended_session_takes_nothing_from_its_successor(world: DiskWorld) -> None:
    """It waited for the store when it ended, and was full."""
    world.settings.queue_policy = DROP_OLDEST
    world.settings.max_queued = 1_500
    away(world)
    publish(world, 0, 2_000)
    old = world.broker.core.sessions["away"]
    world.turns = False
    back(world, receive_maximum=1)  # it asks the store for more
    world.broker.disconnect("away", world.now, discard=True)
    world.turns = True
    world.settle()
    away(world)
    publish(world, 0, 1_400)
    world.settle()
    assert old.queued() + old.lane.messages <= 1_500
    assert not old.is_full
    assert not old.is_starving
    assert numbers(world, back(world)) == list(range(1_400))


class Forbidding(Permissions):
    def __init__(self) -> None:
        super().__init__()
        self.restricts = True

    def may_receive(self, identity: Identity, topic: str) -> bool:
        return topic != "secret"


def test_who_may_not_read_any_more_gets_nothing_from_the_store(world: DiskWorld) -> None:
    away(world, "#")
    publish(world, 0, AWAY_MESSAGES)
    publish(world, AWAY_MESSAGES, AWAY_MESSAGES + 100, topic="secret")
    publish(world, AWAY_MESSAGES + 100, AWAY_MESSAGES + 200)
    world.broker.set_permissions(Forbidding(), world.now)
    expected = [*range(AWAY_MESSAGES), *range(AWAY_MESSAGES + 100, AWAY_MESSAGES + 200)]
    assert numbers(world, back(world)) == expected
    assert world.store.journal.spilled_bytes == 0


def test_a_session_that_will_not_last_gets_what_it_had_spilled(world: DiskWorld) -> None:
    away(world)
    publish(world, 0, MANY)
    reader = world.client("away", clean=False, expiry=0)
    assert reader.connack.session_present
    publish(world, MANY, MANY + 10)
    assert numbers(world, reader) == list(range(MANY + 10))
    reader.lose()
    assert world.store.journal.spilled_bytes == 0


def test_a_damaged_tree_that_is_found_when_a_queue_is_read_is_reported(
    world: DiskWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A damaged row is set aside (`test_damaged_rows.py`); without a tree nobody knows what is."""
    away(world)
    publish(world, 0, AWAY_MESSAGES + 5)

    def read(*bounds: object) -> Iterator[DeliveryRecord]:
        raise sqlite3.DatabaseError("database disk image is malformed")

    monkeypatch.setattr(sqlite_store, "lane_records", read)
    world.turns = False
    back(world)
    with pytest.raises(AssertionError, match="is damaged"):
        world.settle()
    assert isinstance(world.store.error, StoreDamaged)
