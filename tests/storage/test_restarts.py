"""What a client sees of a broker that crashed and came back."""

import pytest

from gossamer.wire.packets import (
    PUBACK,
    PUBCOMP,
    PUBREC,
    PUBREL,
    V5,
    V311,
    Acknowledgement,
    Connack,
    Publish,
    Suback,
    Will,
)
from gossamer.wire.reasons import (
    NO_MATCHING_SUBSCRIBERS,
    QUOTA_EXCEEDED,
    SUCCESS,
    UNSPECIFIED_ERROR,
)
from tests.support.durable_world import DurableWorld
from tests.support.memory import MemoryClient, properties


@pytest.fixture
def world() -> DurableWorld:
    return DurableWorld()


@pytest.mark.parametrize("version", [V311, V5])
def test_a_session_comes_back_routable(world: DurableWorld, version: int) -> None:
    expiry = 1000 if version == V5 else None
    world.client("r", version, clean=False, expiry=expiry).subscribe("a/+", qos=1)
    world.crash()
    world.client("w").publish("a/b", "later", qos=1)
    back = world.client("r", version, clean=False, expiry=expiry)
    assert back.connack.session_present
    assert back.payloads() == ["later"]


def test_what_was_sent_comes_again_marked_as_duplicate(world: DurableWorld) -> None:
    reader = world.client("r", clean=False, expiry=1000)
    reader.subscribe("t", qos=2)
    writer = world.client("w")
    writer.publish("t", "one", qos=1, packet_id=1)
    writer.publish("t", "two", qos=2, packet_id=2)
    first = [packet for packet in reader.take() if isinstance(packet, Publish)]
    world.crash()
    again = world.client("r", clean=False, expiry=1000).messages()
    assert [(m.payload, m.dup) for m in again] == [(b"one", True), (b"two", True)]
    assert [m.packet_id for m in again] == [m.packet_id for m in first]


def test_what_was_received_is_released_and_not_sent_again(world: DurableWorld) -> None:
    reader = world.client("r", clean=False, expiry=1000)
    reader.subscribe("t", qos=2)
    world.client("w").publish("t", qos=2)
    (message,) = [packet for packet in reader.take() if isinstance(packet, Publish)]
    reader.send(Acknowledgement(PUBREC, message.packet_id))
    world.crash()
    back = world.client("r", clean=False, expiry=1000)
    (release,) = back.take()
    assert isinstance(release, Acknowledgement)
    assert (release.kind, release.packet_id) == (PUBREL, message.packet_id)
    back.send(Acknowledgement(PUBCOMP, message.packet_id))
    world.crash()
    assert world.client("r", clean=False, expiry=1000).take() == []


def test_an_exactly_once_publication_is_taken_once_over_a_crash(world: DurableWorld) -> None:
    reader = world.client("r", clean=False, expiry=1000)
    reader.subscribe("t", qos=2)
    writer = world.client("w", clean=False, expiry=1000)
    writer.send(Publish("t", b"x", 2, packet_id=7))
    assert [packet.kind for packet in writer.take()] == [PUBREC]
    world.crash()
    writer = world.client("w", clean=False, expiry=1000)
    writer.send(Publish("t", b"x", 2, dup=True, packet_id=7))
    assert [packet.kind for packet in writer.take()] == [PUBREC]
    writer.send(Acknowledgement(PUBREL, 7))
    assert [packet.kind for packet in writer.take()] == [PUBCOMP]
    assert world.client("r", clean=False, expiry=1000).payloads() == ["x"]


def test_retained_messages_come_back_with_their_properties(world: DurableWorld) -> None:
    writer = world.client("w")
    writer.publish("kept", "1", qos=1, retain=True, content_type="text", user=[("k", "v")])
    writer.publish("gone", "1", qos=1, retain=True)
    writer.publish("gone", "", qos=1, retain=True)
    world.crash()
    reader = world.client("r")
    reader.subscribe("#")
    (message,) = reader.messages()
    assert (message.topic, message.payload, message.retain) == ("kept", b"1", True)
    assert message.properties is not None
    assert (message.properties.content_type, message.properties.user) == ("text", [("k", "v")])


