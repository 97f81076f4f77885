"""What an earlier version kept of its clients, as a client of this version finds it.

The broker is started shortly after the other one was killed, unless a test is about time.
"""

import shutil
import statistics
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gossamer.wire.packets import (
    PUBCOMP,
    PUBREC,
    PUBREL,
    V5,
    V311,
    Acknowledgement,
    Publish,
)
from tests.support.fixtures.sessions import RICH
from tests.support.kept_fixtures import Fixture, StoredWorld
from tests.support.memory import MemoryClient, World

DAY = 86_400.0
Expected = dict[str, Any]


@pytest.fixture
def expected(fixture: Fixture) -> Expected:
    return fixture.table("broker")


@pytest.fixture(params=[False, True], ids=["opened", "opened-and-restarted"])
def world(data: Path, expected: Expected, request: pytest.FixtureRequest) -> Iterator[StoredWorld]:
    """As it was found, and as this version has written it again."""
    world = StoredWorld(data, expected["now"] + 1)
    if request.param:
        world.restart()
    yield world
    world.close()


def triples(messages: list[Publish]) -> list[list[Any]]:
    return [[message.topic, message.payload.decode(), message.qos] for message in messages]


def assert_rich(message: Publish) -> None:
    assert message.properties is not None
    found = {name: getattr(message.properties, name) for name in RICH}
    assert found == RICH


def test_queues_have_their_messages_in_order(world: StoredWorld, expected: Expected) -> None:
    for client_id, queue in expected["queues"].items():
        client = world.back(client_id, queue["version"])
        messages = client.messages()
        assert triples(messages) == queue["messages"]
        assert not any(message.dup or message.retain for message in messages)
        if queue["version"] == V5:
            assert_rich(messages[-2])
            left = messages[-1].properties
            assert left is not None
            assert left.message_expiry is not None
            assert DAY - 120 < left.message_expiry < DAY


def test_a_message_that_expired_meanwhile_is_not_sent(data: Path, expected: Expected) -> None:
    world = StoredWorld(data, expected["now"] + DAY)
    for client_id, queue in expected["queues"].items():
        messages = world.back(client_id, queue["version"]).messages()
        assert triples(messages) == queue["messages"][:-1]
    reader = world.client("anybody")
    reader.subscribe("kept/#")
    assert expected["retained"]["expires"] not in {one.topic for one in reader.messages()}
    world.close()


def test_subscriptions_keep_their_options(world: StoredWorld, expected: Expected) -> None:
    options = expected["options"]
    client = world.back(options["client"], V5)
    client.publish("o/local", "mine", qos=1)
    other = world.client("other")
    other.publish("o/local", "another's", qos=1)
    other.publish("o/published", "kept", qos=2, retain=True)
    got = client.messages()
    assert [(one.payload, one.qos, one.retain) for one in got] == [
        (b"mine", 0, False),
        (b"another's", 1, False),
        (b"kept", 2, True),
    ]
    wide = options["identifiers"]["o/#"]
    identifiers = [sorted(one.properties.subscription_ids) for one in got if one.properties]
    assert identifiers == [[wide], [7, wide], [8, wide]]


def test_what_was_in_flight_goes_on(world: StoredWorld, expected: Expected) -> None:
    for client_id, flight in expected["inflight"].items():
        window = {"receive_maximum": 3} if flight["version"] == V5 else {}
        client = world.back(client_id, flight["version"], **window)
        packets = client.take()
        sent = [one for one in packets if isinstance(one, Publish) and one.dup]
        assert [[one.packet_id, one.payload.decode(), one.qos] for one in sent] == flight["sent"]
        released = [one for one in packets if isinstance(one, Acknowledgement)]
        assert [(one.kind, one.packet_id) for one in released] == [
            (PUBREL, packet_id) for packet_id in flight["released"]
        ]
        waiting = [one for one in packets if isinstance(one, Publish) and not one.dup]
        for packet_id in flight["released"]:
            client.send(Acknowledgement(PUBCOMP, packet_id))
        for one in (*sent, *waiting):
            kind = PUBREC if one.qos == 2 else 4
            client.send(Acknowledgement(kind, one.packet_id))
        rest = client.messages()
        found = [[one.payload.decode(), one.qos] for one in (*waiting, *rest)]
        assert found == flight["waiting"]


