"""Operators with areas over several brokers: the results of one broker that saw everything."""

import random
from pathlib import Path

import pytest

from gossamer.mesh.settings import MODES
from gossamer.wire.packets import Request, Subscribe
from tests.support.durable_meshes import DurableNet
from tests.support.located import NEAR_PISA, OSLO, PISA, ROUND_ME, ROUND_PISA, User
from tests.support.memory import MemoryClient, World, properties
from tests.support.meshes import Net

WINDOW = 900.0
SUBSCRIBED: list[tuple[str, User]] = [
    ("$SUM;RPT/+/t", [ROUND_PISA]),
    ("$SUM;RPT$GT;3/+/t", [PISA, ROUND_ME]),
    ("$GT;3/+/t", [ROUND_PISA]),
    ("$MAX/+/t", [PISA, ROUND_ME]),
]


def later(net: Net, seconds: float) -> None:
    """Time passes for all, and nobody takes the silence of a link for its death."""
    for near, far in net.links.values():
        near.end.connection.last_seen = far.end.last_seen = 1e12  # type: ignore[attr-defined]
    for node in net.nodes.values():
        node.wait(seconds)
    net.run()


def subscribe(reader: MemoryClient) -> None:
    for filter, user in SUBSCRIBED:
        assert reader.subscribe(filter, user=user) == [0]


def received(client: MemoryClient) -> list[tuple[str, str]]:
    return [(message.topic, message.payload.decode()) for message in client.messages()]


@pytest.mark.parametrize("mode", MODES)
def test_the_results_are_those_of_one_broker(mode: str) -> None:
    draw = random.Random(f"places {mode}")
    net = Net(mode)
    for name in "abc":
        net.node(name)
    net.join("a", "b")
    net.join("b", "c")
    alone = World()
    readers = [net.nodes["c"].client("r"), alone.client("r")]
    for reader in readers:
        subscribe(reader)
    net.run()
    writers = [(net.nodes[name].client(f"w{name}"), alone.client(f"w{name}")) for name in "abc"]
    for number in range(60):
        user = draw.choice([[PISA], [NEAR_PISA], [OSLO], []])
        if draw.random() < 0.2:
            for reader in readers:
                reader.publish("position", user=user)
        else:
            value = str(draw.randrange(9))
            for writer in draw.choice(writers):
                writer.publish(f"{number % 5}/t", value, user=user)
        net.run()
        assert sorted(received(readers[0])) == sorted(received(readers[1]))


@pytest.mark.parametrize("filter", ["$SUM$QUARTERHOURLYSUM/+/t", "$QUARTERHOURLYSUM/+/t"])
def test_windows_with_areas_are_counted_where_they_are_wanted(filter: str) -> None:
    net = Net("ssf")
    for name in "ab":
        net.node(name)
    net.join("a", "b")
    later(net, 1.0)
    near, everywhere = net.nodes["b"].client("near"), net.nodes["b"].client("everywhere")
    near.subscribe(filter, user=[ROUND_PISA])
    everywhere.subscribe(filter)
    net.run()
    writer = net.nodes["a"].client("w")
    for value, where in (("1", PISA), ("2", OSLO), ("4", NEAR_PISA)):
        writer.publish("x/t", value, user=[where])
        net.run()
    for _ in range(2):
        later(net, WINDOW)
    assert [payload for _, payload in received(near)] == ["5.0"]
    assert [payload for _, payload in received(everywhere)] == ["7.0"]


def test_an_area_goes_with_its_client_to_another_broker(tmp_path: Path) -> None:
    net = DurableNet(tmp_path, "ssf")
    for name in "ab":
        net.node(name)
    net.join("a", "b")

    def come(broker: str) -> MemoryClient:
        client = net.nodes[broker].visitor()
        client.connect("roamer", clean=False, expiry=1000)
        net.run()
        return client

    reader = come("a")
    reader.send(Subscribe(1, [Request("$SUM/+/t")], properties(user=[PISA, ROUND_ME])))
    net.run()
    reader.lose()
    net.run()
    reader = come("b")
    net.run()
    received(reader)
    writer = net.nodes["a"].client("w")
    for name, value, where in (("x", "1", PISA), ("y", "2", OSLO)):
        writer.publish(f"{name}/t", value, user=[where])
        net.run()
    assert [payload for _, payload in received(reader)] == ["1.0"]
    reader.publish("position", user=[OSLO])
    net.run()
    assert [payload for _, payload in received(reader)] == ["2.0"]
    net.close()
