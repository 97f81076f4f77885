"""Two brokers retain on one topic at the same time: who reads ends with what everybody keeps."""

import pytest

from gossamer.wire.packets import Publish
from tests.support.memory import MemoryClient
from tests.support.meshes import Net

MODES = ["pf", "sf", "ssf", "bloom", "auto"]
PISA = ("gpl_current_pos", "43.72;10.40")
ROUND_PISA = ("gpl_circleStatic", "1;km;1;43.72;10.40;5")


def line_of_three(mode: str) -> Net:
    net = Net(mode)
    for name in "abc":
        net.node(name)
    net.join("a", "b")
    net.join("b", "c")
    return net


def payloads(messages: list[Publish]) -> list[str]:
    return [message.payload.decode() for message in messages]


def read_by(net: Net, *names: str, qos: int) -> dict[str, MemoryClient]:
    readers = {name: net.nodes[name].client(f"reader {name}") for name in names}
    for reader in readers.values():
        reader.subscribe("t/#", qos=qos)
    net.run()
    return readers


def retained_on(net: Net, name: str, topic: str) -> str:
    found = net.nodes[name].broker.core.retained.get(topic)
    return "" if found is None else found.payload.decode()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("qos", [0, 1, 2])
@pytest.mark.parametrize(("first", "second"), [("1", "2"), ("", "2"), ("1", "")])
def test_live_readers_end_with_what_is_retained(
    mode: str, qos: int, first: str, second: str
) -> None:
    net = line_of_three(mode)
    readers = read_by(net, *"abc", qos=qos)
    one, other = (net.nodes[name].client(f"writer {name}") for name in "ac")
    one.publish("t/x", "before", qos, retain=True)
    net.run()
    for reader in readers.values():
        assert payloads(reader.messages()) == ["before"]
    # Nothing crosses a link between these two.
    one.publish("t/x", first, qos, retain=True)
    other.publish("t/x", second, qos, retain=True)
    net.run()
    kept = {retained_on(net, name, "t/x") for name in "abc"}
    assert len(kept) == 1
    [last] = kept
    for reader in readers.values():
        got = reader.messages()
        assert payloads(got)[-1] == last
        live = [message for message in got if not message.retain]
        assert sorted(payloads(live)) == sorted([first, second])  # each of them once
        again = [message for message in got if message.retain]
        assert len(again) == len(got) - 2 <= 1
        assert [message.qos for message in again] == [min(qos, 1) if last == "" else qos] * len(
            again
        )


def test_those_who_got_them_in_order_get_nothing_more() -> None:
    net = line_of_three("ssf")
    readers = read_by(net, *"abc", qos=1)
    for name, payload in (("a", "1"), ("c", "2"), ("a", "3")):
        net.nodes[name].client("writer").publish("t/x", payload, 1, retain=True)
        net.run()
    for reader in readers.values():
        assert payloads(reader.messages()) == ["1", "2", "3"]


@pytest.mark.parametrize("mode", ["ssf", "bloom"])
def test_own_messages_stay_away_and_places_are_looked_at(mode: str) -> None:
    """What a subscription leaves out of a new one's retained messages is left out here too."""
    net = line_of_three(mode)
    one, other = (net.nodes[name].client(f"writer {name}") for name in "ac")
    for writer in (one, other):
        writer.subscribe("t/#", qos=1, no_local=True)
    near = [net.nodes[name].client(f"near {name}") for name in "ac"]
    for reader in near:
        reader.subscribe("t/#", qos=1, user=[ROUND_PISA])
    net.run()
    one.publish("t/x", "1", 1, retain=True, user=[PISA])
    other.publish("t/x", "2", 1, retain=True, user=[PISA])
    net.run()
    last = retained_on(net, "a", "t/x")
    assert payloads(one.messages()) == ["2"]
    assert payloads(other.messages()) == ["1"]
    for reader in near:
        assert payloads(reader.messages())[-1] == last
    one.publish("t/x", "3", 1, retain=True, user=[("gpl_current_pos", "59.91;10.75")])
    other.publish("t/x", "4", 1, retain=True, user=[("gpl_current_pos", "59.91;10.75")])
    net.run()
    for reader in near:
        assert reader.messages() == []


def test_a_queue_that_waits_ends_with_what_is_retained() -> None:
    net = line_of_three("ssf")
    readers = {name: net.nodes[name].client(f"reader {name}", expiry=3_600) for name in "ac"}
    for reader in readers.values():
        reader.subscribe("t/#", qos=1)
    net.run()
    for reader in readers.values():
        reader.lose()
    for name in "ac":
        net.nodes[name].client(f"writer {name}").publish("t/x", name, 1, retain=True)
    net.run()
    last = retained_on(net, "b", "t/x")
    for name in "ac":
        back = net.nodes[name].client(f"reader {name}", clean=False, expiry=3_600)
        net.run()
        assert payloads(back.messages())[-1] == last