def test_exactly_once_publications_are_not_taken_twice(
    world: StoredWorld, expected: Expected
) -> None:
    incoming = expected["incoming"]
    for client_id, sent in incoming["writers"].items():
        writer = world.back(client_id, sent["version"])
        packet_id = sent["packet"]
        writer.send(Publish(sent["topic"], b"once", 2, dup=True, packet_id=packet_id))
        writer.send(Acknowledgement(PUBREL, packet_id))
        assert [one.kind for one in writer.take()] == [PUBREC, PUBCOMP]
        writer.send(Publish(sent["topic"], b"again", 2, packet_id=packet_id))
    got = world.back(incoming["reader"], V5).messages()
    topics = [sent["topic"] for sent in incoming["writers"].values()]
    assert triples(got) == [
        *([topic, "once", 2] for topic in topics),
        *([topic, "again", 2] for topic in topics),
    ]


def test_wills_come_when_they_are_due(data: Path, expected: Expected) -> None:
    wills = expected["wills"]
    world = StoredWorld(data, expected["now"] + 1)
    reader = world.client("watching")
    reader.subscribe("will/#", qos=2)
    assert triples(reader.messages()) == [["will/now", wills["now"]["payload"], 2]]
    world.now = wills["late"]["due"] - 5
    world.settle()
    assert reader.messages() == []
    world.now = wills["late"]["due"] + 5
    world.settle()
    (late,) = reader.messages()
    assert triples([late]) == [["will/late", wills["late"]["payload"], 1]]
    assert_rich(late)
    world.close()


def test_retained_messages_are_as_they_were(world: StoredWorld, expected: Expected) -> None:
    retained = expected["retained"]
    reader = world.client("new")
    reader.subscribe("kept/#", qos=2)
    messages = reader.messages()
    found = {one.topic: [one.payload.decode(), one.qos] for one in messages}
    assert found == retained["messages"]
    assert all(one.retain for one in messages)
    assert_rich(next(one for one in messages if one.topic == retained["rich"]))


def test_a_shared_group_has_each_job_once(world: StoredWorld, expected: Expected) -> None:
    shared = expected["shared"]
    members = [world.back(member, V5) for member in shared["members"]]
    had = [client.payloads() for client in members]
    assert sorted(had[0] + had[1]) == sorted(shared["jobs"])
    writer = world.client("writer")
    writer.publish(shared["topic"], "one more", qos=1)
    assert sorted(members[0].payloads() + members[1].payloads()) == ["one more"]


def test_areas_and_the_position_are_as_they_were(world: StoredWorld, expected: Expected) -> None:
    located = expected["located"]
    walker = world.back(located["client"], V5)
    waiting = [[one.topic, one.payload.decode()] for one in walker.messages()]
    assert waiting == located["waiting"]
    pisa, oslo = ("gpl_current_pos", "43.721;10.401"), ("gpl_current_pos", "59.911;10.751")
    writer = world.client("writer")
    for topic in ("geo/static", "geo/both", "geo/follows"):
        writer.publish(topic, "pisa", user=[pisa])
        writer.publish(topic, "oslo", user=[oslo])
    got = [(one.topic, one.payload.decode()) for one in walker.messages()]
    assert got == [
        ("geo/static", "oslo"),
        ("geo/both", "pisa"),
        ("geo/both", "oslo"),
        ("geo/follows", "pisa"),
    ]
    writer.publish("geo/fence", "in", user=[pisa])
    writer.publish("geo/fence", "out", user=[oslo])
    events = [one.topic for one in walker.messages() if one.topic.startswith("$GEO/")]
    assert len(events) == 2, events


