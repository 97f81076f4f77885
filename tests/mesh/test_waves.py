"""Waves do not multiply: a broker begins one of a message in each view, however often it has it."""

from itertools import combinations

from gossamer.broker.distributing import publish
from gossamer.broker.neighbours import REPEATED, WAVE
from gossamer.mesh.link import Link
from gossamer.session.message import Message
from gossamer.session.naming import NAME_BYTES
from tests.support.meshes import Net, Node

AWAY = "bcefgh"


def retained(payload: bytes) -> Message:
    return Message("t", payload, 1, True, None, 0.0, "", "")


def kept(node: Node) -> bytes:
    found = node.broker.core.retained.get("t")
    return b"" if found is None else found.payload


def waiting(node: Node, neighbour: str) -> int:
    """How often messages with the topic are in the neighbour's queue."""
    deliveries = node.mesh.by_name[neighbour].session.left_over()
    return sum(each.message is not None and each.message.topic == "t" for each in deliveries)


def test_what_waits_in_many_queues_goes_round_once_for_each_view() -> None:
    """`a` loses all neighbours but `d`, and meets them again behind it, one after another. What
    goes round for one of them is queued for those who are still away; as many waves again would
    begin for each of them."""
    net = Net()
    a = net.node("a")
    for name in ("d", *AWAY):
        net.node(name)
        net.join("a", name)
    for name in AWAY:
        net.cut("a", name)
    messages = 3
    for number in range(messages):
        publish(a.broker.core, retained(b"%d" % number), None, a.now)
    net.run()
    for rounds, name in enumerate(AWAY, 1):
        net.join("d", name)
        assert kept(net.nodes[name]) == b"2"
        for away in AWAY[rounds:]:
            # Some more each time are the last of them, told where it was missing.
            assert waiting(a, away) <= 2 * messages * (1 + rounds)


def standby(net: Net) -> tuple[Node, Link]:
    """A link that stands and is not in the tree, from one of its ends."""
    for node in net.nodes.values():
        for link in node.mesh.by_name.values():
            if link.connection is not None and not link.in_tree:
                return node, link
    raise AssertionError("all links are in the tree")


def test_what_comes_late_as_many_waves_goes_on_as_one() -> None:
    """A queue of a link that left the tree: all its waves of one message are one for its reader."""
    net = Net()
    for name in "abc":
        net.node(name)
    for one, other in combinations("abc", 2):
        net.join(one, other)
    node, link = standby(net)
    assert node.mesh.fabric is not None
    first = bytes(range(NAME_BYTES))

    def arrives(number: int) -> tuple[int, Message]:
        message = Message("t", b"x", 1, False, None, 0.0, "", "")
        message.name = bytes(NAME_BYTES - 1) + bytes((number,)) + first
        return node.mesh.admit(link.session, message, node.now), message

    verdict, message = arrives(1)
    assert verdict == WAVE
    assert message.name[NAME_BYTES:] == first
    assert node.mesh.fabric.memory.is_own(message.name)
    assert [arrives(number)[0] for number in range(2, 9)] == [REPEATED] * 7
    assert node.mesh.fabric.waves.begun == 1

    # In another view somebody may be missing again.
    digest = node.mesh.fabric.view.digest
    net.node("d")
    net.join("a", "d")
    assert node.mesh.fabric.view.digest != digest
    assert not link.in_tree
    verdict, message = arrives(9)
    assert verdict != REPEATED
    assert node.mesh.fabric.memory.is_own(message.name)


def test_a_neighbour_that_returns_is_not_alone_with_what_waited_for_those_behind_it() -> None:
    """c was behind b and is now behind d. What waits for both goes to c without b, which may leave
    again before it has passed anything on."""
    net = Net()
    for name in "abcd":
        net.node(name)
    for one, other in ("ab", "ad", "dc"):
        net.join(one, other)
    net.cut("a", "b")
    a = net.nodes["a"]
    publish(a.broker.core, retained(b"x"), None, a.now)
    net.run()
    fabric, link = a.mesh.fabric, a.mesh.by_name["b"]
    assert fabric is not None
    assert waiting(a, "b") == 1
    waves = fabric.waves
    for behind, begun in (({"b"}, 0), ({"b", "c"}, 1), ({"b", "c"}, 1)):
        link.behind = behind
        waves.send_to_others(link, fabric.view, a.now)
        assert waves.begun == begun
    assert link.reached == {"c"}
