"""What is published reaches who asked for it, as they asked for it."""

import pytest

from gossamer.wire.packets import (
    PUBACK,
    PUBCOMP,
    PUBREC,
    PUBREL,
    V5,
    V311,
    Acknowledgement,
    Disconnect,
    Publish,
)
from tests.support.memory import World


@pytest.fixture
def world() -> World:
    return World()


@pytest.mark.parametrize("publisher", [V311, V5])
@pytest.mark.parametrize("subscriber", [V311, V5])
@pytest.mark.parametrize("sent", [0, 1, 2])
@pytest.mark.parametrize("granted", [0, 1, 2])
def test_qos_is_the_lower_of_both(
    world: World, publisher: int, subscriber: int, sent: int, granted: int
) -> None:
    reader = world.client("reader", subscriber)
    assert reader.subscribe("a/+", qos=granted) == [granted]
    writer = world.client("writer", publisher)
    writer.publish("a/b", "hello", qos=sent)
    (message,) = reader.messages()
    assert (message.topic, message.payload, message.qos) == ("a/b", b"hello", min(sent, granted))
    assert not message.retain
    assert not message.dup


@pytest.mark.parametrize("version", [V311, V5])
def test_a_run_of_plain_packets_arrives_whole_and_in_order(world: World, version: int) -> None:
    readers = [world.client(f"r{i}", v) for i, v in enumerate((V311, V5, V5))]
    for reader in readers[:2]:
        reader.subscribe("run/#")
    readers[2].subscribe("run/#", identifier=7)
    writer = world.client("w", version)
    writer.send(*(Publish("run/x" if i % 5 else "run/other", b"%03d" % i) for i in range(100)))
    for reader in readers:
        assert reader.payloads() == [f"{i:03d}" for i in range(100)]


def test_a_run_that_is_cut_between_reads(world: World) -> None:
    reader = world.client("r")
    reader.subscribe("t")
    writer = world.client("w", V311)
    data = b"".join(b"\x30\x05\x00\x01t" + b"%02d" % i for i in range(20))
    for cut in range(0, len(data), 11):
        writer.send_bytes(data[cut : cut + 11])
    assert reader.payloads() == [f"{i:02d}" for i in range(20)]


def test_subscription_changes_take_effect_between_two_packets(world: World) -> None:
    reader = world.client("r")
    writer = world.client("w")
    for filter in ("a/b", "a/#", "+/b", "#"):
        writer.publish("a/b", "before")
        reader.subscribe(filter)
        writer.publish("a/b", "during")
        reader.unsubscribe(filter)
        writer.publish("a/b", "after")
        assert reader.payloads() == ["during"], filter


def test_overlapping_subscriptions_give_one_copy_with_all_identifiers(world: World) -> None:
    reader = world.client("r")
    reader.subscribe("a/#", identifier=1, qos=1)
    reader.subscribe("a/+", identifier=2, qos=2)
    world.client("w").publish("a/b", qos=2)
    (message,) = reader.messages()
    assert message.qos == 2
    assert message.properties is not None
    assert sorted(message.properties.subscription_ids) == [1, 2]


def test_no_local(world: World) -> None:
    both = world.client("b")
    both.subscribe("own", no_local=True)
    both.publish("own")
    assert both.messages() == []
    world.client("other").publish("own")
    assert len(both.messages()) == 1
    both.subscribe("+", qos=1)
    both.publish("own", "mine", qos=1)
    assert both.payloads() == ["mine"]


def test_dollar_topics_hide_from_wildcards(world: World) -> None:
    reader = world.client("r")
    reader.subscribe("#", "+/x")
    reader.subscribe("$app/#", identifier=3)
    world.client("w").publish("$app/x")
    (message,) = reader.messages()
    assert message.properties is not None
    assert message.properties.subscription_ids == [3]


@pytest.mark.parametrize("topic", ["$SYS/broker/x", "$share/g/t"])
def test_reserved_topics_are_refused(world: World, topic: str) -> None:
    writer = world.client("w")
    writer.publish(topic, qos=1)
    (answer,) = writer.take()
    assert isinstance(answer, Acknowledgement)
    assert answer.reason == 0x87


def test_qos_2_is_published_once_however_often_it_is_sent(world: World) -> None:
    reader = world.client("r")
    reader.subscribe("t", qos=2)
    writer = world.client("w")
    for dup in (False, True, True):
        writer.send(Publish("t", b"1", 2, False, dup, 9))
    assert [packet.kind for packet in writer.take()] == [PUBREC] * 3
    writer.send(Acknowledgement(PUBREL, 9))
    assert [packet.kind for packet in writer.take()] == [PUBCOMP]
    assert reader.payloads() == ["1"]
    writer.send(Publish("t", b"2", 2, False, False, 9))
    assert reader.payloads() == ["2"]


def test_unknown_identifiers_are_answered(world: World) -> None:
    writer = world.client("w")
    writer.send(Acknowledgement(PUBREL, 5), Acknowledgement(PUBREC, 6), Acknowledgement(PUBACK, 7))
    answers = writer.take()
    assert [(a.kind, a.packet_id, a.reason) for a in answers] == [  # type: ignore[attr-defined]
        (PUBCOMP, 5, 0x92),
        (PUBREL, 6, 0x92),
    ]