# What one more value of room/a makes of the three that were counted, and of the others. Medians and
# percentiles are estimates: they are held against a broker that was never stopped.
CONTINUED = {
    "COUNT": {"a": 4, "b": 2, "c": 1},
    "SUM": {"a": 100, "b": 12, "c": 100},
    "AVG": {"a": 25, "b": 6, "c": 100},
    "MIN": {"a": 10, "b": 5, "c": 100},
    "MAX": {"a": 40, "b": 7, "c": 100},
    "FIRST": {"a": 10, "b": 5, "c": 100},
    "LAST": {"a": 40, "b": 7, "c": 100},
}


def test_windows_under_way_go_on_and_fire(world: StoredWorld, expected: Expected) -> None:
    windows = expected["windows"]
    analyst = world.back(windows["client"], V5)
    assert analyst.messages() == []
    world.client("writer").publish("room/a/temp", "40.0", qos=1)
    over_topics = {one.topic: float(one.payload) for one in analyst.messages()}
    assert over_topics == {
        "$AVG/room/$AGGREGATE/temp": statistics.mean((40.0, 7.0, 100.0)),
        "$GT;25/room/a/temp": 40.0,
    }
    got: dict[str, float] = {}
    for seconds in (900.0, 3_600.0, DAY):
        world.now = (windows["at"] // seconds + 1) * seconds + 1
        world.settle()
        got |= {one.topic: float(one.payload) for one in analyst.messages()}
    for function, values in CONTINUED.items():
        for room, value in values.items():
            assert got[f"$DAILY{function}/room/{room}/temp"] == value, (function, room)
    assert got["$HOURLYAVG/room/a/temp"] == 25.0
    assert got["$QUARTERHOURLYMAX/room/b/temp"] == 7.0
    assert got["$SUM$HOURLYMAX/room/$AGGREGATE/temp"] == 147.0
    reference = continued_anew(expected)
    assert {topic: value for topic, value in got.items() if topic in reference} == reference
    assert len(reference) == 30


def continued_anew(expected: Expected) -> dict[str, float]:
    """The daily results of a broker that saw all of it and was never stopped."""
    windows = expected["windows"]
    world = World()
    world.now = windows["at"]
    reader = world.client("r")
    reader.subscribe(*[one for one in windows["windows"] if one.startswith("$DAILY")])
    writer = world.client("w")
    for topic, value in (*windows["readings"], ("room/a/temp", 40.0)):
        writer.publish(topic, f"{value}")
    world.now = (windows["at"] // DAY + 1) * DAY + 1
    world.wait(0)
    world.broker.flush(world.now)
    return {one.topic: float(one.payload) for one in reader.messages()}


def test_values_count_no_longer_than_their_publishers_said(
    world: StoredWorld, expected: Expected
) -> None:
    windows = expected["windows"]
    analyst = world.back(windows["client"], V5)
    writer = world.client("writer")

    def mean() -> float:
        writer.publish("room/c/temp", "100.0", qos=1)
        results = {one.topic: float(one.payload) for one in analyst.messages()}
        return results["$AVG/room/$AGGREGATE/temp"]

    assert mean() == statistics.mean((30.0, 7.0, 100.0))
    world.now = windows["at"] + windows["seconds"]["a"] + 5
    world.settle()
    assert mean() == statistics.mean((7.0, 100.0))
    world.now = windows["at"] + windows["seconds"]["b"] + 5
    world.settle()
    assert mean() == 100.0


def test_sessions_never_expire_that_were_told_so(data: Path, expected: Expected) -> None:
    world = StoredWorld(data, expected["now"] + 3_650 * DAY)
    away = [*expected["queues"], expected["options"]["client"], *expected["inflight"]]
    for client_id in away:
        version = V311 if client_id.endswith("3.1.1") else V5
        assert isinstance(world.back(client_id, version), MemoryClient)
    world.close()


def test_opening_twice_changes_nothing_for_clients(data: Path, expected: Expected) -> None:
    """A copy that was only opened and closed answers as the one that was not."""
    copy = data.with_name("copy")
    shutil.copytree(data, copy)
    for _ in range(2):
        StoredWorld(copy, expected["now"] + 1).close()
    for folder in (data, copy):
        world = StoredWorld(folder, expected["now"] + 1)
        for client_id, queue in expected["queues"].items():
            assert triples(world.back(client_id, queue["version"]).messages()) == queue["messages"]
        world.close()
