"""A neighbour is answered when its message has been passed on, not before: a broker on the way that
leaves for good takes nothing with it. What waits like that is bounded."""

import pytest

from gossamer.session.onward_acks import HELD_BYTES, MOST_HELD
from gossamer.session.session import Session
from tests.support.memory import MemoryClient
from tests.support.meshes import Net, Node

MODES = ("pf", "sf", "ssf", "bloom", "auto")


def in_line(mode: str = "ssf", qos: int = 2) -> tuple[Net, MemoryClient, MemoryClient]:
    """a - b - c, a writer at `a` and a reader at `c`."""
    net = Net(mode)
    for name in "abc":
        net.node(name)
    for one, other in ("ab", "bc"):
        net.join(one, other)
    reader = net.nodes["c"].client("reader")
    reader.subscribe("t/#", qos=qos)
    net.run()
    return net, net.nodes["a"].client("writer"), reader


def peer(node: Node, name: str) -> Session:
    return node.mesh.by_name[name].session


def silence(net: Net, one: str, other: str) -> None:
    """Nothing more gets across, and neither end knows."""
    for wire in net.links[one, other]:
        wire.other = None


def unanswered(net: Net, one: str = "a", other: str = "b") -> int:
    return len(peer(net.nodes[one], other).inflight)


def publish(net: Net, writer: MemoryClient, qos: int, count: int = 1, size: int = 1) -> None:
    for number in range(1, count + 1):
        writer.publish(f"t/{number}", "x" * size, qos=qos, packet_id=number)
    net.run()


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("qos", [1, 2])
def test_a_broker_that_leaves_for_good_takes_nothing_with_it(mode: str, qos: int) -> None:
    net, writer, reader = in_line(mode, qos)
    silence(net, "b", "c")
    publish(net, writer, qos)
    assert unanswered(net) == 1
    net.cut("a", "b")
    net.cut("b", "c")
    del net.nodes["b"]
    net.join("a", "c")
    assert reader.payloads() == ["x"]


@pytest.mark.parametrize("qos", [1, 2])
def test_the_answer_follows_that_of_the_next_one(qos: int) -> None:
    net, writer, reader = in_line(qos=qos)
    publish(net, writer, qos, 5)
    assert reader.payloads() == ["x"] * 5
    assert (unanswered(net), unanswered(net, "b", "c")) == (0, 0)
    assert peer(net.nodes["b"], "a").withheld_bytes == 0


@pytest.mark.parametrize("qos", [1, 2])
def test_what_comes_again_still_waits(qos: int) -> None:
    net, writer, reader = in_line(qos=qos)
    silence(net, "b", "c")
    publish(net, writer, qos)
    net.cut("a", "b")
    net.join("a", "b")
    assert unanswered(net) == 1
    net.cut("b", "c")
    net.join("b", "c")
    assert unanswered(net) == 0
    assert reader.payloads() == ["x"]


def test_nobody_waits_for_a_neighbour_that_cannot_be_reached() -> None:
    net, writer, reader = in_line()
    silence(net, "b", "c")
    publish(net, writer, 2)
    net.cut("b", "c")
    assert unanswered(net) == 0
    publish(net, writer, 1)
    assert unanswered(net) == 0
    net.join("b", "c")
    assert reader.payloads() == ["x", "x"]


def test_nor_for_one_that_is_forgotten() -> None:
    net, writer, _ = in_line()
    silence(net, "b", "c")
    publish(net, writer, 2)
    b = net.nodes["b"]
    b.mesh.neighbour_table.forget("c", b.now)
    net.run()
    assert unanswered(net) == 0


@pytest.mark.parametrize(
    ("count", "size", "held"), [(MOST_HELD + 5, 1, MOST_HELD), (5, HELD_BYTES * 2 // 5, 2)]
)
def test_what_waits_is_bounded(count: int, size: int, held: int) -> None:
    """The rest is answered as soon as it is stored."""
    net, writer, reader = in_line()
    silence(net, "b", "c")
    publish(net, writer, 1, count, size)
    assert unanswered(net) == held
    net.cut("b", "c")
    net.join("b", "c")
    assert unanswered(net) == 0
    assert len(reader.payloads()) == count
    assert peer(net.nodes["b"], "a").withheld_bytes == 0


def test_a_neighbour_that_lost_its_state_waits_for_nothing() -> None:
    net, writer, _ = in_line()
    silence(net, "b", "c")
    publish(net, writer, 2)
    net.cut("a", "b")
    net.node("a")
    net.join("a", "b")
    session = peer(net.nodes["b"], "a")
    assert not session.withheld
    assert session.withheld_bytes == 0
    net.cut("b", "c")
    net.join("b", "c")
    assert session.withheld_bytes == 0


def test_what_goes_another_way_instead_is_waited_for() -> None:
    """b cannot give it to c any more and sends it by way of d: that delivery takes the first one's
    place before the first one is withdrawn."""
    net, _, _ = in_line()
    hub = net.nodes["b"].broker.core.hub
    giver = peer(net.nodes["b"], "a")
    passing = hub.passing
    passing.begin()
    first = passing.take()
    assert passing.hold(giver, 7, b"@\x02\0\x07", 10)
    # Meanwhile another message is being distributed.
    passing.begin()
    current = passing.ticket
    before = passing.carry(first)
    second = passing.take()
    passing.end(before)
    assert passing.ticket == current
    passing.done(first)
    assert giver.withheld is not None
    assert 7 in giver.withheld
    passing.done(second)
    assert 7 not in giver.withheld
    assert giver.withheld_bytes == 0
    # One whose answer was given is nobody's any more, and counts for no other message.
    assert passing.carry(first) == current
    assert passing.ticket == 0
    passing.end(current)
    assert not passing.hold(giver, 8, b"@\x02\0\x08", 10)
