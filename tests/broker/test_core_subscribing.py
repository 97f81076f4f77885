"""Subscriptions, retained messages and shared groups."""

import pytest

from gossamer.wire.packets import V5, V311, Disconnect, Suback
from tests.support.memory import World


@pytest.fixture
def world() -> World:
    return World()


@pytest.mark.parametrize(
    ("filter", "v5"),
    [("a/#/b", 0x8F), ("a+", 0x8F), ("$share/g", 0x8F), ("$share//t", 0x8F), ("$share/+/t", 0x8F)],
)
def test_bad_filters(world: World, filter: str, v5: int) -> None:
    assert world.client("five").subscribe(filter) == [v5]
    assert world.client("four", V311).subscribe(filter) == [0x80]


def test_each_filter_is_answered_for_itself(world: World) -> None:
    client = world.client("c")
    assert client.subscribe("good", "b#d", "also/+", qos=1) == [1, 0x8F, 1]


def test_too_deep_filters_and_too_many_subscriptions() -> None:
    world = World(max_levels=5, max_subscriptions=2)
    client = world.client("c")
    assert client.subscribe("a/b/c/d/e/f") == [0x8F]
    assert client.subscribe("1", "2", "3") == [0, 0, 0x97]
    assert client.subscribe("1", qos=1) == [1]


def test_a_refusal_has_a_text(world: World) -> None:
    client = world.client("c")
    client.subscribe("bad#")
    client.send_bytes(b"")
    client.connection.receive(b"\x82\x0a\x00\x01\x00\x00\x04bad#\x00", world.now)
    world.broker.flush(world.now)
    answer = client.take()[-1]
    assert isinstance(answer, Suback)
    assert answer.properties is not None
    assert "#" in (answer.properties.reason_string or "")


def test_retained(world: World) -> None:
    writer = world.client("w")
    writer.publish("r/1", "old", retain=True)
    writer.publish("r/1", "new", retain=True, qos=1)
    writer.publish("r/2", "two", retain=True)
    reader = world.client("r")
    reader.subscribe("r/+", qos=2)
    messages = sorted(reader.messages(), key=lambda m: m.topic)
    assert [(m.topic, m.payload, m.retain, m.qos) for m in messages] == [
        ("r/1", b"new", True, 1),
        ("r/2", b"two", True, 0),
    ]
    writer.publish("r/1", "live", retain=True)
    (live,) = reader.messages()
    assert not live.retain
    writer.publish("r/1", "", retain=True)
    late = world.client("late")
    late.subscribe("#")
    assert [m.topic for m in late.messages()] == ["r/2"]


def test_retain_handling_and_retain_as_published(world: World) -> None:
    writer = world.client("w")
    writer.publish("t", "kept", retain=True)
    client = world.client("c")
    client.subscribe("t", retain_handling=2)
    assert client.messages() == []
    client.subscribe("t", retain_handling=1)
    assert client.messages() == []
    client.subscribe("t", retain_handling=0)
    assert client.payloads() == ["kept"]
    client.unsubscribe("t")
    client.subscribe("t", retain_handling=1, retain_as_published=True)
    assert client.payloads() == ["kept"]
    writer.publish("t", "flagged", retain=True)
    writer.publish("t", "plain")
    assert [m.retain for m in client.messages()] == [True, False]


def test_retained_expiry_and_limit() -> None:
    world = World(max_retained=3)  # one is the broker's own: $SYS/capabilities
    writer = world.client("w")
    writer.publish("a", "1", retain=True, message_expiry=10)
    writer.publish("b", "2", retain=True)
    writer.publish("c", "3", retain=True, qos=1)
    assert writer.take()[0].reason == 0x97  # type: ignore[attr-defined]
    world.wait(61)
    reader = world.client("r")
    reader.subscribe("#")
    assert reader.payloads() == ["2"]
    assert len(world.broker.core.retained) == 2


def test_many_retained_messages_are_sent_at_the_readers_pace(world: World) -> None:
    writer = world.client("w")
    for number in range(2000):
        writer.publish(f"r/{number}", "x" * 500, retain=True)
    reader = world.client("r")
    reader.subscribe("r/#")
    assert len(reader.messages()) == 2000


def test_shared_subscription_takes_turns(world: World) -> None:
    members = [world.client(f"m{i}") for i in range(3)]
    for member in members:
        member.subscribe("$share/g/t/+", qos=1)
    outsider = world.client("o")
    outsider.subscribe("t/#")
    writer = world.client("w")
    for number in range(9):
        writer.publish("t/x", str(number), qos=number % 2, packet_id=number + 1)
    got = [member.payloads() for member in members]
    everything = sorted(payload for each in got for payload in each)
    assert everything == [str(number) for number in range(9)]
    assert all(len(each) == 3 for each in got)
    assert len(outsider.messages()) == 9


def test_shared_groups_of_other_names_each_get_a_copy(world: World) -> None:
    one, two = world.client("1"), world.client("2")
    one.subscribe("$share/a/t")
    two.subscribe("$share/b/t")
    world.client("w").publish("t")
    assert len(one.messages()) == len(two.messages()) == 1


def test_a_member_that_leaves_gives_its_messages_to_others(world: World) -> None:
    leaver = world.client("leaver")
    leaver.subscribe("$share/g/t", qos=1)
    writer = world.client("w")
    writer.publish("t", "unacknowledged", qos=1)
    assert len(leaver.take()) == 1
    stayer = world.client("stayer")
    stayer.subscribe("$share/g/t", qos=1)
    leaver.lose()
    assert stayer.payloads() == ["unacknowledged"]
    writer.publish("t", "next", qos=1)
    assert stayer.payloads() == ["next"]


def test_no_retained_messages_for_shared_subscriptions(world: World) -> None:
    world.client("w").publish("t", retain=True)
    member = world.client("m")
    member.subscribe("$share/g/t")
    assert member.messages() == []


def test_no_local_on_a_shared_subscription_is_an_error(world: World) -> None:
    member = world.client("m")
    member.send_bytes(b"\x82\x10\x00\x01\x00\x00\x0a$share/g/t\x04")
    (goodbye,) = member.take()
    assert isinstance(goodbye, Disconnect)
    assert goodbye.reason == 0x82


def test_unsubscribe_answers(world: World) -> None:
    for version in (V311, V5):
        client = world.client(f"c{version}", version)
        client.subscribe("a")
        client.send_bytes(
            b"\xa2\x08\x00\x07\x00\x01a\x00\x01b"
            if version == V311
            else b"\xa2\x09\x00\x07\x00\x00\x01a\x00\x01b"
        )
        (answer,) = client.take()
        assert answer.packet_id == 7  # type: ignore[attr-defined]
        assert answer.reasons == ([] if version == V311 else [0, 0x11])  # type: ignore[attr-defined]