def test_no_matching_subscribers_is_told_in_5(world: World) -> None:
    for version, reason in ((V5, 0x10), (V311, 0)):
        writer = world.client(f"w{version}", version)
        writer.publish("nobody", qos=1)
        (answer,) = writer.take()
        assert isinstance(answer, Acknowledgement)
        assert answer.reason == reason


def test_the_window_holds_back_and_order_is_kept(world: World) -> None:
    reader = world.client("r", receive_maximum=3)
    reader.subscribe("t", qos=1)
    writer = world.client("w")
    for number in range(10):
        writer.publish("t", str(number), qos=1, packet_id=number + 1)
    first = reader.take()
    assert [p.payload for p in first if isinstance(p, Publish)] == [b"0", b"1", b"2"]
    for packet in first:
        assert isinstance(packet, Publish)
        reader.send(Acknowledgement(PUBACK, packet.packet_id))
    assert reader.payloads() == [str(number) for number in range(3, 10)]


def test_a_client_over_our_receive_maximum_is_disconnected() -> None:
    world = World(receive_maximum=5)
    writer = world.client("w")
    assert writer.connack.properties is not None
    assert writer.connack.properties.receive_maximum == 5
    for number in range(6):
        writer.send(Publish("t", b"", 2, False, False, number + 1))
    assert isinstance(last := writer.take()[-1], Disconnect)
    assert last.reason == 0x93
    assert writer.is_closed


def test_topic_alias_from_the_client(world: World) -> None:
    reader = world.client("r")
    reader.subscribe("#")
    writer = world.client("w")
    writer.publish("long/topic", "1", topic_alias=3)
    writer.publish("", "2", topic_alias=3)
    writer.publish("other", "3", topic_alias=3)
    writer.publish("", "4", topic_alias=3)
    assert [(m.topic, m.payload) for m in reader.messages()] == [
        ("long/topic", b"1"),
        ("long/topic", b"2"),
        ("other", b"3"),
        ("other", b"4"),
    ]
    writer.publish("", "5", topic_alias=4)
    (goodbye,) = writer.take()
    assert isinstance(goodbye, Disconnect)
    assert goodbye.reason == 0x82


def test_topic_alias_to_the_client(world: World) -> None:
    reader = world.client("r", topic_alias_maximum=1)
    reader.subscribe("#")
    writer = world.client("w")
    for topic in ("a", "a", "b", "a", "b"):
        writer.publish(topic)
    seen = [(m.topic, m.properties and m.properties.topic_alias) for m in reader.messages()]
    assert seen == [("a", 1), ("", 1), ("b", None), ("", 1), ("b", None)]


def test_a_held_packet_introduces_no_alias(world: World) -> None:
    reader = world.client("r", topic_alias_maximum=5)
    reader.subscribe("#", qos=2)
    writer = world.client("w")
    writer.publish("a", qos=2)
    writer.publish("a")
    writer.publish("a", qos=2, packet_id=2)
    seen = [(m.topic, m.properties and m.properties.topic_alias) for m in reader.messages()]
    assert seen == [("a", None), ("a", 1), ("", 1)]


def test_a_message_over_the_readers_maximum_is_skipped(world: World) -> None:
    reader = world.client("r", maximum_packet_size=30)
    reader.subscribe("t", qos=2)
    writer = world.client("w")
    for qos in (0, 1, 2):
        writer.publish("t", "x" * 100, qos=qos)
        writer.publish("t", "small", qos=qos)
    assert reader.payloads() == ["small"] * 3
    assert world.broker.core.counters.dropped_too_large == 3


def test_properties_travel_on(world: World) -> None:
    reader = world.client("r")
    old = world.client("old", V311)
    for each in (reader, old):
        each.subscribe("t", qos=1)
    world.client("w").publish(
        "t",
        "p",
        qos=1,
        payload_format=1,
        content_type="text/plain",
        response_topic="back",
        correlation_data=b"42",
        user=[("k", "v"), ("k", "w")],
        message_expiry=60,
    )
    (message,) = reader.messages()
    got = message.properties
    assert got is not None
    assert (got.payload_format, got.content_type, got.response_topic) == (1, "text/plain", "back")
    assert (got.correlation_data, got.user) == (b"42", [("k", "v"), ("k", "w")])
    assert got.message_expiry == 60
    assert old.payloads() == ["p"]


def test_a_reader_that_does_not_read_loses_qos_0_and_keeps_qos_1(world: World) -> None:
    reader = world.client("r")
    reader.subscribe("t", qos=1)
    writer = world.client("w")
    reader.connection.outbox.blocked = True
    for number in range(5):
        writer.publish("t", f"zero{number}")
        writer.publish("t", f"one{number}", qos=1, packet_id=number + 1)
    assert reader.messages() == []
    assert world.broker.core.counters.dropped_slow == 5
    reader.connection.unblocked(world.now)
    world.broker.flush(world.now)
    assert reader.payloads() == [f"one{number}" for number in range(5)]


def test_a_full_queue_refuses_what_is_new() -> None:
    world = World(max_queued=3)
    reader = world.client("r", clean=False, expiry=100)
    reader.subscribe("t", qos=1)
    reader.lose()
    writer = world.client("w")
    for number in range(5):
        writer.publish("t", str(number), qos=1, packet_id=number + 1)
    back = world.client("r", clean=False, expiry=100)
    assert back.payloads() == ["0", "1", "2"]
    assert world.broker.core.counters.dropped_full == 2
