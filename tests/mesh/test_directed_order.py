"""Directed messages by two ways of a tree that changes: each runs once, in the order meant."""

from itertools import permutations

import pytest

from gossamer.mesh.directed.message import NO_MESSAGE, DirectedMessage, packed
from gossamer.mesh.directed.router import (
    EARLY,
    PARKED,
    DirectedHandler,
    DirectedRouter,
    WaitingMessages,
)
from gossamer.mesh.link import Link
from gossamer.mesh.roaming.transfer import ITEM, item_directed
from gossamer.mesh.roaming.transfer_state import AGREEMENT, MOVED, TransferState
from gossamer.session.message import Message
from gossamer.session.records import QUEUED, DeliveryRecord
from gossamer.storage.memory_journal import MemoryJournal
from gossamer.wire.errors import ProtocolError
from tests.support.durable_world import DurableWorld
from tests.support.meshes import Net, Node

KIND = "probe"
IDENTITIES = [bytes(15) + bytes((number,)) for number in range(1, 5)]


class Probe(DirectedHandler):
    def __init__(self) -> None:
        self.ran: list[str] = []

    def run(self, directed: DirectedMessage, origin: Link, now: float) -> None:
        self.ran.append(directed.text("id"))


@pytest.fixture
def net() -> Net:
    """a - b."""
    net = Net()
    net.node("a")
    net.node("b")
    net.join("a", "b")
    return net


def chain(after: bytes = b"", to: str = "b") -> list[Message]:
    """Each names the one before it."""
    made: list[Message] = []
    for identity in IDENTITIES:
        fields: dict[str, object] = {"id": identity.hex()}
        if after:
            fields["after"] = after.hex()
        made.append(packed(DirectedMessage(KIND, to, fields, NO_MESSAGE), 2))
        after = identity
    return made


def arrive(node: Node, directed_messages: DirectedRouter, messages: list[Message]) -> None:
    for message in messages:
        directed_messages.arrived(message, node.mesh.by_name["a"], False, node.now)


@pytest.mark.parametrize("order", list(permutations(range(4))))
def test_they_are_run_in_order_and_once(net: Net, order: tuple[int, ...]) -> None:
    node = net.nodes["b"]
    probe = node.mesh.router.handlers[KIND] = Probe()
    messages = chain()
    for number in order:
        arrive(node, node.mesh.router, [messages[number]] * 2)
    arrive(node, node.mesh.router, messages)
    assert probe.ran == [identity.hex() for identity in IDENTITIES]
    assert node.mesh.router.waiting() == (0, 0)


def test_those_that_came_too_early_outlive_a_restart(net: Net) -> None:
    journal = MemoryJournal()
    node = net.node("c", journal=journal)
    net.join("a", "c")
    messages = chain(to="c")
    arrive(node, node.mesh.router, messages[1:])
    journal.commit()
    again = journal.restarted()
    net.cut("a", "c")
    node = net.node("c", journal=again, snapshot=again.snapshot)
    net.join("a", "c")
    assert node.mesh.router.waiting() == (0, 3)
    probe = node.mesh.router.handlers[KIND] = Probe()
    arrive(node, node.mesh.router, messages[:1])
    assert probe.ran == [identity.hex() for identity in IDENTITIES]


def test_what_follows_an_unknown_directed_waits(net: Net) -> None:
    node = net.nodes["b"]
    probe = node.mesh.router.handlers[KIND] = Probe()
    arrive(node, node.mesh.router, chain(bytes(16)))
    assert probe.ran == []


@pytest.mark.parametrize("after", ["", "#", "00", "+/" * 8])
def test_a_directed_that_follows_nothing_that_can_be_is_malformed(net: Net, after: str) -> None:
    node = net.nodes["b"]
    fields: dict[str, object] = {"id": IDENTITIES[0].hex(), "after": after}
    with pytest.raises(ProtocolError):
        arrive(node, node.mesh.router, [packed(DirectedMessage(KIND, "b", fields, NO_MESSAGE), 2)])


@pytest.mark.parametrize("kind", [EARLY, PARKED])
@pytest.mark.parametrize("payload", [b"", b"e", b"text"])
def test_what_waits_comes_back_as_it_was(kind: str, payload: bytes) -> None:
    world = DurableWorld()
    carried = Message("t", payload, 1, True, None, 0.0, "", "")
    message = packed(DirectedMessage(KIND, "z", {}, carried), 2)
    WaitingMessages(world.broker.core, kind).keep(message, "", "place")
    world.commit()
    world.crash()
    again = WaitingMessages(world.broker.core, kind)
    assert again.most == 1
    ((place, kept),) = again.waiting("", world.now)
    again.taken("", place)
    assert (kept.topic, kept.payload, kept.qos) == (message.topic, payload, 2)
    assert kept.properties is not None
    assert message.properties is not None
    assert kept.properties.user == message.properties.user
    assert again.most == 0
    assert again.waiting("", world.now) == []
    world.commit()
    world.crash()
    assert WaitingMessages(world.broker.core, kind).most == 0


