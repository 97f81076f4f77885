"""Clients that say where they are and go from broker to broker: neither harms the other.

Two brokers, each with its store on disk.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.mesh.settings import MODES
from gossamer.wire.packets import Connack, Request, Subscribe
from tests.support.durable_meshes import DurableNet
from tests.support.located import NEAR_OSLO, NEAR_PISA, OSLO, PISA, ROUND_ME, ROUND_OSLO, User
from tests.support.memory import MemoryClient, properties


@pytest.fixture(params=MODES)
def pair(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[DurableNet]:
    """a - b."""
    net = DurableNet(tmp_path, request.param)
    for name in "ab":
        net.node(name)
    net.join("a", "b")
    yield net
    net.close()


def come(net: DurableNet, broker: str, clean: bool = False) -> MemoryClient:
    """Connected; the answer must come without any time passing."""
    client = net.nodes[broker].visitor()
    client.connect("roamer", clean=clean, expiry=1000)
    net.run()
    packets = client.take()
    for packet in packets:
        if isinstance(packet, Connack):
            client.connack = packet
    client._later = [packet for packet in packets if not isinstance(packet, Connack)]
    assert client.connack.reason == 0
    return client


def subscribe(
    net: DurableNet, client: MemoryClient, filter: str, qos: int, user: User | None = None
) -> None:
    client.send(Subscribe(1, [Request(filter, qos)], properties(user=user or [])))
    net.run()


def told_here(net: DurableNet, client: MemoryClient, where: tuple[str, str]) -> None:
    client.publish("somewhere", "here", user=[where])
    net.run()


def taken(net: DurableNet, client: MemoryClient) -> list[str]:
    found: list[str] = []
    while True:
        net.run()
        news = client.payloads()
        if not news:
            return found
        found += news


def leave_messages(net: DurableNet, broker: str, numbers: range) -> list[str]:
    writer = net.nodes[broker].client(f"writer {numbers.start}")
    for number in numbers:
        writer.publish("t/1", str(number), qos=1 + number % 2, packet_id=number + 1)
        net.run()
    return [str(number) for number in numbers]


@pytest.mark.parametrize("clean", [False, True])
@pytest.mark.parametrize("crashes", ["", "a", "b", "ab"])
def test_a_located_client_keeps_its_session_when_it_moves(
    pair: DurableNet, crashes: str, clean: bool
) -> None:
    """One that began with a clean start too: its session is newer than what that discarded."""
    client = come(pair, "a", clean)
    subscribe(pair, client, "t/+", qos=2)
    told_here(pair, client, PISA)
    client.lose()
    expected = leave_messages(pair, "a", range(5))
    for name in crashes:
        pair.crash(name)
    client = come(pair, "b")
    assert client.connack.session_present
    told_here(pair, client, OSLO)
    assert taken(pair, client) == expected


@pytest.mark.parametrize("where", ["old", "new", "old and new"])
def test_the_next_login_does_not_wait(pair: DurableNet, where: str) -> None:
    """`come` lets no time pass: a session that is not found would be waited for."""
    client = come(pair, "a")
    subscribe(pair, client, "t/+", qos=1)
    if "old" in where:
        told_here(pair, client, PISA)
    client = come(pair, "b")
    assert client.connack.session_present
    if "new" in where:
        told_here(pair, client, PISA)
    for broker in "babab":
        client = come(pair, broker)
        assert client.connack.session_present
        told_here(pair, client, OSLO)
    client.lose()
    pair.crash("b")
    expected = leave_messages(pair, "a", range(3))
    client = come(pair, "a")
    assert client.connack.session_present
    assert taken(pair, client) == expected


@pytest.mark.parametrize("moved", [False, True])
def test_a_position_outlives_a_restart(pair: DurableNet, moved: bool) -> None:
    client = come(pair, "a")
    subscribe(pair, client, "t", qos=1, user=[ROUND_ME])
    told_here(pair, client, PISA)
    if moved:
        client = come(pair, "b")
    home = "b" if moved else "a"
    told_here(pair, client, OSLO)
    client.lose()  # while it is connected, a position is written once a minute
    pair.run()
    pair.crash(home)
    writer = pair.nodes[home].client("writer")
    writer.publish("t", "oslo", qos=1, packet_id=1, user=[NEAR_OSLO])
    writer.publish("t", "pisa", qos=1, packet_id=2, user=[NEAR_PISA])
    pair.run()
    client = come(pair, home)
    assert client.connack.session_present
    assert taken(pair, client) == ["oslo"]


def test_a_position_moves_with_its_session(pair: DurableNet) -> None:
    client = come(pair, "a")
    subscribe(pair, client, "t", qos=1, user=[ROUND_ME])
    subscribe(pair, client, "u", qos=1, user=[ROUND_OSLO])
    told_here(pair, client, PISA)
    client = come(pair, "b")
    assert client.connack.session_present
    writer = pair.nodes["a"].client("writer")
    for number, (topic, text, user) in enumerate(
        [("t", "oslo", OSLO), ("t", "pisa", NEAR_PISA), ("u", "far", PISA), ("u", "near", OSLO)], 1
    ):
        writer.publish(topic, text, qos=1, packet_id=number, user=[user])
    assert sorted(taken(pair, client)) == ["near", "pisa"]


def test_nothing_is_left_in_the_rooms_of_a_session_that_ended(pair: DurableNet) -> None:
    client = come(pair, "a")
    told_here(pair, client, PISA)
    client = come(pair, "b")
    told_here(pair, client, OSLO)
    client.lose()
    pair.run()
    for node in pair.nodes.values():
        node.broker.disconnect("roamer", node.now, discard=True)
    pair.run()
    for name in "ab":
        pair.crash(name)
        rooms = pair.stores[name].snapshot.rooms
        assert "roamer" not in rooms.get("position", {})
        assert "roamer" not in rooms.get("mesh/moves", {})
        assert "mesh/seen/roamer" not in rooms


@pytest.mark.parametrize("ahead", [-3600.0, 0.0, 3600.0])
def test_the_clocks_of_two_brokers_make_no_position_newer_than_now(
    pair: DurableNet, ahead: float
) -> None:
    pair.nodes["b"].broker.clock_set(ahead, pair.nodes["b"].now)
    client = come(pair, "a")
    told_here(pair, client, PISA)
    come(pair, "b")
    seen = pair.nodes["b"].broker.core.locations.last_seen("roamer")
    assert seen is not None
    assert seen[0].lat == 43.72
    assert seen[1] == pair.nodes["b"].now + min(ahead, 0.0)
