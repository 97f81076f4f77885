"""A neighbour that knows the key and means no good: contained, and named in the log."""

import logging

import pytest

from gossamer.broker.policy import Permissions
from gossamer.mesh.control_messages import FLOOD, HOLD, PING, PONG, control_packet
from gossamer.mesh.gossip.item import GossipItem, encode_item
from gossamer.mesh.handshake import Accepting, Dialling, Introduction, introduce
from gossamer.mesh.settings import MeshSettings
from gossamer.mesh.tree.spanning_tree import TOPOLOGY, Announcement, view_of
from gossamer.session.identity import Identity
from gossamer.session.message import Message
from gossamer.wire import reasons
from tests.support.meshes import Net


@pytest.fixture
def line() -> Net:
    """evil - b - c."""
    net = Net()
    for name in ("evil", "b", "c"):
        net.node(name)
    net.join("evil", "b")
    net.join("c", "b")
    return net


def is_linked(net: Net, name: str) -> bool:
    return net.nodes["b"].mesh.by_name[name].connection is not None


def announce(net: Net, body: bytes) -> None:
    """`evil` says this of its links, and it is later than what it said before."""
    life = net.nodes["evil"].mesh.gossip.life + 1
    packet = control_packet(FLOOD, encode_item(GossipItem("evil", life, 1, TOPOLOGY, True, body)))
    net.nodes["evil"].mesh.by_name["b"].send([packet])
    net.run()


@pytest.mark.parametrize(
    "packet",
    [
        control_packet(0xEE, b"of a kind that is none"),
        control_packet(PING, b"short"),
        control_packet(PONG, b"short"),
        control_packet(HOLD, b""),
        control_packet(FLOOD, b""),
    ],
)
def test_malformed_control_ends_its_own_link_only(line: Net, packet: bytes) -> None:
    line.nodes["evil"].mesh.by_name["b"].send([packet])
    line.run()
    assert not is_linked(line, "evil")
    assert is_linked(line, "c")
    reader = line.nodes["c"].client("reader")
    reader.subscribe("t")
    line.run()
    line.nodes["b"].client("writer").publish("t", "still")
    line.run()
    assert [message.payload for message in reader.messages()] == [b"still"]


@pytest.mark.parametrize(
    "body", [b"cut off", bytes(16) + b"\0\3a/b", bytes(16) + b"\0\4name" * 1_025 + b"\0\4nam"]
)
def test_an_announcement_that_is_none_goes_no_further(line: Net, body: bytes) -> None:
    announce(line, body)
    assert not is_linked(line, "evil")
    assert is_linked(line, "c")


def test_a_message_with_a_forged_origin_is_dropped_and_named(
    line: Net, caplog: pytest.LogCaptureFixture
) -> None:
    reader = line.nodes["c"].client("reader")
    reader.subscribe("t", qos=2)
    line.run()
    honest = line.nodes["b"].broker.core.hub.namer.name(1)
    forged = honest[:8] + (1 << 60).to_bytes(8, "big")
    message = Message("t", b"forged", 1, False, None, 0.0, "", "", name=forged)
    link = line.nodes["evil"].mesh.by_name["b"]
    with caplog.at_level(logging.WARNING):
        link.session.deliver(message, link.receiver, line.nodes["evil"].now)
        line.run()
    assert reader.messages() == []
    tree_links = line.nodes["b"].mesh.tree_links
    assert tree_links.deduplication.forged == 1
    assert any("link to evil" in record.getMessage() for record in caplog.records)


def test_nobody_makes_a_link_look_cheaper_than_its_other_end_finds_it() -> None:
    said = {
        "evil": Announcement(b"1", {"b": 0, "c": 0}),
        "b": Announcement(b"2", {"evil": 9, "c": 5}),
        "c": Announcement(b"3", {"evil": 9, "b": 5}),
    }
    assert "c" in view_of("b", said).neighbours()
    assert len(view_of("b", said).tree["evil"]) == 1


def test_links_that_only_one_end_announces_carry_nothing(line: Net) -> None:
    announce(line, bytes(16) + b"\0\1b\0\1c\0\4gone")
    tree_links = line.nodes["c"].mesh.tree_links
    assert set(tree_links.view.tree) == {"evil", "b", "c"}
    assert tree_links.view.neighbours() == ["b"]


def test_a_handshake_that_was_overheard_opens_nothing_again() -> None:
    """The acceptor's nonce is another one each time, so a proof fits its own handshake only."""
    settings = MeshSettings("b", mesh="test", key="secret")
    theirs = MeshSettings("c", mesh="test", key="secret")
    met: list[Introduction] = []
    honest = Dialling(theirs, introduce(theirs), "", lambda peer: None)
    first = Accepting(settings, introduce(settings), "", met.append)
    proof = honest.respond(first.step(honest.first()).data)
    accepted = first.step(proof).verdict
    assert accepted is not None
    assert accepted.reason == reasons.SUCCESS
    assert [peer.name for peer in met] == ["c"]
    again = Accepting(settings, introduce(settings), "", met.append)
    again.step(honest.first())
    verdict = again.step(proof).verdict
    assert verdict is not None
    assert verdict.reason == reasons.NOT_AUTHORIZED
    assert len(met) == 1


def test_what_a_neighbour_sends_reaches_only_those_who_may_read_it(line: Net) -> None:
    """Rules hold at delivery, whoever brought the message."""
    receiving = line.nodes["b"]
    reader = receiving.client("reader")
    reader.subscribe("#", qos=1)
    line.run()

    class Tenants(Permissions):
        def __init__(self) -> None:
            super().__init__()
            self.restricts = True

        def may_receive(self, client: Identity, topic: str) -> bool:
            return not topic.startswith("other/")

    receiving.broker.set_permissions(Tenants(), receiving.now)
    line.run()
    writer = line.nodes["evil"].client("writer")
    writer.publish("other/secret", "x", qos=1)
    writer.publish("own/thing", "y", qos=1)
    line.run()
    assert [message.topic for message in reader.messages()] == ["own/thing"]
