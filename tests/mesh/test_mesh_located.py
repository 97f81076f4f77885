"""Located messages across a mesh: their place travels with them, and the last broker decides."""

import json

import pytest

from tests.support.meshes import Net

PISA = ("gpl_current_pos", "43.72;10.40")
OSLO = ("gpl_current_pos", "59.91;10.75")
ROUND_PISA = ("gpl_circleStatic", "1;km;1;43.72;10.40;5")
ROUND_ME = ("gpl_circleDynamic", "2;km;1;5")


@pytest.mark.parametrize("mode", ["pf", "sf", "ssf", "bloom"])
@pytest.mark.parametrize("retain", [False, True])
def test_places_cross_brokers(mode: str, retain: bool) -> None:
    net = Net(mode)
    for name in "abc":
        net.node(name)
    net.join("a", "b")
    net.join("b", "c")
    reader = net.nodes["c"].client("r")
    reader.subscribe("t/+", user=[ROUND_PISA])
    net.run()
    writer = net.nodes["a"].client("w")
    writer.publish("position", "", user=[PISA])
    writer.publish("t/1", "here", retain=retain, user=[ROUND_ME])
    writer.publish("t/2", "there", retain=retain, user=[OSLO])
    writer.publish("t/3", "anywhere", retain=retain)
    net.run()
    assert reader.payloads() == ["here", "anywhere"]
    if retain:
        late = net.nodes["b"].client("late")
        late.subscribe("t/+", user=[OSLO, ("gpl_rectangleDynamic", "1;km;1;2;2")])
        assert sorted(late.payloads()) == ["anywhere", "there"]


@pytest.mark.parametrize("mode", ["pf", "ssf", "bloom"])
def test_fence_events_name_the_same_vehicles_on_every_broker(mode: str) -> None:
    """Two clients on two brokers publish on one topic."""
    net = Net(mode)
    for name in "abc":
        net.node(name).broker.core.settings.vehicle_property = "vehicle"
    net.join("a", "b")
    net.join("b", "c")
    readers = [net.nodes[name].client(f"r{name}") for name in "abc"]
    for reader in readers:
        reader.subscribe("fleet", qos=1, user=[ROUND_PISA, ("gpl_events", "enter,exit")])
    net.run()
    writers = {name: net.nodes[name].client(f"w{name}") for name in "ac"}
    told: list[list[tuple[str, str]]] = [[] for _ in readers]
    for name, place in (("a", PISA), ("c", PISA), ("a", OSLO), ("c", PISA), ("c", OSLO)):
        writers[name].publish("fleet", "", user=[place, ("vehicle", f"van-{name}")])
        net.run()
        for events, reader in zip(told, readers, strict=True):
            for message in reader.messages():
                if message.topic.startswith("$GEO/"):
                    event = json.loads(message.payload)
                    events.append((event["event"], event["client"]))
    expected = [("enter", "van-a"), ("enter", "van-c"), ("exit", "van-a"), ("exit", "van-c")]
    assert told == [expected] * 3
