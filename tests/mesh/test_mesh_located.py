"""Located messages across a mesh: their place travels with them, and the last broker decides."""

import json

import pytest

from gossamer.mesh.settings import NOTHING
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


def told_events(net: Net, qos: int, by_property: bool) -> list[list[tuple[str, str]]]:
    """What readers on three brokers are told of two clients that publish on one topic of two."""
    readers = [net.nodes[name].client(f"r{name}") for name in "abc"]
    for reader in readers:
        reader.subscribe("fleet", qos=1, user=[ROUND_PISA, ("gpl_events", "enter,exit")])
    net.run()
    writers = {name: net.nodes[name].client(f"w{name}") for name in "ac"}
    told: list[list[tuple[str, str]]] = [[] for _ in readers]
    for name, place in (("a", PISA), ("c", PISA), ("a", OSLO), ("c", PISA), ("c", OSLO)):
        named = ("vehicle" if by_property else "other", f"van-{name}")
        writers[name].publish("fleet", "", qos, user=[place, named])
        net.run()
        for events, reader in zip(told, readers, strict=True):
            for message in reader.messages():
                if message.topic.startswith("$GEO/"):
                    event = json.loads(message.payload)
                    events.append((event["event"], event["client"]))
    return told


def line_of_three(mode: str, **middle: object) -> Net:
    net = Net(mode)
    net.node("a")
    net.node("b", **middle)
    net.node("c")
    net.join("a", "b")
    net.join("b", "c")
    return net


def moves_of(first: str, second: str) -> list[tuple[str, str]]:
    return [("enter", first), ("enter", second), ("exit", first), ("exit", second)]


@pytest.mark.parametrize("mode", ["pf", "ssf", "bloom"])
@pytest.mark.parametrize("qos", [0, 1, 2])
@pytest.mark.parametrize("by_property", [False, True])
def test_fence_events_name_the_same_vehicles_on_every_broker(
    mode: str, qos: int, by_property: bool
) -> None:
    net = line_of_three(mode)
    if by_property:
        for node in net.nodes.values():
            node.broker.core.settings.vehicle_property = "vehicle"
    expected = moves_of("van-a", "van-c") if by_property else moves_of("wa", "wc")
    assert told_events(net, qos, by_property) == [expected] * 3


def test_a_neighbour_that_does_not_know_publishers_is_not_told() -> None:
    """Behind it a vehicle is named by the link, as before; nothing breaks."""
    told = told_events(line_of_three("ssf", capabilities=NOTHING), 1, by_property=False)
    assert told == [
        moves_of("wa", "$mesh/b"),
        moves_of("$mesh/a", "$mesh/c"),
        moves_of("$mesh/b", "wc"),
    ]


def test_a_message_that_waited_for_a_link_still_has_its_publisher() -> None:
    net = Net("ssf")
    for name in "ab":
        net.node(name)
    net.join("a", "b")
    reader = net.nodes["b"].client("r")
    reader.subscribe("fleet", qos=1, user=[ROUND_PISA, ("gpl_events", "enter,exit")])
    net.run()
    net.cut("a", "b")
    net.nodes["a"].client("van").publish("fleet", "", 1, user=[PISA])
    net.run()
    net.join("a", "b")
    events = [each for each in reader.messages() if each.topic.startswith("$GEO/")]
    assert [json.loads(each.payload)["client"] for each in events] == ["van"]


def test_nobody_forges_a_publisher() -> None:
    """Neither by a name that looks like one, nor by a User Property; and clients see none."""
    net = line_of_three("ssf")
    reader = net.nodes["c"].client("r")
    reader.subscribe("#", qos=1, user=[ROUND_PISA, ("gpl_events", "enter")])
    net.run()
    with pytest.raises(AssertionError):
        net.nodes["a"].client("$mesh/a/van")
    writer = net.nodes["a"].client("w/$mesh/a/van")
    forged = [("gossamer-publisher", "van"), ("publisher", "van")]
    writer.publish("fleet", "x", 1, user=[PISA, *forged])
    net.run()
    found = {message.topic: message for message in reader.messages()}
    assert json.loads(found["$GEO/enter/fleet"].payload)["client"] == "w/$mesh/a/van"
    properties = found["fleet"].properties
    assert properties is not None
    assert properties.user == [PISA, *forged]
