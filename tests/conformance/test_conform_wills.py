"""Wills: sections 3.1.2.5 to 3.1.2.7, 3.1.3.2 and 3.14.4."""

from typing import Any

import pytest

from gossamer.wire.packets import V5, V311, Will
from tests.support.conformance import clauses
from tests.support.memory import MemoryClient, World, properties


def watcher(world: World, version: int = V5) -> MemoryClient:
    client = world.client("watcher", version)
    client.subscribe("will/#", qos=2, **({"retain_as_published": True} if version == V5 else {}))
    return client


def will(delay: int | None = None, **more: object) -> Will:
    return Will("will/c", b"gone", properties=properties(will_delay=delay, **more))


# How a connection ends, and whether its will is published then.
ENDS = [
    pytest.param("lost", True, id="the network closes"),
    pytest.param("silent", True, id="keep alive"),
    pytest.param("garbage", True, id="protocol error"),
    pytest.param("taken over", True, id="takeover"),
    pytest.param("second connect", True, id="second CONNECT"),
    pytest.param("disconnect", False, id="DISCONNECT"),
]


@clauses("3.1.2-7 3.1.2-8 3.14.4-3", v311="3.1.2-8 3.1.2-10 3.14.4-3")
@pytest.mark.parametrize(("end", "published"), ENDS)
def test_when_a_will_is_published(world: World, version: int, end: str, published: bool) -> None:
    reader = watcher(world)
    client = world.client("c", version, keep_alive=10, will=Will("will/c", b"gone"))
    if end == "lost":
        client.lose()
    elif end == "silent":
        world.wait(16)
    elif end == "garbage":
        client.send_bytes(b"\x00\x00")
    elif end == "taken over":
        world.client("c", version)
    elif end == "second connect":
        client.connect("c")
    else:
        client.disconnect()
    assert reader.payloads() == (["gone"] if published else [])
    world.wait(1000)
    client.lose()
    assert reader.messages() == []


@clauses("3.14.4-3 3.1.2-8")
@pytest.mark.parametrize(
    ("reason", "published"),
    [(0x00, False), (0x04, True), (0x80, True), (0x81, True), (0x93, True), (0x98, True)],
)
def test_only_a_normal_disconnect_discards_the_will(
    world: World, version: int, reason: int, published: bool
) -> None:
    reader = watcher(world)
    client = world.client("c", version, will=will())
    client.disconnect(reason)
    assert reader.payloads() == (["gone"] if published else [])


@clauses("3.1.2-10", v311="3.1.2-10 3.1.2-12")
def test_a_will_is_of_one_connection(world: World, version: int) -> None:
    reader = watcher(world)
    expiry = 100 if version == V5 else None
    options = {"clean": False, "expiry": expiry}
    world.client("c", version, will=Will("will/c", b"gone"), **options).lose()
    assert reader.payloads() == ["gone"]
    world.client("c", version, **options).lose()
    world.client("c", version, will=Will("will/c", b"gone"), **options).disconnect()
    world.client("c", version, **options).lose()
    assert reader.messages() == []


@clauses("3.1.2-14 3.1.2-15 3.1.2-12", v311="3.1.2-16 3.1.2-17")
@pytest.mark.parametrize("qos", [0, 1, 2])
@pytest.mark.parametrize("retain", [False, True])
def test_qos_and_retain_of_a_will(world: World, version: int, qos: int, retain: bool) -> None:
    reader = watcher(world)
    world.client("c", version, will=Will("will/c", b"gone", qos, retain)).lose()
    (message,) = reader.messages()
    assert (message.qos, message.retain, message.payload) == (qos, retain, b"gone")
    late = world.client("late")
    late.subscribe("will/#", qos=2)
    assert [(m.qos, m.retain) for m in late.messages()] == ([(qos, True)] if retain else [])


@clauses("3.1.2-15", v311="3.1.2-17")
def test_an_empty_retained_will_removes(world: World, version: int) -> None:
    world.client("w").publish("will/c", "kept", retain=True)
    world.client("c", version, will=Will("will/c", b"", retain=True)).lose()
    assert watcher(world).messages() == []


