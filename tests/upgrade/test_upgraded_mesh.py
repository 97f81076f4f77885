"""Three brokers of an earlier version that were killed one after the other, started with this one.

What waited for neighbours arrives, in order and as often as its QoS says; sessions are where they
were, and move when their clients do.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gossamer.wire.packets import Publish, Request
from tests.support.fixtures.device import Device
from tests.support.fixtures.meshes import line, reaches, retained_at, running
from tests.support.fixtures.process import HERE, Broker
from tests.support.kept_fixtures import Fixture

pytestmark = pytest.mark.processes

Brokers = dict[str, Broker]
Expected = dict[str, Any]


@pytest.fixture
def expected(fixture: Fixture) -> Expected:
    return fixture.table("mesh")


@pytest.fixture
def brokers(fixture: Fixture, tmp_path: Path) -> Iterator[Brokers]:
    folder = fixture.unpack("mesh", tmp_path / "mesh")
    with running(line(dict.fromkeys("abc", HERE), folder)) as brokers:
        yield brokers


def back(broker: Broker, client_id: str) -> Device:
    device = Device(broker.port, client_id)
    assert device.resumed, f"{client_id} has no session"
    return device


def first_times(messages: list[Publish], topic: str) -> list[str]:
    """In the order in which they came; at QoS 1 some may come again."""
    return list(dict.fromkeys(one.payload.decode() for one in messages if one.topic == topic))


def collect(device: Device, wanted: dict[str, list[str]]) -> list[Publish]:
    """Everything until each of these is there."""
    missing = {(topic, text) for topic, texts in wanted.items() for text in texts}
    found: list[Publish] = []
    while missing:
        (message,) = device.take(1)
        found.append(message)
        missing.discard((message.topic, message.payload.decode()))
    return found


def test_what_waited_for_neighbours_arrives(brokers: Brokers, expected: Expected) -> None:
    many = [f"{number:05d}" for number in range(expected["many"])]
    wanted = {"m/two": expected["two"], "m/many": many, **expected["after_b"]}
    far = back(brokers["c"], "far")
    messages = collect(far, wanted)
    for topic, texts in wanted.items():
        assert first_times(messages, topic) == texts, topic
    twice = [one.payload for one in messages if one.qos == 2]
    assert len(twice) == len(set(twice)), "QoS 2 came twice"
    # Nothing else comes but what is sent now.
    writer = Device(brokers["a"].port, "writer", clean=True)
    writer.publish("m/end", b"end", qos=2)
    assert collect(far, {"m/end": ["end"]})[-1].payload == b"end"


def test_a_session_that_had_moved_is_where_it_went(brokers: Brokers, expected: Expected) -> None:
    nomad = back(brokers["c"], "nomad")
    messages = collect(nomad, {"n/x": expected["after_move"]})
    assert [one.payload.decode() for one in messages] == expected["after_move"]


def test_directed_messages_find_their_broker(brokers: Brokers, expected: Expected) -> None:
    member = back(brokers["c"], "lone-member")
    messages = collect(member, {"only/x": expected["only"]})
    assert first_times(messages, "only/x") == expected["only"]


@pytest.mark.parametrize("at", ["a", "c"])
def test_sessions_stay_or_move(brokers: Brokers, expected: Expected, at: str) -> None:
    """At their own broker, and at the far end of the line."""
    brokers_reach(brokers)
    for client_id, texts in expected["waiting"].items():
        device = back(brokers[at], client_id)
        messages = collect(device, {f"s/{client_id}": texts})
        assert [one.payload.decode() for one in messages] == texts


def test_retained_messages_are_everywhere(brokers: Brokers, expected: Expected) -> None:
    for broker in brokers.values():
        assert retained_at(broker.port) == expected["retained"]


def brokers_reach(brokers: Brokers) -> None:
    """Until what is published at one end comes to the other."""
    probe = Device(brokers["c"].port, "probe", clean=True)
    probe.subscribe(Request("p/#", 1))
    reaches(probe, brokers["a"].port, "p/x")
