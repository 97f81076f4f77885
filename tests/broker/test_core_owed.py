"""Retained messages for subscriptions: all of them, at the client's pace, for little memory."""

import pytest

from gossamer.broker.retained_delivery import SLICE
from gossamer.session.records import Snapshot
from gossamer.storage.memory_journal import MemoryJournal
from gossamer.wire.packets import V5, V311, Publish, Request, Suback, Subscribe
from tests.support.memory import MemoryClient, World

RETAINED = 100


def a_world(messages: int = RETAINED, journal: MemoryJournal | None = None) -> World:
    world = World(journal)
    writer = world.client("w")
    for number in range(messages):
        writer.publish(f"t/{number}", f"{number}", retain=True, qos=1)
    return world


def a_journal() -> MemoryJournal:
    """Keeps everything, and nobody has to wait for it."""
    journal = MemoryJournal()
    journal.durable = False
    return journal


def kept(journal: MemoryJournal) -> Snapshot:
    journal.commit()
    return journal.restarted().snapshot


def waiting(world: World, client: str) -> int:
    """Deliveries that the broker remembers one by one."""
    return world.broker.core.sessions[client].queued()


def numbers(client: MemoryClient) -> list[int]:
    return sorted(int(payload) for payload in client.payloads())


@pytest.mark.parametrize("version", [V311, V5])
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_a_filter_repeated_in_one_packet_is_answered_each_time_and_served_once(
    version: int, qos: int
) -> None:
    world = a_world()
    reader = world.client("r", version)
    repeats = 20_000
    reader.send(Subscribe(1, [Request("#", qos)] * repeats))
    packets = reader.take()
    [answer] = [packet for packet in packets if isinstance(packet, Suback)]
    assert answer.reasons == [qos] * repeats
    reader._later = [packet for packet in packets if isinstance(packet, Publish)]
    assert numbers(reader) == list(range(RETAINED))
    assert waiting(world, "r") == 0


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_a_client_that_does_not_read_is_owed_filters_not_deliveries(qos: int) -> None:
    world = a_world(3 * SLICE)
    reader = world.client("r")
    reader.connection.outbox.blocked = True
    for _ in range(50):
        reader.send(Subscribe(1, [Request(f, qos) for f in ("#", "t/+", "t/#", "+/1") * 20]))
    assert waiting(world, "r") <= SLICE
    owed = world.broker.core.sessions["r"].owed
    assert owed is not None
    assert len(owed.filters) == 4
    reader.connection.unblocked(world.now)
    world.broker.flush(world.now)
    found = numbers(reader)
    assert found == sorted([*range(3 * SLICE)] * 3 + [1])
    assert world.broker.core.sessions["r"].owed is None


def test_subscribed_again_everything_is_sent_again() -> None:
    """[MQTT-3.8.4-4]"""
    world = a_world()
    reader = world.client("r")
    for _ in range(3):
        reader.subscribe("#")
        assert numbers(reader) == list(range(RETAINED))


def test_retain_handling_of_every_occurrence_counts() -> None:
    world = a_world(3)
    reader = world.client("r")
    new_only, never = Request("#", 0, retain_handling=1), Request("#", 0, retain_handling=2)
    reader.send(Subscribe(1, [never, new_only]))
    assert reader.payloads() == []  # the first made it known
    reader.unsubscribe("#")
    reader.send(Subscribe(1, [new_only, never]))
    assert len(reader.payloads()) == 3


def test_what_changes_while_it_is_owed_is_sent_as_it_is_then() -> None:
    world = a_world(2 * SLICE)
    reader = world.client("r", receive_maximum=10)
    reader.subscribe("#", qos=1)
    session = world.broker.core.sessions["r"]
    assert session.owed is not None
    begun = [one.message for one in (*session.head(), *session.inflight.values())]
    later = {f"t/{number}" for number in range(2 * SLICE)} - {one.topic for one in begun if one}
    removed, replaced, *_ = sorted(later)
    writer = world.client("w2")
    writer.publish(removed, "", retain=True)
    writer.publish(replaced, "new", retain=True)
    writer.publish("t/another", "live", retain=True)
    came = reader.messages()
    found = [(one.topic, one.payload) for one in came if one.retain]
    assert len(found) == 2 * SLICE - 2
    assert removed not in [topic for topic, _ in found]
    assert replaced not in [topic for topic, _ in found]
    live = [(one.topic, one.payload) for one in came if not one.retain]
    assert live == [(removed, b""), (replaced, b"new"), ("t/another", b"live")]


def test_an_ended_subscription_is_owed_nothing() -> None:
    world = a_world(3 * SLICE)
    reader = world.client("r", receive_maximum=10)
    reader.subscribe("#", "t/+", qos=1)
    reader.unsubscribe("#", "t/+")
    assert len(reader.payloads()) == SLICE  # what was in the queue is delivered [MQTT-3.10.4-3]
    assert world.broker.core.sessions["r"].owed is None


@pytest.mark.parametrize("stops", ["client", "broker"])
def test_what_is_owed_outlives_connections_and_the_broker(stops: str) -> None:
    journal = a_journal()
    world = a_world(3 * SLICE, journal)
    reader = world.client("r", clean=False, expiry=1000, receive_maximum=10)
    reader.subscribe("#", "t/7", qos=1)
    reader.lose()
    if stops == "broker":
        journal.commit()
        journal = journal.restarted()
        journal.durable = False
        world = World(journal)
        world.broker.restore(journal.snapshot, world.now)
    reader = world.client("r", clean=False, expiry=1000, receive_maximum=10)
    assert reader.connack.session_present
    found = numbers(reader)
    # From the beginning after a restart: those under way when it stopped come twice.
    assert sorted(set(found)) == list(range(3 * SLICE))
    assert found.count(7) >= 2
    assert len(found) <= 4 * SLICE + 1
    assert not kept(journal).rooms.get("owed")


def test_a_session_that_ends_leaves_no_debt() -> None:
    journal = a_journal()
    world = a_world(3 * SLICE, journal)
    reader = world.client("r", clean=False, expiry=10, receive_maximum=10)
    reader.subscribe("#", qos=1)
    assert kept(journal).rooms.get("owed")
    reader.lose()
    world.wait(11.0)
    assert not kept(journal).rooms.get("owed")


def test_a_repeated_filter_ends_as_it_was_asked_for_last() -> None:
    world = a_world(1)
    reader = world.client("r")
    requests = [Request("#", 0), Request("#", 0), Request("#", 2), Request("#", 2), Request("#", 1)]
    reader.send(Subscribe(1, requests))
    [answer] = [packet for packet in reader.take() if isinstance(packet, Suback)]
    assert answer.reasons == [0, 0, 2, 2, 1]
    assert world.broker.core.sessions["r"].subscriptions["#"].record.qos == 1


def test_a_repeated_refusal_is_repeated() -> None:
    reader = World().client("r")
    assert reader.subscribe("$gossamer/x", "$gossamer/x", "a/#/b", "a/#/b") == [
        0x87,
        0x87,
        0x8F,
        0x8F,
    ]
