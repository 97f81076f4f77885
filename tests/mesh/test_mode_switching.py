"""The mode changes while the mesh works: nothing is lost or doubled, at whatever moment."""

from itertools import pairwise, permutations, product

import pytest

from gossamer.mesh.settings import MODES
from tests.support.meshes import Net

CHANGES = list(permutations(MODES, 2))


def mesh_of(*modes: str) -> Net:
    """A line a - b - c …, each broker configured with its mode."""
    net = Net()
    names = "abcdef"[: len(modes)]
    for name, mode in zip(names, modes, strict=True):
        net.mode = mode
        net.node(name)
    for one, other in pairwise(names):
        net.join(one, other)
    return net


def step(net: Net) -> bool:
    """One delivery on one link; False if there was none."""
    for node in net.nodes.values():
        node.broker.flush(node.now)
    if not net.queue:
        return False
    wire, data = net.queue.popleft()
    wire.end.receive(data, net.nodes["a"].now)  # type: ignore[attr-defined]
    return True


def held(net: Net, name: str, of: str) -> str:
    """In what form `name` knows what `of` wants."""
    link = net.nodes[name].mesh.by_name[of]
    if link.interest.takes_all:
        return "all"
    if link.interest.summary is not None:
        return "summary"
    return ",".join(sorted(link.session.subscriptions))


@pytest.mark.parametrize(("before", "after"), CHANGES)
def test_nothing_is_lost_or_doubled_at_any_moment(before: str, after: str) -> None:
    net = mesh_of(before, before, before, before)
    readers = [net.nodes[name].client(f"reader {name}", expiry=1000) for name in "ad"]
    for reader in readers:
        reader.subscribe("t/#", "t/1", qos=2)
    net.run()
    writers = [net.nodes[name].client(f"writer {name}") for name in "abcd"]
    sent: list[str] = []
    net.nodes["b"].mesh.mode_switch.decide(after, net.nodes["b"].now)
    is_busy = True
    while is_busy:
        is_busy = step(net)
        if len(sent) < 200:
            for writer in writers:
                sent.append(str(len(sent)))
                writer.publish("t/1", sent[-1], qos=1 + len(sent) % 2, packet_id=len(sent))
    net.run()
    for reader in readers:
        assert sorted(reader.payloads(), key=int) == sent
    for node in net.nodes.values():
        assert node.mesh.settings.mode == after


@pytest.mark.parametrize(("before", "after"), CHANGES)
def test_it_ends_as_if_it_had_started_so(before: str, after: str) -> None:
    switched = mesh_of(before, before, before)
    fresh = mesh_of(after, after, after)
    for net in (switched, fresh):
        net.nodes["a"].client("one").subscribe("t/#", "t/1", "u")
        net.nodes["c"].client("other").subscribe("t/+", "$app/x")
        net.run()
    switched.nodes["c"].mesh.mode_switch.decide(after, switched.nodes["c"].now)
    switched.run()
    for one, other in ("ab", "ba", "bc", "cb"):
        assert held(switched, one, other) == held(fresh, one, other)


@pytest.mark.parametrize("modes", list(product(MODES, repeat=3)))
def test_brokers_of_different_modes_understand_each_other(modes: tuple[str, ...]) -> None:
    net = mesh_of(*modes)
    readers = {name: net.nodes[name].client(f"reader {name}") for name in "abc"}
    for name, reader in readers.items():
        reader.subscribe("t", f"only/{name}", qos=1)
    net.run()
    for name in "abc":
        writer = net.nodes[name].client(f"writer {name}")
        writer.publish("t", f"of {name}", qos=1)
        for number, other in enumerate("abc"):
            writer.publish(f"only/{other}", f"{name} to {other}", qos=1, packet_id=2 + number)
        net.run()
    for name, reader in readers.items():
        expected = {f"of {other}" for other in "abc"} | {f"{other} to {name}" for other in "abc"}
        payloads = reader.payloads()
        assert set(payloads) == expected
        assert len(payloads) == len(expected)


def test_a_broker_that_was_away_learns_the_newest_decision() -> None:
    net = mesh_of("ssf", "ssf", "ssf")
    net.cut("b", "c")
    net.nodes["a"].mesh.mode_switch.decide("bloom", net.nodes["a"].now)
    net.nodes["c"].mesh.mode_switch.decide("pf", net.nodes["c"].now + 1.0)
    net.run()
    assert [node.mesh.settings.mode for node in net.nodes.values()] == ["bloom", "bloom", "pf"]
    net.join("b", "c")
    assert [node.mesh.settings.mode for node in net.nodes.values()] == ["pf"] * 3


def test_there_is_no_such_mode() -> None:
    net = mesh_of("ssf")
    with pytest.raises(ValueError, match="no mode 'fast'"):
        net.nodes["a"].mesh.mode_switch.decide("fast", 0.0)


def test_clients_decide_nothing() -> None:
    net = mesh_of("ssf")
    net.nodes["a"].client("c").publish("$mesh/mode", "pf", qos=1, retain=True)
    net.run()
    assert net.nodes["a"].mesh.settings.mode == "ssf"