def test_time_spent_down_counts_for_expiry(world: DurableWorld) -> None:
    for name, expiry in (("short", 10), ("long", 100)):
        reader = world.client(name, clean=False, expiry=expiry)
        reader.subscribe("t", qos=1)
        reader.disconnect()
    world.client("w").publish("t", qos=1, message_expiry=5)
    world.client("w").publish("t", "fresh", qos=1)
    world.crash(seconds_down=50)
    world.wait(1)
    assert list(world.broker.core.sessions) == ["long"]
    assert world.client("long", clean=False, expiry=100).payloads() == ["fresh"]
    world.crash()
    assert [one.record.client_id for one in world.journal.snapshot.sessions] == ["long"]


def test_a_delayed_will_is_published_after_the_restart(world: DurableWorld) -> None:
    reader = world.client("r")
    will = Will("last", b"words", 1, False, properties(will_delay=30))
    world.client("gone", clean=False, expiry=1000, will=will).lose()
    world.crash(seconds_down=10)
    reader = world.client("r")
    reader.subscribe("last", qos=1)
    world.wait(10)
    assert reader.payloads() == []
    world.wait(15)
    assert reader.payloads() == ["words"]
    world.crash()
    world.wait(100)
    reader = world.client("r")
    reader.subscribe("last", qos=1)
    assert reader.payloads() == []


def test_a_client_that_was_connected_at_the_crash_leaves_its_will(world: DurableWorld) -> None:
    world.client("gone", clean=False, expiry=1000, will=Will("last", b"words", 1, True))
    world.crash()
    world.wait(1)
    reader = world.client("r")
    reader.subscribe("last", qos=1)
    assert reader.payloads() == ["words"]


def test_nothing_is_acknowledged_before_it_is_committed(world: DurableWorld) -> None:
    reader = world.client("r", clean=False, expiry=1000)
    writer = world.client("w", clean=False, expiry=1000)
    world.commits = False
    reader.send_bytes(b"\x82\x07\x00\x01\x00\x00\x01t\x02")
    assert reader.take() == []
    world.commit()
    assert [type(packet) for packet in reader.take()] == [Suback]
    writer.send(Publish("t", b"x", 1, packet_id=1))
    writer.send(Publish("t", b"x", 2, packet_id=2))
    assert writer.take() == []
    assert [packet.qos for packet in reader.take() if isinstance(packet, Publish)] == [1]
    world.commit()
    assert [packet.kind for packet in writer.take()] == [PUBACK, PUBREC]
    assert [packet.qos for packet in reader.take() if isinstance(packet, Publish)] == [2]


def test_the_answer_to_a_repeated_publication_waits_for_the_first(world: DurableWorld) -> None:
    writer = world.client("w", clean=False, expiry=1000)
    world.commits = False
    writer.send(Publish("t", b"x", 2, packet_id=2))
    batch = world.journal.take()
    writer.send(Publish("t", b"x", 2, dup=True, packet_id=2))
    assert writer.take() == []
    world.journal.tables.apply(batch)
    world.broker.committed(batch.number, world.now)
    assert [packet.kind for packet in writer.take()] == [PUBREC, PUBREC]


def test_a_discarded_session_does_not_come_back(world: DurableWorld) -> None:
    world.client("r", clean=False, expiry=1000).subscribe("t", qos=1)
    world.commits = False
    again = world.visitor()
    again.connect("r", clean=True, expiry=1000)
    assert again.connack.reason != SUCCESS  # no answer while the old session is still on disk
    world.commit()
    world.commits = True
    world.crash()
    back = world.client("r", clean=False, expiry=1000)
    assert back.connack.session_present
    assert world.broker.core.counters.subscriptions == 0


