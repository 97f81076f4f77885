"""Sessions: clean start, expiry, takeover. Sections 3.1.2.4, 3.1.2.11.2, 3.1.4 and 4.1."""

import pytest

from gossamer.wire.packets import V5, V311, Disconnect
from tests.support.conformance import GONE, clauses, ending, is_alive
from tests.support.memory import MemoryClient, World


def lasting(world: World, version: int, clean: bool = False) -> MemoryClient:
    """`clean` is of 5.0 only: there a session may start clean and last."""
    return world.client("c", version, clean=clean, expiry=1000 if version == V5 else None)


@clauses("3.1.2-4 3.1.2-6 3.2.2-2 3.2.2-3", v311="3.1.2-4 3.2.2-1 3.2.2-3")
@pytest.mark.parametrize("clean", [False, True])
def test_without_a_session_none_is_present(world: World, version: int, clean: bool) -> None:
    client = world.client("c", version, clean=clean)
    assert not client.connack.session_present


@clauses("3.1.2-5 3.2.2-3 3.1.2-23 3.1.3-2", v311="3.1.2-4 3.2.2-2 3.1.3-2 4.1.0-2")
def test_a_session_is_resumed(world: World, version: int) -> None:
    client = lasting(world, version)
    client.subscribe("t", qos=1)
    for end in ("lose", "disconnect"):
        getattr(client, end)()
        client = lasting(world, version)
        assert client.connack.session_present
        world.client("w").publish("t", end)
        assert client.payloads() == [end]


@clauses("3.1.2-4 3.2.2-2 3.1.4-4", v311="3.1.2-6 3.2.2-1 3.1.4-3")
def test_a_clean_start_discards(world: World, version: int) -> None:
    client = lasting(world, version)
    client.subscribe("t", qos=1)
    client.lose()
    world.client("w").publish("t", "missed", 1)
    client = world.client("c", version, clean=True)
    assert not client.connack.session_present
    world.client("w").publish("t", "new", 1)
    assert client.messages() == []
    client.disconnect()
    assert not lasting(world, version).connack.session_present


@clauses(v311="3.1.2-6")
def test_a_clean_session_ends_with_its_connection(world: World, version: int) -> None:
    client = world.client("c", version, clean=True)
    client.subscribe("t", qos=1)
    client.lose()
    assert world.broker.core.sessions.keys() == set()
    assert not world.client("c", version, clean=False).connack.session_present


@clauses("3.1.2-23")
@pytest.mark.parametrize(
    ("expiry", "away", "present"),
    [
        (None, 0, False),
        (0, 0, False),
        (1, 0, True),
        (10, 9, True),
        (10, 11, False),
        (0xFFFFFFFE, 1_000_000_000, True),
        (0xFFFFFFFF, 5_000_000_000, True),
    ],
)
@pytest.mark.parametrize("clean", [False, True])
@pytest.mark.parametrize("ticks", [False, True])
def test_a_session_lasts_as_long_as_was_asked(
    world: World,
    version: int,
    expiry: int | None,
    away: int,
    present: bool,
    clean: bool,
    ticks: bool,
) -> None:
    """[MQTT-4.1.0-2] too; whether the broker has looked at its agenda in between or not."""
    world.client("c", version, clean=clean, expiry=expiry).lose()
    if ticks:
        world.wait(away)
    else:
        world.now += away
    back = world.client("c", version, clean=False, expiry=expiry)
    assert back.connack.session_present == present


@clauses("4.1.0-1", v311="4.1.0-2")
def test_no_expiry_while_connected(world: World, version: int) -> None:
    client = world.client("c", version, clean=False, expiry=1 if version == V5 else None)
    client.subscribe("t", qos=1)
    world.wait(1000)
    world.client("w").publish("t", "still", 1)
    assert client.payloads() == ["still"]


