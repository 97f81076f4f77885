"""PINGREQ and DISCONNECT: sections 3.12 to 3.14."""

import pytest

from gossamer.wire.codec import encode
from gossamer.wire.packets import V5, Disconnect, Pingreq, Publish
from tests.support.conformance import GONE, clauses, ending, is_alive
from tests.support.memory import World, properties
from tests.support.packet_bytes import spelled


@clauses("3.12.4-1", v311="3.12.4-1")
def test_every_ping_is_answered(world: World, version: int) -> None:
    client = world.client("c", version)
    client.send(Pingreq(), Pingreq(), Pingreq())
    assert client.sink.data == b"\xd0\x00" * 3


@clauses("2.1.3-1", v311="2.2.2-1 2.2.2-2")
@pytest.mark.parametrize("data", ["c1 00", "c8 00", "c0 01 00"])
def test_a_ping_has_neither_flags_nor_content(world: World, version: int, data: str) -> None:
    client = world.client("c", version)
    client.send_bytes(spelled(data))
    assert ending(client) == (0x81 if version == V5 else GONE)


@clauses("3.14.1-1", v311="3.14.1-1")
@pytest.mark.parametrize("flags", [1, 2, 4, 8, 15])
def test_disconnect_has_no_flags(world: World, version: int, flags: int) -> None:
    client = world.client("c", version)
    client.send_bytes(bytes((0xE0 | flags, 0)))
    assert ending(client) == (0x81 if version == V5 else GONE)


@clauses("3.14.4-3", v311="3.14.4-3")
def test_the_broker_closes_without_a_word(world: World, version: int) -> None:
    client = world.client("c", version)
    client.disconnect()
    assert ending(client) == GONE


@clauses("3.14.4-1", v311="3.14.4-2")
def test_nothing_after_disconnect_is_done(world: World, version: int) -> None:
    reader = world.client("r")
    reader.subscribe("#")
    client = world.client("c", version)
    client.send(Disconnect(), Publish("t", b"late"))
    assert reader.messages() == []


@clauses("3.14.2-1")
@pytest.mark.parametrize(
    ("data", "reason"),
    [
        pytest.param("e0 00", GONE, id="no reason is 0"),
        pytest.param("e0 01 00", GONE, id="a reason alone"),
        pytest.param("e0 02 04 00", GONE, id="a reason and no properties"),
        pytest.param("e0 01 80", GONE, id="an error"),
        pytest.param("e0 01 01", 0x82, id="a reason that is none"),
        pytest.param("e0 01 ff", 0x82, id="another that is none"),
        pytest.param("e0 02 00 01", 0x81, id="a length without properties"),
        pytest.param("e0 04 00 02 21 00", 0x81, id="a property of another packet"),
        pytest.param("e0 0c 00 0a 11 00 00 00 00 11 00 00 00 00", 0x82, id="expiry twice"),
        pytest.param("e0 08 00 06 1f 00 03 'bye'", GONE, id="a reason string"),
    ],
)
def test_forms_of_disconnect(world: World, version: int, data: str, reason: int) -> None:
    client = world.client("c", version)
    client.send_bytes(spelled(data))
    assert ending(client) == reason


@pytest.mark.parametrize("expiry", [1, 0xFFFFFFFF])
def test_a_session_without_a_future_gets_none(world: World, expiry: int) -> None:
    """Section 3.14.2.2.2: a Protocol Error."""
    for first in (None, 0):
        client = world.client("c", expiry=first)
        client.disconnect(expiry=expiry)
        assert ending(client) == 0x82
        assert "c" not in world.broker.core.sessions


@clauses("3.14.2-2")
def test_our_disconnect_has_no_session_expiry(world: World, version: int) -> None:
    client = world.client("c", version, expiry=100)
    client.send_bytes(b"\x00\x00")
    (packet,) = client.take()
    assert isinstance(packet, Disconnect)
    assert packet.properties is not None
    assert packet.properties.session_expiry is None


@clauses("3.14.4-2", v311="3.14.4-1")
def test_when_the_broker_stops(world: World, version: int) -> None:
    client = world.client("c", version)
    world.broker.stop(world.now)
    assert ending(client) == (0x8B if version == V5 else GONE)
    visitor = world.visitor(version)
    visitor.connect("late")
    assert visitor.is_closed
    assert visitor.connack.reason in (0x88, 0xFF)


def test_a_client_is_told_why_it_is_disconnected(world: World) -> None:
    client = world.client("c")
    world.broker.disconnect("c", world.now)
    assert ending(client) == 0x98


def test_a_disconnect_does_not_touch_others(world: World) -> None:
    others = [world.client(f"o{n}") for n in range(3)]
    client = world.client("c")
    client.send_bytes(encode(Disconnect(0, properties(session_expiry=0)), V5))
    assert client.is_closed
    assert all(is_alive(other) for other in others)
