"""Places by name on several brokers: put on one, followed on all."""

import json

import pytest

from gossamer.broker.named_areas import ADMINISTRATOR, TOPIC
from gossamer.mesh.settings import MODES
from tests.support.located import NEAR_PISA, OSLO, publish_everywhere
from tests.support.meshes import Net, Node

YARD = ("gpl_area", "yard")


def box(lat: float, lon: float) -> str:
    south, north, west, east = lat - 0.1, lat + 0.1, lon - 0.1, lon + 0.1
    ring = [[west, south], [east, south], [east, north], [west, north], [west, south]]
    return json.dumps({"type": "Polygon", "coordinates": [ring]})


AT_PISA = box(43.72, 10.4)
AT_OSLO = box(59.91, 10.75)


@pytest.fixture(params=MODES)
def net(request: pytest.FixtureRequest) -> Net:
    net = Net(request.param)
    for name in "abc":
        net.node(name)
    net.join("a", "b")
    return net


def put(net: Net, broker: str, text: str) -> None:
    node = net.nodes[broker]
    node.broker.core.places.put("yard", text, ADMINISTRATOR, node.now)
    node.broker.flush(node.now)
    net.run()


def version(node: Node) -> int:
    return node.broker.core.places.areas["yard"].version


def test_subscriptions_everywhere_follow(net: Net) -> None:
    put(net, "a", AT_PISA)
    readers = {name: net.nodes[name].client(f"r{name}") for name in "ab"}
    for reader in readers.values():
        assert reader.subscribe("t", "$GT;0/v", user=[YARD]) == [0, 0]
    net.run()
    for text, town in ((AT_PISA, "pisa"), (AT_OSLO, "oslo")):
        put(net, "b", text)
        publish_everywhere(net.nodes["a"].client("w"))
        net.run()
        for reader in readers.values():
            assert reader.payloads() == [town, "nowhere"]
    assert [version(net.nodes[name]) for name in "ab"] == [2, 2]
    net.nodes["a"].client("w").publish("v", "1", user=[OSLO])
    net.run()
    assert [reader.payloads() for reader in readers.values()] == [["1"], ["1"]]
    assert net.nodes["b"].broker.core.places.remove("yard", net.nodes["b"].now)
    net.nodes["b"].broker.flush(net.nodes["b"].now)
    net.run()
    publish_everywhere(net.nodes["a"].client("w"))
    net.run()
    for reader in readers.values():
        assert reader.payloads() == ["nowhere"]


def test_whoever_joins_later_learns_them_and_the_later_change_holds(net: Net) -> None:
    put(net, "a", AT_PISA)
    put(net, "a", AT_OSLO)
    put(net, "c", AT_PISA)  # not joined yet, and later
    net.join("b", "c")
    net.run()
    told = {node.broker.core.places.areas["yard"].text for node in net.nodes.values()}
    assert len(told) == 1
    latest = max(node.broker.core.places.areas["yard"].changed_at for node in net.nodes.values())
    assert all(
        node.broker.core.places.areas["yard"].changed_at == latest for node in net.nodes.values()
    )


def test_geojson_on_a_topic_counts_once_for_all(net: Net) -> None:
    for node in net.nodes.values():
        node.broker.set_places({}, "site/places", "", node.now)
    net.run()
    writer = net.nodes["a"].client("w")
    for text in (AT_PISA, AT_OSLO):
        writer.publish("site/places/yard", text, retain=True, qos=1)
        net.run()
    for name in "ab":
        known = net.nodes[name].broker.core.places.areas["yard"]
        assert (known.version, known.source) == (2, TOPIC)
    writer.publish("site/places/yard", "", retain=True)
    net.run()
    assert not net.nodes["b"].broker.core.places.areas


def test_messages_about_a_place_are_judged_where_they_come(net: Net) -> None:
    put(net, "a", AT_PISA)
    near, far = net.nodes["b"].client("near"), net.nodes["b"].client("far")
    near.subscribe("t", user=[NEAR_PISA])
    far.subscribe("t", user=[OSLO])
    net.run()
    net.nodes["a"].client("w").publish("t", "storm", user=[YARD])
    net.run()
    assert (near.payloads(), far.payloads()) == (["storm"], [])