@pytest.mark.parametrize(("source", "expected"), [("a", ["late"]), ("z", [])])
def test_a_straggler_still_reaches_its_session(net: Net, source: str, expected: list[str]) -> None:
    """What may expire on the way is not waited for."""
    node = net.nodes["b"]
    client = node.client("mover")
    session = node.broker.core.sessions["mover"]
    where = node.mesh.roaming.transfers.of(session)
    where.state = AGREEMENT
    where.broker = "a"
    message = Message("t", b"late", 1, False, None, node.now + 100.0, "", "")
    delivery = DeliveryRecord(1, message, 1, False, [], 0, QUEUED)
    directed = item_directed(ITEM, source, "mover", "b", delivery)
    arrive(node, node.mesh.router, [packed(directed, 2)])
    net.run()
    assert [packet.payload.decode() for packet in client.messages()] == expected


def test_a_note_tells_the_last_directed_of_a_session_that_went_away() -> None:
    where = TransferState("")
    where.state = MOVED
    where.broker = "b"
    where.last = "ab"
    assert TransferState(where.text()).last == "ab"
    where.state = AGREEMENT
    assert TransferState(where.text()).last == ""
    assert TransferState("moved/b/7").since == 7


def test_what_a_session_had_on_its_way_goes_with_it(net: Net) -> None:
    """It may still be on its way to the next broker."""
    net.node("c")
    net.join("b", "c")
    for broker in "abc":
        visitor = net.nodes[broker].visitor()
        visitor.connect("mover", clean=False, expiry=1000)
        net.run()
        if broker == "a":
            visitor.subscribe("t", qos=2)
            net.run()
        if broker == "b":
            net.nodes["b"].client("writer").publish("t", "had", qos=2)
            while visitor.messages():
                net.run()
            seen = net.nodes["b"].broker.core.sessions["mover"].seen
            assert seen is not None
            had = seen.names()
    assert len(had) == 16
    seen = net.nodes["c"].broker.core.sessions["mover"].seen
    assert seen is not None
    assert seen.is_repeated(had)


class TestWithoutRoom:
    """Directed messages that wait have a budget in bytes, and give back what they took of it."""

    @pytest.fixture
    def node(self, net: Net) -> Node:
        node = net.nodes["b"]
        account = node.broker.core.ledger.directed
        account.allow(64 << 10, 1.0, 1.0, 1.0)
        assert account.held == 0
        return node

    def test_what_cannot_wait_for_another_is_run_at_once(self, node: Node) -> None:
        """Out of order, and not lost."""
        probe = node.mesh.router.handlers[KIND] = Probe()
        account = node.broker.core.ledger.directed
        first = (1 << 64).to_bytes(16, "big").hex()
        directed_messages = [_sized(number, first, "b", 4_000) for number in range(40)]
        arrive(node, node.mesh.router, directed_messages)
        _, early = node.mesh.router.waiting()
        assert 0 < early < 40
        assert len(probe.ran) == 40 - early
        assert account.held <= account.budget
        arrive(
            node,
            node.mesh.router,
            [packed(DirectedMessage(KIND, "b", {"id": first}, NO_MESSAGE), 2)],
        )
        assert len(set(probe.ran)) == len(probe.ran) == 41
        assert account.held == 0

    def test_what_cannot_wait_for_its_broker_is_set_aside(self, net: Net, node: Node) -> None:
        account = node.broker.core.ledger.directed
        arrive(node, node.mesh.router, [_sized(n, "", "nowhere", 4_000) for n in range(40)])
        parked, _ = node.mesh.router.waiting()
        assert 0 < parked < 40
        assert node.mesh.router.set_aside == account.refused == 40 - parked
        assert account.held <= account.budget
        net.node("nowhere")
        net.join("nowhere", "b")
        node.wait(1.0)
        net.run()
        assert node.mesh.router.waiting() == (0, 0)
        assert account.held == 0

    def test_it_is_charged_after_a_restart(self) -> None:
        world = DurableWorld()
        message = packed(
            DirectedMessage(KIND, "z", {}, Message("t", bytes(999), 1, True, *_REST)), 2
        )
        assert WaitingMessages(world.broker.core, PARKED).keep(message, "", "place")
        held = world.broker.core.ledger.directed.held
        assert held > 999
        world.commit()
        world.crash()
        again = WaitingMessages(world.broker.core, PARKED)
        assert world.broker.core.ledger.directed.held == held
        again.taken("", "place")
        assert world.broker.core.ledger.directed.held == 0


_REST = (None, 0.0, "", "")


def _sized(number: int, after: str, to: str, size: int) -> Message:
    fields: dict[str, object] = {"id": number.to_bytes(16, "big").hex()}
    if after:
        fields["after"] = after
    return packed(DirectedMessage(KIND, to, fields, Message("t", bytes(size), 1, False, *_REST)), 2)
