"""Words for everybody: once each, over any graph, kept for those who come later, damped."""

import logging
from collections import deque

import pytest

from gossamer.broker.mesh_port import CONTROL_TOPIC
from gossamer.mesh.control_messages import FLOOD, FLOOD_LIST, control_packet
from gossamer.mesh.gossip.gossip import LASTING_BURST
from gossamer.mesh.gossip.item import GossipItem, decode_item, decode_list, encode_item, encode_list
from gossamer.wire.errors import ProtocolError
from tests.support.meshes import Net, Node, Wire

KIND = 7
Heard = dict[str, list[tuple[str, bytes]]]


def listening(net: Net, names: str) -> Heard:
    """Nodes by these names, and what each hears."""
    heard: Heard = {}
    for name in names:
        net.node(name)
        notes: list[tuple[str, bytes]] = []
        heard[name] = notes

        def note(origin: str, body: bytes, now: float, notes: list = notes) -> None:  # type: ignore[type-arg]
            notes.append((origin, body))

        net.nodes[name].mesh.gossip.handlers[KIND] = note
    return heard


def say(node: Node, body: bytes, lasting: bool = True) -> None:
    node.mesh.gossip.say(KIND, body, node.now, lasting)


@pytest.mark.parametrize("lasting", [True, False])
@pytest.mark.parametrize("links", ["ab bc cd", "ab ac ad", "ab bc cd da ac"])
def test_everybody_hears_each_word_once(links: str, lasting: bool) -> None:
    net = Net()
    heard = listening(net, "abcd")
    for link in links.split():
        net.join(link[0], link[1])
    for body in (b"1", b"2"):
        say(net.nodes["b"], body, lasting)
        net.run()
    expected = [("b", b"1"), ("b", b"2")]
    assert heard == {"a": expected, "b": [], "c": expected, "d": expected}


def test_who_comes_later_is_told_what_still_stands() -> None:
    net = Net()
    heard = listening(net, "abcd")
    net.join("a", "b")
    net.join("c", "d")
    say(net.nodes["a"], b"old")
    say(net.nodes["a"], b"new")
    say(net.nodes["a"], b"gone", lasting=False)
    say(net.nodes["d"], b"there")
    net.run()
    net.join("b", "c")
    assert heard["c"] == [("d", b"there"), ("a", b"new")]
    assert heard["d"] == [("a", b"new")]
    assert heard["a"] == [("d", b"there")]
    assert net.nodes["d"].mesh.gossip.last_item("a", KIND) == b"new"
    net.cut("b", "c")
    net.join("b", "c")
    assert heard["d"] == [("a", b"new")]


class Recorded(deque[tuple[Wire, bytes]]):
    """Bytes under way, and all that ever were."""

    def __init__(self) -> None:
        super().__init__()
        self.written: list[bytes] = []

    def append(self, item: tuple[Wire, bytes]) -> None:
        self.written.append(item[1])
        super().append(item)

    def lists(self) -> int:
        """How often somebody has named the words that it has."""
        listed = CONTROL_TOPIC.encode() + bytes((0, FLOOD_LIST))
        return sum(data.count(listed) for data in self.written)


def test_nothing_is_listed_where_both_have_heard_the_same() -> None:
    net = Net()
    net.queue = recorded = Recorded()
    listening(net, "abc")
    for near, far in ("ab", "bc", "ca"):
        net.join(near, far)
    say(net.nodes["a"], b"new")
    net.run()
    net.cut("b", "c")
    assert recorded.lists() > 0
    recorded.written.clear()
    net.join("b", "c")
    assert recorded.written
    assert recorded.lists() == 0


def test_a_start_whose_clock_was_set_back_is_still_heard() -> None:
    net = Net()
    heard = listening(net, "ab")
    net.join("a", "b")
    say(net.nodes["a"], b"before")
    net.run()
    net.cut("a", "b")
    net.node("a")
    flooding = net.nodes["a"].mesh.gossip
    flooding.life -= 1 << 40
    say(net.nodes["a"], b"after")
    net.join("a", "b")
    assert heard["b"] == [("a", b"before"), ("a", b"after")]


def test_a_broker_that_changes_its_words_all_the_time_is_damped(
    caplog: pytest.LogCaptureFixture,
) -> None:
    net = Net()
    heard = listening(net, "abc")
    net.join("a", "b")
    net.join("b", "c")
    count = 3 * int(LASTING_BURST)
    with caplog.at_level(logging.WARNING):
        for number in range(count):
            say(net.nodes["a"], str(number).encode())
            net.run()
        assert len(heard["c"]) <= LASTING_BURST
        for node in net.nodes.values():
            node.now += 5.0
        net.run()
    assert heard["c"][-1] == ("a", str(count - 1).encode())
    (complaint,) = [record for record in caplog.records if "too often" in record.getMessage()]
    assert "link to a:" in complaint.getMessage()


def forged(net: Net, word: GossipItem) -> None:
    """`a` sends `b` what it should not."""
    net.nodes["a"].mesh.by_name["b"].send([control_packet(FLOOD, encode_item(word))])
    net.run()


def test_a_word_in_ones_own_name_is_answered_by_a_later_one() -> None:
    net = Net()
    heard = listening(net, "abc")
    net.join("a", "b")
    net.join("b", "c")
    say(net.nodes["b"], b"mine")
    net.run()
    life = net.nodes["b"].mesh.gossip.life
    forged(net, GossipItem("b", life + 5, 1, KIND, True, b"forged"))
    assert heard["c"] == [("b", b"mine"), ("b", b"mine")]
    assert net.nodes["a"].mesh.gossip.last_item("b", KIND) == b"mine"


@pytest.mark.parametrize(
    "word",
    [
        GossipItem("x" * 65, 1, 1, KIND, True, b""),
        GossipItem("x/y", 1, 1, KIND, True, b""),
        GossipItem("", 1, 1, KIND, True, b""),
        GossipItem("x", 1, 1, KIND, True, bytes(1_048_577)),
        GossipItem("x", (1 << 80) - 1, 1, KIND, True, b""),
    ],
    ids=["long name", "slash", "no name", "long body", "far future"],
)
def test_what_is_no_word_ends_its_link_only(word: GossipItem) -> None:
    net = Net()
    heard = listening(net, "abc")
    net.join("a", "b")
    net.join("c", "b")
    forged(net, word)
    assert net.nodes["b"].mesh.by_name["a"].connection is None
    assert net.nodes["b"].mesh.by_name["c"].connection is not None
    assert heard["c"] == []


def test_words_and_lists_come_back_as_they_were() -> None:
    words = [GossipItem(f"b{n}", n << 60, n, n % 256, n % 2 == 0, b"x" * n) for n in range(3_000)]
    for word in words[:50]:
        again = decode_item(b"?" + encode_item(word), 1)
        assert (again.origin, again.life, again.counter, again.kind, again.is_lasting) == (
            *(word.origin, word.life, word.counter, word.kind, word.is_lasting),
        )
        assert again.body == word.body
    listed = {}
    ends = []
    for part in encode_list(words):
        named, is_last = decode_list(b"?" + part)
        listed.update(named)
        ends.append(is_last)
    assert listed == {(word.origin, word.kind): (word.life, word.counter) for word in words}
    assert ends == [False] * (len(ends) - 1) + [True]


@pytest.mark.parametrize("cut", range(20))
def test_a_word_that_is_cut_off_is_none(cut: int) -> None:
    data = encode_item(GossipItem("ab", 1, 1, KIND, True, b""))
    with pytest.raises(ProtocolError):
        decode_item(data[:cut], 0)
