"""Sequences in the broker: what passes as it is, retained messages, timers, rights, restarts."""

import json

import pytest

from gossamer.storage.memory_journal import MemoryJournal
from tests.support.lives import Life
from tests.support.memory import MemoryClient, World


@pytest.fixture
def world() -> World:
    return World()


def received(client: MemoryClient) -> list[tuple[str, str]]:
    return [(message.topic, message.payload.decode()) for message in client.messages()]


def test_what_passes_keeps_its_properties_and_what_waits_does_not(world: World) -> None:
    reader = world.client("r")
    reader.subscribe("$EVERY;10s/t", "$CHANGED;1/t", qos=1)
    writer = world.client("w")
    writer.publish("t", "5", user=[("unit", "bar")])
    writer.publish("t", "5.5", user=[("unit", "bar")])
    first = {message.topic: message for message in reader.messages()}
    assert first.keys() == {"$EVERY;10s/t", "$CHANGED;1/t"}
    for message in first.values():
        assert message.qos == 0
        assert message.properties is not None
        assert message.properties.user == [("unit", "bar")]
    world.wait(10)
    [late] = reader.messages()
    assert (late.topic, late.payload, late.qos) == ("$EVERY;10s/t", b"5.5", 1)
    assert late.properties is None or late.properties.user == []


def test_silence_of_a_named_topic_is_told_though_it_never_spoke(world: World) -> None:
    reader = world.client("r")
    reader.subscribe("$ABSENT;5min/pump/state", "$ABSENT;5min/+/temp", qos=1)
    world.client("w").publish("a/temp", "20", retain=True)
    world.wait(299)
    assert received(reader) == []
    world.wait(1)
    assert sorted(received(reader)) == [
        ("$ABSENT;5min/a/temp", "1"),
        ("$ABSENT;5min/pump/state", "1"),
    ]
    late = world.client("late")
    late.subscribe("$ABSENT;5min/+/temp")
    assert received(late) == [("$ABSENT;5min/a/temp", "1")]


def test_what_is_retained_is_the_first_value(world: World) -> None:
    writer = world.client("w")
    writer.publish("t", "20", retain=True)
    reader = world.client("r")
    reader.subscribe("$CHANGED;1/t", "$DELTA/t", "$RATE/t")
    assert received(reader) == [("$CHANGED;1/t", "20")]
    writer.publish("t", "20.5")
    assert received(reader) == [("$DELTA/t", "0.5")]


def test_no_local_holds_for_what_passes_at_once(world: World) -> None:
    client = world.client("c")
    client.subscribe("$CHANGED/t", no_local=True)
    client.publish("t", "5")
    assert client.messages() == []
    world.client("w").publish("t", "6")
    assert received(client) == [("$CHANGED/t", "6")]


def test_they_are_told_in_the_capabilities(world: World) -> None:
    client = world.client("c")
    client.subscribe("$SYS/capabilities")
    [message] = client.messages()
    told = {one["keyword"]: one for one in json.loads(message.payload)}
    assert (told["$CHANGED"]["kind"], told["$CHANGED"]["returns"]) == ("sequence", "payload")
    assert (told["$RATE"]["kind"], told["$RATE"]["returns"]) == ("sequence", "value")


def test_nothing_is_left_of_them(world: World) -> None:
    reader = world.client("r")
    filters = ["$CHANGED/+", "$SUM$HOURLYSUM$DELTA/+", "$EVERY;9s$AVG/+", "$ABSENT;9s/t"]
    held = world.broker.core.ledger.operators.held
    reader.subscribe(*filters)
    writer = world.client("w")
    for value in ("1", "2", "3"):
        writer.publish("t", value)
    reader.unsubscribe(*filters)
    world.wait(300)
    world.wait(300)
    assert world.broker.core.operators.operations == {}
    assert world.broker.core.ledger.operators.held == held
    assert world.broker.core.operators.engine.next_due() == float("inf")


def test_what_was_remembered_survives_a_crash() -> None:
    life = Life(MemoryJournal(), 36_000.0)
    reader = life.world.visitor()
    reader.connect("r", clean=False, expiry=100_000)
    filters = [
        "$CHANGED;1/t",
        "$DELTA/t",
        "$EVERY;60s/t",
        "$ABSENT;60s/t",
        "$SUM$HOURLYSUM$DELTA/+",
    ]
    reader.subscribe(*filters, qos=1)
    writer = life.world.visitor()
    writer.connect("w")
    for value in ("10", "12", "12.5"):
        writer.publish("t", value, qos=1)
    life.commit()
    reader.messages()
    life.commit()
    after = life.next(20)
    reader = after.world.visitor()
    reader.connect("r", clean=False, expiry=100_000)
    after.commit()
    reader.messages()
    after.world.wait(40)
    after.commit()
    assert sorted(received(reader)) == [("$ABSENT;60s/t", "1"), ("$EVERY;60s/t", "12.5")]
    writer = after.world.visitor()
    writer.connect("w")
    writer.publish("t", "13", qos=1)
    after.commit()
    assert sorted(received(reader)) == [("$ABSENT;60s/t", "0"), ("$DELTA/t", "0.5")]
    after.world.wait(3600)
    after.commit()
    assert ("$SUM$HOURLYSUM$DELTA/$AGGREGATE", "3.0") in received(reader)
