"""Retained messages: sections 3.3.1.3 and 3.8.3.1."""

import pytest

from gossamer.wire.packets import V5, V311, Request, Subscribe
from tests.support.conformance import clauses, publications
from tests.support.memory import World


@clauses("3.3.1-5 3.3.1-9", v311="3.3.1-5 3.3.1-6 3.3.1-8")
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_the_last_one_is_kept_and_sent(world: World, version: int, qos: int) -> None:
    writer = world.client("w", version)
    writer.publish("t", "first", qos, retain=True)
    writer.publish("t", "last", qos, retain=True)
    writer.disconnect()
    reader = world.client("r", version)
    reader.subscribe("t", qos=2)
    assert [(m.payload, m.retain, m.qos) for m in reader.messages()] == [(b"last", True, qos)]


@clauses("3.3.1-6 3.3.1-7", v311="3.3.1-10 3.3.1-11")
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_an_empty_one_removes_and_is_itself_passed_on(world: World, version: int, qos: int) -> None:
    writer = world.client("w", version)
    writer.publish("t", "kept", retain=True)
    watcher = world.client("watcher", version)
    watcher.subscribe("t")
    watcher.messages()
    writer.publish("t", "", qos, retain=True)
    assert [(m.payload, m.retain) for m in watcher.messages()] == [(b"", False)]
    reader = world.client("r", version)
    reader.subscribe("t")
    assert reader.messages() == []


@clauses("3.3.1-8", v311="3.3.1-12")
@pytest.mark.parametrize("payload", ["plain", ""])
def test_without_the_flag_nothing_is_kept_or_removed(
    world: World, version: int, payload: str
) -> None:
    writer = world.client("w", version)
    writer.publish("t", "kept", retain=True)
    for qos in (0, 1, 2):
        writer.publish("t", payload, qos)
    reader = world.client("r", version)
    reader.subscribe("t")
    assert reader.payloads() == ["kept"]


@clauses(v311="3.3.1-7")
def test_qos_0_replaces_what_was_kept(world: World, version: int) -> None:
    writer = world.client("w", version)
    writer.publish("t", "two", 2, retain=True)
    writer.publish("t", "zero", 0, retain=True)
    reader = world.client("r", version)
    reader.subscribe("t", qos=2)
    assert [(m.payload, m.qos) for m in reader.messages()] == [(b"zero", 0)]


@clauses("3.3.1-12", v311="3.3.1-9")
def test_to_an_established_subscription_the_flag_is_0(world: World, version: int) -> None:
    reader = world.client("r", version)
    reader.subscribe("t")
    world.client("w").publish("t", "live", retain=True)
    assert [message.retain for message in reader.messages()] == [False]


@clauses("3.3.1-13")
@pytest.mark.parametrize("retain", [False, True])
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_retain_as_published(world: World, version: int, retain: bool, qos: int) -> None:
    reader = world.client("r", version)
    reader.subscribe("t", qos=2, retain_as_published=True)
    world.client("w").publish("t", "live", qos, retain=retain)
    assert [message.retain for message in reader.messages()] == [retain]


@clauses("3.3.1-9 3.3.1-10 3.3.1-11 3.8.4-4")
@pytest.mark.parametrize(
    ("handling", "at_first", "again"),
    [(0, ["kept"], ["kept"]), (1, ["kept"], []), (2, [], [])],
)
def test_retain_handling(
    world: World, version: int, handling: int, at_first: list[str], again: list[str]
) -> None:
    world.client("w").publish("t", "kept", retain=True)
    reader = world.client("r", version)
    reader.subscribe("t", retain_handling=handling)
    assert reader.payloads() == at_first
    reader.subscribe("t", retain_handling=handling)
    assert reader.payloads() == again
    reader.unsubscribe("t")
    reader.subscribe("t", retain_handling=handling)
    assert reader.payloads() == at_first


@clauses("3.3.1-10")
def test_a_subscription_of_a_resumed_session_exists(world: World, version: int) -> None:
    world.client("w").publish("t", "kept", retain=True)
    reader = world.client("r", version, expiry=100)
    reader.subscribe("t", retain_handling=1)
    assert reader.payloads() == ["kept"]
    reader.lose()
    back = world.client("r", version, clean=False, expiry=100)
    back.subscribe("t", retain_handling=1)
    assert back.payloads() == []


@clauses("3.8.4-3 3.8.4-4", v311="3.8.4-3")
def test_subscribing_again_sends_them_again(world: World, version: int) -> None:
    world.client("w").publish("t", "kept", 1, retain=True)
    reader = world.client("r", version)
    reader.subscribe("t", qos=0)
    reader.subscribe("t", qos=1)
    assert [message.qos for message in reader.messages()] == [0, 1]


@clauses("3.8.4-5", v311="3.8.4-4")
def test_each_filter_of_one_subscribe_gets_its_own(world: World, version: int) -> None:
    writer = world.client("w")
    writer.publish("a/1", "one", retain=True)
    writer.publish("a/2", "two", retain=True)
    reader = world.client("r", version)
    reader.send(Subscribe(1, [Request("a/1"), Request("a/+"), Request("none")]))
    assert sorted(m.payload for m in publications(reader.take())) == [b"one", b"one", b"two"]


@clauses("3.3.2-5 3.3.2-6")
def test_kept_messages_expire_too(world: World, version: int) -> None:
    writer = world.client("w")
    writer.publish("short", "x", retain=True, message_expiry=5)
    writer.publish("long", "x", retain=True, message_expiry=50)
    writer.publish("at/once", "x", retain=True, message_expiry=0)
    world.wait(5)
    reader = world.client("r", version)
    reader.subscribe("#")
    (message,) = reader.messages()
    assert message.properties is not None
    assert (message.topic, message.properties.message_expiry) == ("long", 45)


@clauses("3.8.3-3")
def test_no_local_holds_for_kept_messages(world: World, version: int) -> None:
    client = world.client("c", version)
    client.publish("t/mine", "x", retain=True)
    world.client("other").publish("t/other", "x", retain=True)
    client.subscribe("t/#", no_local=True)
    assert [message.topic for message in client.messages()] == ["t/other"]
    client.subscribe("t/#", no_local=False)
    assert len(client.messages()) == 2


@clauses("4.1.0-2", v311="3.1.2-7")
def test_they_are_no_part_of_the_session(world: World, version: int) -> None:
    writer = world.client("w", version)
    writer.publish("t", "kept", retain=True)
    writer.lose()
    world.client("w", version).disconnect()
    reader = world.client("r", version)
    reader.subscribe("t")
    assert reader.payloads() == ["kept"]


@clauses("4.7.2-1", v311="4.7.2-1")
@pytest.mark.parametrize(
    ("filter", "found"),
    [("#", 0), ("+/x", 0), ("+/#", 0), ("$app/#", 1), ("$app/+", 1), ("$app/x", 1)],
)
def test_dollar_topics(world: World, version: int, filter: str, found: int) -> None:
    world.client("w").publish("$app/x", retain=True)
    reader = world.client("r", version)
    reader.subscribe(filter)
    assert len(reader.messages()) == found


@pytest.mark.parametrize("writer_version", [V311, V5])
@pytest.mark.parametrize("reader_version", [V311, V5])
def test_versions_mix(world: World, writer_version: int, reader_version: int) -> None:
    world.client("w", writer_version).publish("t", "kept", 1, retain=True)
    reader = world.client("r", reader_version)
    reader.subscribe("#", qos=1)
    assert reader.payloads() == ["kept"]
