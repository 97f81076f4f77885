"""Waves do not multiply: a broker begins one of a message for each neighbour in each view, however
often it has it; and they go to nobody whom they are not for."""

from itertools import combinations

from gossamer.broker.delivery import publish
from gossamer.broker.mesh_port import REBROADCAST, REPEATED
from gossamer.mesh.link import Link
from gossamer.session.message import Message
from gossamer.session.message_names import NAME_BYTES
from gossamer.storage.memory_journal import MemoryJournal
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
    first = bytes(range(NAME_BYTES))

    def arrives(number: int) -> tuple[int, Message]:
        name = bytes(NAME_BYTES - 1) + bytes((number,)) + first
        message = Message("t", b"x", 1, False, None, 0.0, "", "", name=name)
        return node.mesh.admit(link.session, message, node.now)

    verdict, message = arrives(1)
    assert verdict == REBROADCAST
    assert message.name[NAME_BYTES:] == first
    assert node.mesh.tree_links.memory.is_own(message.name)
    assert [arrives(number)[0] for number in range(2, 9)] == [REPEATED] * 7
    assert node.mesh.tree_links.rebroadcast.begun == 1

    # In another view somebody may be missing again.
    digest = node.mesh.tree_links.view.digest
    net.node("d")
    net.join("a", "d")
    assert node.mesh.tree_links.view.digest != digest
    assert not link.in_tree
    verdict, message = arrives(9)
    assert verdict != REPEATED
    assert node.mesh.tree_links.memory.is_own(message.name)


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
    tree_links, link = a.mesh.tree_links, a.mesh.by_name["b"]
    assert waiting(a, "b") == 1
    waves = tree_links.rebroadcast
    for behind, begun in (({"b"}, 0), ({"b", "c"}, 1), ({"b", "c"}, 1)):
        link.behind = behind
        waves.send_to_others(link, tree_links.view, a.now)
        assert waves.begun == begun


def test_what_waits_goes_to_nobody_who_was_not_behind_the_link() -> None:
    """c is behind b, and comes back behind d. Only d leads there: e had what it wanted of the
    message when it was new, and is sent nothing."""
    net = Net("pf")
    for name in "abcde":
        net.node(name)
    for one, other in ("ab", "ad", "ae", "bc"):
        net.join(one, other)
    net.cut("a", "b")
    a, e = net.nodes["a"], net.nodes["e"]
    publish(a.broker.core, Message("t", b"x", 1, False, None, 0.0, "", ""), None, a.now)
    net.run()
    late = e.client("late")
    late.subscribe("#", qos=1)
    reader = net.nodes["c"].client("reader")
    reader.subscribe("#", qos=1)
    net.cut("b", "c")
    net.join("d", "c")
    tree_links = a.mesh.tree_links
    assert tree_links.rebroadcast.begun == 1
    assert reader.payloads() == ["x"]
    assert late.payloads() == []


def test_who_was_behind_a_link_is_known_after_a_restart() -> None:
    """Otherwise what waits for b would go to everybody, once anybody is there."""
    net = Net("pf")
    journal = MemoryJournal()
    journal.durable = False
    net.node("a", journal=journal)
    for name in "bcd":
        net.node(name)
    for one, other in ("ab", "ad", "bc"):
        net.join(one, other)
    for one, other in ("ab", "ad"):
        net.cut(one, other)
    a = net.nodes["a"]
    publish(a.broker.core, Message("t", b"x", 1, False, None, 0.0, "", ""), None, a.now)
    net.run()
    journal.commit()
    again = journal.restarted()
    again.durable = False
    a = net.node("a", journal=again, snapshot=again.snapshot)
    link = a.mesh.by_name["b"]
    assert waiting(a, "b") == 1
    assert link.behind == {"b", "c"}
    late = net.nodes["d"].client("late")
    late.subscribe("#", qos=1)
    net.join("a", "d")
    assert a.mesh.tree_links.rebroadcast.begun == 0
    net.join("a", "b")
    assert waiting(a, "b") == 0
    # A neighbour that is forgotten is forgotten with all that.
    net.cut("a", "b")
    a.mesh.neighbour_table.forget("b", a.now)
    again.commit()
    assert "b" not in again.restarted().snapshot.rooms.get("mesh/queued_for", {})


def test_what_is_queued_after_a_queue_was_sent_round_is_sent_round_too() -> None:
    """c was sent what waited for b then, and not what has come since."""
    net = Net("pf")
    for name in "abcd":
        net.node(name)
    for one, other in ("ab", "ad", "bc", "cd"):
        net.join(one, other)
    a = net.nodes["a"]
    link = a.mesh.by_name["b"]
    assert link.behind == {"b", "c"}
    reader = net.nodes["c"].client("reader")
    reader.subscribe("t", qos=1)
    net.run()
    for wire in net.links["a", "b"]:
        wire.other = None  # nothing gets across, and neither end knows
    for number in range(2):
        publish(a.broker.core, Message("t", b"%d" % number, 1, False, None, 0.0, "", ""), None, 0.0)
        if number == 0:
            link.reached = {"c"}
            link.reached_number = link.session.last_number()
    net.cut("b", "c")
    net.cut("a", "b")
    assert reader.payloads() == ["1"]
    assert link.reached == {"c"}
    assert waiting(a, "b") == 2
    # While all agree on a tree without b, what is for c goes there, and need not go again.
    publish(a.broker.core, Message("t", b"2", 1, False, None, 0.0, "", ""), None, 0.0)
    net.run()
    assert reader.payloads() == ["2"]
    begun = a.mesh.tree_links.rebroadcast.begun
    net.node("e")
    net.join("d", "e")
    assert a.mesh.tree_links.rebroadcast.begun == begun
