"""What waits for one client is bounded in bytes, and a full queue does what its policy says.

Each policy in a broker without a store, and with one that holds what is too much for memory.
"""

import logging
from collections.abc import Callable
from typing import Any

import pytest

from gossamer.session.queue_policy import DROP_NEWEST, DROP_OLDEST, REFUSE
from gossamer.wire import reasons
from gossamer.wire.packets import (
    PUBACK,
    PUBCOMP,
    PUBREC,
    PUBREL,
    V5,
    V311,
    Acknowledgement,
    Publish,
    Will,
)
from tests.support.durable_world import DurableWorld
from tests.support.memory import MemoryClient, World, properties

LIMIT = 12_000
SIZE = 3_000  # of a payload: three messages fit, whatever else counts for each


def in_memory(**settings: Any) -> World:
    return World(max_queued_memory=LIMIT, **settings)


def on_disk(**settings: object) -> World:
    return DurableWorld(max_queued_bytes=LIMIT, **settings)


Maker = Callable[..., World]


@pytest.fixture(params=[in_memory, on_disk], ids=["memory", "disk"])
def make(request: pytest.FixtureRequest) -> Maker:
    made: Maker = request.param
    return made


def payload(number: int) -> str:
    return str(number).ljust(SIZE)


def away(world: World, name: str = "away", qos: int = 1) -> None:
    client = world.client(name, clean=False, expiry=1000)
    client.subscribe("t", qos=qos)
    client.lose()


def back(world: World, name: str = "away") -> MemoryClient:
    return world.client(name, clean=False, expiry=1000)


def numbers(client: MemoryClient) -> list[int]:
    """What it has received, acknowledged to the end."""
    return [int(text) for text in client.payloads()]


def answers(client: MemoryClient) -> list[Acknowledgement]:
    return [each for each in client.take() if isinstance(each, Acknowledgement)]


def publish(client: MemoryClient, number: int, qos: int = 1, dup: bool = False) -> list[int]:
    """The reasons that it is answered with; at QoS 2 what was taken is released."""
    client.send(Publish("t", payload(number).encode(), qos, False, dup, number))
    kind = PUBACK if qos == 1 else PUBREC
    found = answers(client)
    assert all(each.kind == kind and each.packet_id == number for each in found)
    reasons_given = [each.reason for each in found]
    if qos == 2 and reasons_given == [reasons.SUCCESS]:
        client.send(Acknowledgement(PUBREL, number))
        assert [each.kind for each in answers(client)] == [PUBCOMP]
    return reasons_given


def test_drop_newest_keeps_what_it_has(make: Maker, caplog: pytest.LogCaptureFixture) -> None:
    world = make(queue_policy=DROP_NEWEST)
    away(world)
    writer = world.client("writer")
    with caplog.at_level(logging.INFO, "gossamer.session.queue"):
        for number in range(1, 21):
            assert publish(writer, number) == [reasons.SUCCESS]
        assert [each.levelname for each in caplog.records] == ["WARNING"]
        assert "client 'away' is full" in caplog.text
        assert "new messages for it are dropped" in caplog.text
        session = world.broker.core.sessions["away"]
        assert session.is_full
        assert session.dropped == world.broker.core.counters.dropped_full == 17
        assert session.queue_bytes + session.lane.bytes <= LIMIT
        reader = back(world)
        assert numbers(reader) == [1, 2, 3]
        assert not session.is_full
        assert len(caplog.records) == 2
        assert "has room again" in caplog.text
    publish(writer, 21)
    assert numbers(reader) == [21]
    assert session.queue_bytes == session.lane.bytes == 0


def test_drop_oldest_keeps_the_last(make: Maker) -> None:
    world = make(queue_policy=DROP_OLDEST)
    away(world)
    writer = world.client("writer")
    for number in range(1, 21):
        assert publish(writer, number) == [reasons.SUCCESS]
    assert world.broker.core.counters.dropped_full == 17
    assert numbers(back(world)) == [18, 19, 20]