@clauses("3.1.3-10")
def test_properties_of_a_will(world: World, version: int) -> None:
    reader = watcher(world)
    carried: dict[str, Any] = {
        "payload_format": 1,
        "content_type": "text",
        "response_topic": "answers",
        "correlation_data": b"\x01",
        "user": [("b", "1"), ("a", "2"), ("b", "1")],
    }
    world.client("c", version, will=will(message_expiry=30, **carried)).lose()
    (message,) = reader.messages()
    assert message.properties is not None
    for name, value in carried.items():
        assert getattr(message.properties, name) == value
    assert message.properties.message_expiry == 30
    assert message.properties.will_delay is None


@clauses("3.1.2-8")
@pytest.mark.parametrize(
    ("delay", "expiry", "due"),
    [
        (None, 100, 0),
        (0, 100, 0),
        (10, 100, 10),
        (100, 10, 10),
        (10, 10, 10),
        (10, 0, 0),
        (10, None, 0),
        (10, 0xFFFFFFFF, 10),
    ],
)
@pytest.mark.parametrize("reason", [None, 4])
def test_delay_or_the_end_of_the_session(
    world: World, version: int, delay: int | None, expiry: int | None, due: int, reason: int | None
) -> None:
    reader = watcher(world)
    client = world.client("c", version, expiry=expiry, will=will(delay))
    if reason is None:
        client.lose()
    else:
        client.disconnect(reason)
    if due:
        world.wait(due - 1)
        assert reader.messages() == []
        world.wait(1)
    assert reader.payloads() == ["gone"]
    world.wait(1000)
    assert reader.messages() == []


@clauses("3.1.3-9")
@pytest.mark.parametrize("taken_over", [False, True])
def test_a_client_that_is_back_in_time(world: World, version: int, taken_over: bool) -> None:
    reader = watcher(world)
    client = world.client("c", version, expiry=100, will=will(10))
    if not taken_over:
        client.lose()
        world.wait(9)
    back = world.client("c", version, clean=False, expiry=100)
    world.wait(50)
    back.lose()
    world.wait(1000)
    assert reader.messages() == []


@clauses("3.1.2-8")
@pytest.mark.parametrize("taken_over", [False, True])
def test_a_clean_start_ends_the_session_and_publishes(
    world: World, version: int, taken_over: bool
) -> None:
    """The delay ends with the session (3.1.3.2.2), and Clean Start ends that (3.1.4)."""
    reader = watcher(world)
    client = world.client("c", version, expiry=100, will=will(10))
    if not taken_over:
        client.lose()
    world.client("c", version, clean=True)
    assert reader.payloads() == ["gone"]


@clauses("3.1.2-8")
def test_a_client_that_is_back_too_late(world: World, version: int) -> None:
    """Even if the broker has not looked at its agenda since."""
    reader = watcher(world)
    world.client("c", version, expiry=100, will=will(10)).lose()
    world.now += 11
    world.client("c", version, clean=False, expiry=100)
    assert reader.payloads() == ["gone"]


@clauses("3.1.3-9")
def test_the_delay_is_that_of_the_last_connection(world: World, version: int) -> None:
    reader = watcher(world)
    world.client("c", version, expiry=100, will=will(50)).lose()
    world.client("c", version, clean=False, expiry=100, will=will(5)).lose()
    world.wait(5)
    assert reader.payloads() == ["gone"]
    world.wait(50)
    assert reader.messages() == []


@clauses("3.1.2-8")
def test_disconnect_may_end_the_session_and_so_the_delay(world: World, version: int) -> None:
    reader = watcher(world)
    world.client("c", version, expiry=100, will=will(10)).disconnect(4, expiry=0)
    assert reader.payloads() == ["gone"]


@clauses("3.1.2-7", v311="3.1.2-8")
def test_a_will_may_reach_its_own_client(world: World, version: int) -> None:
    expiry = 100 if version == V5 else None
    options = {"clean": False, "expiry": expiry}
    client = world.client("c", version, will=Will("will/c", b"gone", 1), **options)
    client.subscribe("will/c", qos=1)
    client.lose()
    assert world.client("c", version, **options).payloads() == ["gone"]


@clauses("3.1.4-2", v311="3.1.4-5")
def test_a_refused_client_leaves_no_will(world: World, version: int) -> None:
    reader = watcher(world)
    visitor = world.visitor(version)
    visitor.connect("$mesh/c", will=Will("will/c", b"gone"))
    assert visitor.is_closed
    visitor.lose()
    world.wait(100)
    assert reader.messages() == []


def test_versions_mix(world: World) -> None:
    reader = watcher(world, V311)
    world.client("c", V5, will=will(content_type="x")).lose()
    assert reader.payloads() == ["gone"]
