"""Errands that take two ways of a tree that changes: each is run once, and in the order meant."""

from itertools import permutations

import pytest

from gossamer.mesh.link import Link
from gossamer.mesh.relay.errand import NO_MESSAGE, Errand, packed
from gossamer.mesh.relay.errands import ErrandHandler, Errands
from gossamer.mesh.relay.waiting_errands import EARLY, PARKED, WaitingErrands
from gossamer.mesh.roaming.parcels import ITEM, item_errand
from gossamer.mesh.roaming.whereabouts import MOVED, SETTLING, Whereabouts
from gossamer.session.message import Message
from gossamer.session.records import QUEUED, DeliveryRecord
from gossamer.storage.memory_journal import MemoryJournal
from gossamer.wire.errors import ProtocolError
from tests.support.durable_world import DurableWorld
from tests.support.meshes import Net, Node

KIND = "probe"
IDENTITIES = [bytes(15) + bytes((number,)) for number in range(1, 5)]


class Probe(ErrandHandler):
    def __init__(self) -> None:
        self.ran: list[str] = []

    def run(self, errand: Errand, origin: Link, now: float) -> None:
        self.ran.append(errand.text("id"))


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
        made.append(packed(Errand(KIND, to, fields, NO_MESSAGE), 2))
        after = identity
    return made


def arrive(node: Node, errands: Errands, messages: list[Message]) -> None:
    for message in messages:
        errands.arrived(message, node.mesh.by_name["a"], False, node.now)


@pytest.mark.parametrize("order", list(permutations(range(4))))
def test_they_are_run_in_order_and_once(net: Net, order: tuple[int, ...]) -> None:
    node = net.nodes["b"]
    probe = node.mesh.errands.handlers[KIND] = Probe()
    messages = chain()
    for number in order:
        arrive(node, node.mesh.errands, [messages[number]] * 2)
    arrive(node, node.mesh.errands, messages)
    assert probe.ran == [identity.hex() for identity in IDENTITIES]
    assert node.mesh.errands.waiting() == (0, 0)


def test_those_that_came_too_early_outlive_a_restart(net: Net) -> None:
    journal = MemoryJournal()
    node = net.node("c", journal=journal)
    net.join("a", "c")
    messages = chain(to="c")
    arrive(node, node.mesh.errands, messages[1:])
    journal.commit()
    again = journal.restarted()
    net.cut("a", "c")
    node = net.node("c", journal=again, snapshot=again.snapshot)
    net.join("a", "c")
    assert node.mesh.errands.waiting() == (0, 3)
    probe = node.mesh.errands.handlers[KIND] = Probe()
    arrive(node, node.mesh.errands, messages[:1])
    assert probe.ran == [identity.hex() for identity in IDENTITIES]


def test_what_follows_an_unknown_errand_waits(net: Net) -> None:
    node = net.nodes["b"]
    probe = node.mesh.errands.handlers[KIND] = Probe()
    arrive(node, node.mesh.errands, chain(bytes(16)))
    assert probe.ran == []


@pytest.mark.parametrize("after", ["", "#", "00", "+/" * 8])
def test_an_errand_that_follows_nothing_that_can_be_is_malformed(net: Net, after: str) -> None:
    node = net.nodes["b"]
    fields: dict[str, object] = {"id": IDENTITIES[0].hex(), "after": after}
    with pytest.raises(ProtocolError):
        arrive(node, node.mesh.errands, [packed(Errand(KIND, "b", fields, NO_MESSAGE), 2)])


@pytest.mark.parametrize("kind", [EARLY, PARKED])
@pytest.mark.parametrize("payload", [b"", b"e", b"text"])
def test_what_waits_comes_back_as_it_was(kind: str, payload: bytes) -> None:
    world = DurableWorld()
    carried = Message("t", payload, 1, True, None, 0.0, "", "")
    message = packed(Errand(KIND, "z", {}, carried), 2)
    WaitingErrands(world.broker.core, kind).keep(message, "", "place")
    world.commit()
    world.crash()
    again = WaitingErrands(world.broker.core, kind)
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
    assert WaitingErrands(world.broker.core, kind).most == 0


@pytest.mark.parametrize(("source", "expected"), [("a", ["late"]), ("z", [])])
def test_a_straggler_still_reaches_its_session(net: Net, source: str, expected: list[str]) -> None:
    """What may expire on the way is not waited for."""
    node = net.nodes["b"]
    client = node.client("mover")
    session = node.broker.core.sessions["mover"]
    where = node.mesh.roaming.moves.of(session)
    where.state = SETTLING
    where.broker = "a"
    message = Message("t", b"late", 1, False, None, node.now + 100.0, "", "")
    delivery = DeliveryRecord(1, message, 1, False, [], 0, QUEUED)
    errand = item_errand(ITEM, source, "mover", "b", delivery)
    arrive(node, node.mesh.errands, [packed(errand, 2)])
    net.run()
    assert [packet.payload.decode() for packet in client.messages()] == expected


def test_a_note_tells_the_last_errand_of_a_session_that_went_away() -> None:
    where = Whereabouts("")
    where.state = MOVED
    where.broker = "b"
    where.last = "ab"
    assert Whereabouts(where.text()).last == "ab"
    where.state = SETTLING
    assert Whereabouts(where.text()).last == ""
    assert Whereabouts("moved/b/7").since == 7


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