@pytest.mark.parametrize("qos", [1, 2])
def test_refuse_tells_a_publisher_of_5(make: Maker, qos: int) -> None:
    world = make(queue_policy=REFUSE)
    away(world, qos=qos)
    online = world.client("online")
    online.subscribe("t", qos=1)
    writer = world.client("writer")
    refused = []
    for number in range(1, 7):
        if publish(writer, number, qos) == [reasons.QUOTA_EXCEEDED]:
            refused.append(number)
    assert refused == [4, 5, 6]
    assert world.broker.core.counters.dropped_full == 0
    assert world.broker.core.counters.publications_refused == 3
    assert numbers(online) == [1, 2, 3, 4, 5, 6]  # those that have room get it all the same
    reader = back(world)
    assert numbers(reader) == [1, 2, 3]
    for number in refused:
        assert publish(writer, number, qos) == [reasons.SUCCESS]
    assert numbers(reader) == [4, 5, 6]
    assert numbers(online) == []  # and once


def test_the_same_message_later_is_a_new_one(make: Maker) -> None:
    world = make(queue_policy=REFUSE)
    away(world)
    online = world.client("online")
    online.subscribe("t", qos=1)
    writer = world.client("writer", keep_alive=0)
    for number in range(1, 5):
        publish(writer, number)
    assert numbers(online) == [1, 2, 3, 4]
    world.wait(61)
    assert not world.broker.core.refusals.missed  # so that others take the fast road again
    assert publish(writer, 4) == [reasons.QUOTA_EXCEEDED]
    assert numbers(online) == [4]


@pytest.mark.parametrize("qos", [1, 2])
def test_refuse_lets_a_publisher_of_311_wait(make: Maker, qos: int) -> None:
    world = make(queue_policy=REFUSE)
    away(world, qos=1)
    online = world.client("online")
    online.subscribe("t", qos=1)
    writer = world.client("writer", V311, clean=False)
    for number in range(1, 4):
        assert publish(writer, number, qos) == [reasons.SUCCESS]
    assert publish(writer, 4, qos) == []
    assert not writer.is_closed
    assert numbers(online) == [1, 2, 3, 4]
    # It connects again and sends again, as it must: nobody gets it twice, and it still waits.
    writer.lose()
    writer = world.client("writer", V311, clean=False)
    assert publish(writer, 4, qos, dup=True) == []
    assert numbers(online) == []
    reader = back(world)
    assert numbers(reader) == [1, 2, 3, 4]
    assert [each.packet_id for each in answers(writer)] == [4]
    assert numbers(online) == []


@pytest.mark.parametrize("qos", [1, 2])
def test_a_publisher_of_311_that_is_away_when_there_is_room(make: Maker, qos: int) -> None:
    world = make(queue_policy=REFUSE)
    away(world, qos=1)
    writer = world.client("writer", V311, clean=False)
    for number in range(1, 5):
        publish(writer, number, qos)
    writer.lose()
    reader = back(world)
    assert numbers(reader) == [1, 2, 3, 4]
    writer = world.client("writer", V311, clean=False)
    assert publish(writer, 4, qos, dup=True) == [reasons.SUCCESS]
    assert numbers(reader) == []


def test_a_publisher_of_311_that_does_not_wait_is_not_answered(make: Maker) -> None:
    """A queue goes over its limit by a quarter; then nothing is taken, and nothing is lost."""
    world = make(queue_policy=REFUSE)
    away(world)
    online = world.client("online")
    online.subscribe("t", qos=1)
    writer = world.client("writer", V311, clean=False)
    answered = [number for number in range(1, 11) if publish(writer, number)]
    assert answered == [1, 2, 3]
    session = world.broker.core.sessions["away"]
    assert session.queue_bytes + session.lane.bytes <= LIMIT * 1.25
    assert numbers(online) == list(range(1, 11))
    reader = back(world)
    taken = numbers(reader)
    assert taken == list(range(1, len(taken) + 1))
    assert {each.packet_id for each in answers(writer)} == set(taken) - {1, 2, 3}
    writer.lose()
    writer = world.client("writer", V311, clean=False)
    for number in range(len(taken) + 1, 11):
        assert publish(writer, number, dup=True) == [reasons.SUCCESS]
    assert numbers(reader) == list(range(len(taken) + 1, 11))
    assert numbers(online) == []