def fill(world: DurableWorld, writer: MemoryClient) -> None:
    """The disk takes no more: the batch with this publication waits, and its answer with it."""
    world.commits = False
    writer.publish("t", "waits", qos=1, packet_id=1)
    world.journal.accepts = False
    assert writer.take() == []


def make_room(world: DurableWorld) -> None:
    world.journal.accepts = True
    world.commits = True
    world.commit()


def test_a_full_store_refuses_durable_work_and_serves_the_rest(world: DurableWorld) -> None:
    reader = world.client("r", clean=False, expiry=1000)
    reader.subscribe("t", qos=1)
    passer = world.client("p")
    passer.subscribe("q", qos=1)
    fill(world, world.client("first"))
    writer = world.client("w")
    writer.publish("t", "refused", qos=1, packet_id=3)
    (answer,) = writer.take()
    assert isinstance(answer, Acknowledgement)
    assert (answer.kind, answer.reason) == (PUBACK, QUOTA_EXCEEDED)
    assert reader.subscribe("u", qos=1) == [QUOTA_EXCEEDED]
    reader.payloads()
    writer.publish("t", "passes")
    assert reader.payloads() == ["passes"]
    for topic, payload, expected in [("q", "live", ["live"]), ("nobody", "gone", [])]:
        writer.publish(topic, payload, qos=1, packet_id=4)
        (answer,) = writer.take()
        assert isinstance(answer, Acknowledgement)
        assert answer.reason < UNSPECIFIED_ERROR
        assert passer.payloads() == expected
    make_room(world)
    writer.publish("t", "kept", qos=1)
    assert reader.payloads() == ["kept"]


def test_a_full_store_answers_in_order(world: DurableWorld) -> None:
    world.client("r", clean=False, expiry=1000).subscribe("t", qos=1)
    writer = world.client("w")
    fill(world, writer)
    writer.publish("t", "refused", qos=1, packet_id=2)
    writer.publish("q", "live", qos=1, packet_id=3)
    assert writer.take() == []
    make_room(world)
    answers = [packet for packet in writer.take() if isinstance(packet, Acknowledgement)]
    assert [(answer.packet_id, answer.reason) for answer in answers] == [
        (1, SUCCESS),
        (2, QUOTA_EXCEEDED),
        (3, NO_MATCHING_SUBSCRIBERS),
    ]


def test_a_full_store_lets_kept_sessions_in_and_makes_no_new_ones(world: DurableWorld) -> None:
    reader = world.client("r", clean=False, expiry=1000)
    reader.subscribe("t", qos=1)
    world.client("old", clean=False, expiry=1000)
    writer = world.client("w")
    reader.lose()
    writer.publish("t", "queued", qos=1, packet_id=9)
    assert len(writer.take()) == 1
    late = world.visitor()
    fill(world, writer)
    back = world.client("r", clean=False, expiry=1000)
    assert back.payloads() == ["queued", "waits"]
    assert back.subscribe("t", qos=1) == [1]
    assert back.subscribe("t", qos=0) == [QUOTA_EXCEEDED]
    for name, clean, expiry in [("new", False, 1000), ("new", True, 1000), ("old", True, 0)]:
        visitor = world.visitor()
        visitor.connect(name, clean=clean, expiry=expiry)
        assert visitor.connack.reason == QUOTA_EXCEEDED
    assert world.client("fleeting").connack.reason == SUCCESS
    make_room(world)
    late.connect("new", clean=False, expiry=1000)
    assert late.connack.reason == SUCCESS


def test_a_session_that_never_was_on_disk_waits_for_it(world: DurableWorld) -> None:
    world.client("r", clean=False, expiry=1000).subscribe("t", qos=1)
    writer = world.client("w")
    world.commits = False
    world.visitor().connect("young", clean=False, expiry=1000)
    fill(world, writer)
    again = world.visitor()
    again.connect("young", clean=False, expiry=1000)
    assert again.take() == []
    make_room(world)
    (answer,) = again.take()
    assert isinstance(answer, Connack)
    assert answer.session_present
