"""Rules and areas are told to neighbours, and judged where messages enter."""

from itertools import pairwise

import pytest

from gossamer.mesh.settings import CAPABILITIES, CONDITIONS
from gossamer.wire.packets import PUBREL, Acknowledgement, Publish
from tests.support.meshes import Net

PISA = ("gpl_current_pos", "43.72;10.40")
OSLO = ("gpl_current_pos", "59.91;10.75")
ROUND_PISA = ("gpl_circleStatic", "1;km;1;43.72;10.40;5")
ROUND_ME = ("gpl_circleDynamic", "2;km;1;5")


def line(*names: str, mode: str = "ssf", **options: object) -> Net:
    net = Net(mode)
    for name in names:
        net.node(name, **options)
    for one, other in pairwise(names):
        net.join(one, other)
    return net


def held(net: Net, name: str, of: str) -> list[str]:
    """What `name` knows that `of` wants."""
    return sorted(net.nodes[name].mesh.by_name[of].session.subscriptions)


def crossed(net: Net, sender: str, receiver: str) -> int:
    """Publications that were sent from one to the other."""
    return net.nodes[sender].mesh.by_name[receiver].traffic().messages_sent


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_a_rule_is_judged_where_values_enter(qos: int) -> None:
    net = line("a", "b", "c")
    reader = net.nodes["c"].client("reader")
    reader.subscribe("$GT;30/t/+", qos=qos)
    net.run()
    assert held(net, "a", "b") == ["t/+\0p$GT;30"]
    writer = net.nodes["a"].client("writer")
    for value in ("10", "31", "30", "warm", "40"):
        writer.publish("t/1", value, qos)
    net.run()
    assert reader.payloads() == ["31", "40"]
    assert crossed(net, "a", "b") == crossed(net, "b", "c") == 2


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_an_area_is_judged_where_places_enter(qos: int) -> None:
    net = line("a", "b", "c")
    reader = net.nodes["c"].client("reader")
    reader.subscribe("t/+", qos=qos, user=[ROUND_PISA])
    net.run()
    writer = net.nodes["a"].client("writer")
    writer.publish("t/1", "here", qos, user=[PISA])
    writer.publish("t/1", "there", qos, user=[OSLO])
    writer.publish("t/1", "anywhere", qos)
    net.run()
    assert reader.payloads() == ["here", "anywhere"]
    assert crossed(net, "a", "b") == crossed(net, "b", "c") == 2


@pytest.mark.parametrize("qos", [0, 1, 2])
def test_runs_are_judged_one_by_one(qos: int) -> None:
    net = line("a", "b", "c", "d")
    reader = net.nodes["d"].client("reader")
    reader.subscribe("$GT;30/t/+", qos=qos)
    raw = net.nodes["b"].client("raw")
    raw.subscribe("t/+", qos=qos)
    net.run()
    writer = net.nodes["a"].client("writer")
    payloads = [str(value) for value in range(10, 50)]
    packets = [
        Publish("t/1", payload.encode(), qos, False, False, number + 1 if qos else 0)
        for number, payload in enumerate(payloads)
    ]
    writer.send(*packets)
    if qos == 2:
        writer.send(*[Acknowledgement(PUBREL, packet.packet_id) for packet in packets])
    net.run()
    assert reader.payloads() == [str(value) for value in range(31, 50)]
    assert raw.payloads() == payloads
    assert crossed(net, "b", "c") == crossed(net, "c", "d") == 19


def test_one_copy_for_a_neighbour_that_wants_it_by_several_interests() -> None:
    net = line("a", "b")
    readers = [net.nodes["b"].client(f"r{number}") for number in range(3)]
    readers[0].subscribe("$GT;30/t/+", "$LT;35/+/1", qos=1)
    readers[1].subscribe("$GT;10/t/#", qos=1)
    net.run()
    assert held(net, "a", "b") == ["+/1\0p$LT;35", "t/#\0p$GT;10"]
    writer = net.nodes["a"].client("writer")
    writer.publish("t/1", "32", 1)
    writer.publish("t/1", "5", 1)
    net.run()
    assert crossed(net, "a", "b") == 2
    readers[2].subscribe("t/1", qos=1)
    net.run()
    assert held(net, "a", "b") == ["+/1\0p$LT;35", "t/#\0p$GT;10", "t/1"]
    writer.publish("t/1", "32", 1)
    net.run()
    assert crossed(net, "a", "b") == 3
    assert readers[0].payloads() == ["32", "32", "5", "32", "32"]


def test_a_plain_filter_takes_the_place_of_conditions_and_gives_it_back() -> None:
    net = line("a", "b", "c")
    reader = net.nodes["c"].client("reader")
    reader.subscribe("$GT;30/t/+", "$LT;5/t/+", "$EQ;7/u")
    net.run()
    conditions = ["t/+\0p$GT;30", "t/+\0p$LT;5", "u\0p$EQ;7"]
    assert held(net, "a", "b") == conditions
    raw = net.nodes["c"].client("raw")
    raw.subscribe("#")
    net.run()
    assert held(net, "a", "b") == ["#"]
    raw.unsubscribe("#")
    net.run()
    assert held(net, "a", "b") == conditions
    reader.unsubscribe("$GT;30/t/+")
    net.run()
    assert held(net, "a", "b") == conditions[1:]


def test_a_neighbour_that_does_not_know_conditions_gets_filters() -> None:
    net = Net("ssf")
    net.node("a")
    net.node("old", capabilities=CAPABILITIES - {CONDITIONS})
    net.node("c")
    net.join("a", "old")
    net.join("old", "c")
    reader = net.nodes["c"].client("reader")
    reader.subscribe("$GT;30/t/+", qos=1)
    reader.subscribe("p/+", qos=1, user=[ROUND_PISA])
    net.run()
    assert held(net, "a", "old") == held(net, "old", "c") == ["p/+", "t/+"]
    writer = net.nodes["a"].client("writer")
    for value in ("10", "40"):
        writer.publish("t/1", value, 1)
    writer.publish("p/1", "there", 1, user=[OSLO])
    net.run()
    assert reader.payloads() == ["40"]
    # And once it does, it is told them.
    net.cut("old", "c")
    net.nodes["old"].mesh.settings.capabilities = CAPABILITIES
    net.join("old", "c")
    assert held(net, "old", "c") == [held(net, "old", "c")[0], "t/+\0p$GT;30"]
    writer.publish("t/1", "41", 1)
    writer.publish("t/1", "12", 1)
    net.run()
    assert reader.payloads() == ["41"]
    assert crossed(net, "old", "c") == 4  # three from before


@pytest.mark.parametrize("mode", ["pf", "sf", "bloom"])
def test_other_modes_are_as_they_were(mode: str) -> None:
    net = line("a", "b", mode=mode)
    reader = net.nodes["b"].client("reader")
    reader.subscribe("$GT;30/t/+", qos=1)
    net.run()
    assert held(net, "a", "b") == (["t/+"] if mode == "sf" else [])
    writer = net.nodes["a"].client("writer")
    writer.publish("t/1", "10", 1)
    writer.publish("t/1", "40", 1)
    net.run()
    assert reader.payloads() == ["40"]
    assert crossed(net, "a", "b") == 2