def test_a_full_session_that_ends_lets_its_publishers_go(make: Maker) -> None:
    world = make(queue_policy=REFUSE)
    away(world)
    writer = world.client("writer", V311)
    for number in range(1, 5):
        publish(writer, number)
    world.broker.disconnect("away", world.now, discard=True)
    world.wait(0)
    assert [each.packet_id for each in answers(writer)] == [4]


def test_a_will_is_dropped_by_a_full_queue(make: Maker) -> None:
    world = make(queue_policy=REFUSE)
    away(world)
    writer = world.client("writer")
    for number in range(1, 4):
        publish(writer, number)
    dying = world.client("dying", will=Will("t", payload(9).encode(), 1))
    dying.lose()
    assert publish(writer, 5) == [reasons.QUOTA_EXCEEDED]
    assert world.broker.core.counters.dropped_full == 1
    assert numbers(back(world)) == [1, 2, 3]


def test_a_shared_message_goes_to_a_member_with_room(make: Maker) -> None:
    world = make(queue_policy=REFUSE)
    for name in ("one", "two"):
        member = world.client(name, clean=False, expiry=1000)
        member.subscribe("$share/g/t", qos=1)
        member.lose()
    writer = world.client("writer")
    results = [publish(writer, number) for number in range(1, 8)]
    assert results == [[reasons.SUCCESS]] * 6 + [[reasons.QUOTA_EXCEEDED]]
    assert sorted(numbers(back(world, "one")) + numbers(back(world, "two"))) == [1, 2, 3, 4, 5, 6]


def test_topics_and_properties_count_as_well_as_payloads(make: Maker) -> None:
    world = make()
    client = world.client("away", clean=False, expiry=1000)
    client.subscribe("#", qos=1)
    client.lose()
    writer = world.client("writer")
    for number in range(1, 21):
        made = Publish(
            "u" * 1000,
            b"",
            1,
            packet_id=number,
            properties=properties(user=[("k" * 500, "v" * 500)], correlation_data=bytes(1000)),
        )
        writer.send(made)
    assert world.broker.core.counters.dropped_full >= 17


def test_a_message_that_nothing_waits_before_is_always_taken(make: Maker) -> None:
    world = make()
    away(world)
    writer = world.client("writer")
    writer.publish("t", "7".ljust(2 * LIMIT), qos=1, packet_id=1)
    assert numbers(back(world)) == [7]


def test_a_client_that_reads_slowly_is_bounded_too() -> None:
    """A session that ends with its connection has no store to go to."""
    world = DurableWorld(max_queued_memory=LIMIT, max_queued_bytes=1 << 30)
    slow = world.client("slow", receive_maximum=1)
    slow.subscribe("t", qos=1)
    writer = world.client("writer")
    for number in range(1, 21):
        publish(writer, number)
    session = world.broker.core.sessions["slow"]
    assert session.lane.messages == 0
    assert session.queue_bytes <= LIMIT
    assert numbers(slow) == [1, 2, 3, 4]


def test_the_number_of_messages_may_be_bounded_as_before(make: Maker) -> None:
    world = make(max_queued=2)
    away(world)
    writer = world.client("writer")
    for number in range(1, 4):
        writer.publish("t", str(number), qos=1, packet_id=number)
    assert numbers(back(world)) == [1, 2]


def test_publishers_of_both_versions_at_once(make: Maker) -> None:
    world = make(queue_policy=REFUSE)
    away(world)
    new = world.client("new", V5)
    old = world.client("old", V311)
    for number in range(1, 4):
        publish(new, number)
    assert publish(new, 4) == [reasons.QUOTA_EXCEEDED]
    assert publish(old, 5) == []
    assert numbers(back(world)) == [1, 2, 3, 5]
    assert [each.packet_id for each in answers(old)] == [5]