@clauses("3.1.2-23")
def test_the_expiry_is_that_of_the_last_connect(world: World, version: int) -> None:
    world.client("c", version, expiry=1000).lose()
    world.client("c", version, clean=False, expiry=5).lose()
    world.wait(6)
    assert not world.client("c", version, clean=False, expiry=5).connack.session_present
    world.client("c", version, clean=False, expiry=5).lose()
    world.client("c", version, clean=False).lose()  # absent is 0
    assert "c" not in world.broker.core.sessions


@clauses("3.2.2-3")
def test_a_shortened_expiry_is_told(version: int) -> None:
    world = World(max_session_expiry=60)
    client = world.client("c", version, expiry=100)
    assert client.connack.properties is not None
    assert client.connack.properties.session_expiry == 60
    other = world.client("d", version, expiry=60)
    assert other.connack.properties is not None
    assert other.connack.properties.session_expiry is None


@pytest.mark.parametrize(
    ("asked", "at_the_end", "away", "present"),
    [(10, 100, 50, True), (100, 10, 50, False), (100, 0, 0, False), (10, None, 5, True)],
)
def test_disconnect_may_change_the_expiry(
    world: World, asked: int, at_the_end: int | None, away: int, present: bool
) -> None:
    """Section 3.14.2.2.2."""
    world.client("c", expiry=asked).disconnect(expiry=at_the_end)
    world.wait(away)
    assert world.client("c", clean=False).connack.session_present == present


@clauses("3.1.4-3", v311="3.1.4-2")
@pytest.mark.parametrize("second", [V311, V5])
def test_a_second_connection_takes_over(world: World, version: int, second: int) -> None:
    first = world.client("c", version)
    then = world.client("c", second)
    assert ending(first) == (0x8E if version == V5 else GONE)
    assert is_alive(then)
    first.lose()
    assert is_alive(then)


@clauses("3.1.4-3 3.1.4-4 3.2.2-3", v311="3.1.4-2 3.1.4-3 3.2.2-2")
@pytest.mark.parametrize("lasts", [False, True])
@pytest.mark.parametrize("clean", [False, True])
def test_what_a_takeover_finds(world: World, version: int, lasts: bool, clean: bool) -> None:
    """A session that ends with its connection is not there for the next one."""
    first = lasting(world, version) if lasts else world.client("c", version)
    first.subscribe("t", qos=1)
    second = lasting(world, version) if not clean else world.client("c", version, clean=True)
    assert second.connack.session_present == (lasts and not clean)
    world.client("w").publish("t", "x", 1)
    assert len(second.messages()) == (1 if lasts and not clean else 0)


@clauses("3.1.3-2", v311="3.1.3-2")
def test_client_identifiers_are_told_apart_to_the_letter(world: World, version: int) -> None:
    names = ["a", "A", "a ", "ä", "a\u0308", "\ufeffa"]
    clients = [world.client(name, version) for name in names]
    assert all(is_alive(client) for client in clients)


@clauses("3.14.4-1 3.14.4-2")
def test_nothing_follows_our_disconnect(world: World, version: int) -> None:
    first = world.client("c", version, expiry=100)
    first.subscribe("t", qos=1)
    world.client("c", version, clean=False, expiry=100)
    world.client("w").publish("t", "x", 1)
    packets = first.take()
    assert isinstance(packets[-1], Disconnect)
    assert first.is_closed


def test_a_session_of_one_version_is_resumed_by_the_other(world: World) -> None:
    client = world.client("c", V311, clean=False)
    client.subscribe("t", qos=2)
    client.lose()
    world.client("w").publish("t", "x", 2, content_type="text", user=[("a", "b")])
    five = world.client("c", V5, clean=False, expiry=100)
    assert five.connack.session_present
    (message,) = [packet for packet in five.take() if packet.kind == 3]
    five.lose()
    four = world.client("c", V311, clean=False)
    assert four.connack.session_present
    assert four.payloads() == ["x"]
    assert message is not None
