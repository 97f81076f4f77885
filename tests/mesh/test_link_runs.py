"""Bursts at QoS 1 and 2 cross links as one message each: once, in order, whatever happens on the
way; and one by one where a neighbour does not know runs."""

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from gossamer.mesh.settings import CAPABILITIES, RUNS
from gossamer.session.message_names import run_name
from gossamer.session.publish_run import MOST_RUN_BYTES
from gossamer.session.session import Session
from gossamer.wire.codec import encode
from gossamer.wire.packets import (
    PUBREL,
    V5,
    V311,
    Acknowledgement,
    Publish,
    Request,
    Subscribe,
)
from gossamer.wire.publish_codec import publish_start
from tests.support.durable_meshes import DurableNet
from tests.support.memory import MemoryClient
from tests.support.meshes import Net, Node

MODES = ("pf", "sf", "ssf", "bloom", "auto")
SIZE = 6


@pytest.fixture
def durable(tmp_path: Path) -> Iterator[DurableNet]:
    net = DurableNet(tmp_path)
    yield net
    net.close()


def line(net: Net, names: str = "abc", **options: object) -> Net:
    """Each joined to the next one."""
    for name in names:
        net.node(name, **options)
    for one, other in pairwise(names):
        net.join(one, other)
    return net


def burst(
    net: Net,
    client: MemoryClient,
    qos: int,
    count: int,
    first: int = 1,
    topic: str = "t",
    size: int = SIZE,
) -> list[str]:
    """In one chunk; what is to arrive."""
    payloads = [str(10 ** (size - 1) + number) for number in range(first, first + count)]
    client.send_bytes(
        b"".join(
            encode(
                Publish(topic, payload.encode(), qos=qos, packet_id=number),
                client.connection.version,
            )
            for number, payload in enumerate(payloads, first)
        )
    )
    if qos == 2:
        releases = [Acknowledgement(PUBREL, number) for number in range(first, first + count)]
        client.send(*releases)
    net.run()
    return payloads


def lasting(net: Net, name: str) -> MemoryClient:
    """A client whose session outlives its connection."""
    client = net.nodes[name].visitor()
    client.connect("reader", expiry=10_000)
    net.run()
    client.send(Subscribe(1, [Request("t", 2)], None))
    net.run()
    client.take()
    return client


def carried(packets: bytes) -> bytes:
    """What a neighbour says are packets of 3.1.1."""
    return publish_start(0x30, b"t", 2 + len(packets)) + b"\x01\x7a" + packets


def named(properties: bytes, payload: bytes, qos: int) -> bytes:
    """A publication of a neighbour's with these properties."""
    rest = (b"\0\1" if qos else b"") + bytes((len(properties),)) + properties + payload
    return publish_start(0x30 | qos << 1, b"t", len(rest)) + rest


def peer(node: Node, name: str) -> Session:
    return node.mesh.by_name[name].session


def silence(net: Net, one: str, other: str) -> None:
    """Nothing more gets across, and neither end knows."""
    for wire in net.links[one, other]:
        wire.other = None


def crossed(net: Net, one: str, other: str) -> int:
    """Publications, as the sender counts them."""
    return net.nodes[one].mesh.by_name[other].traffic().messages_sent


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("qos", [1, 2])
@pytest.mark.parametrize("version", [V311, V5])
def test_a_burst_crosses_as_one_message(mode: str, qos: int, version: int) -> None:
    net = line(Net(mode))
    reader = net.nodes["c"].client("reader", version)
    reader.subscribe("t/#", qos=qos)
    old = net.nodes["b"].client("old", V311)
    old.subscribe("#", qos=1)
    none = net.nodes["c"].client("none")
    none.subscribe("t", qos=0)
    net.run()
    writer = net.nodes["a"].client("writer", version)
    silence(net, "a", "b")
    sent = burst(net, writer, qos, 50)
    assert len(peer(net.nodes["a"], "b").inflight) == 1
    net.cut("a", "b")
    net.join("a", "b")
    for client in (reader, old, none):
        assert client.payloads() == sent
    assert not peer(net.nodes["a"], "b").inflight
    assert not peer(net.nodes["b"], "c").inflight


@pytest.mark.parametrize("qos", [1, 2])
def test_counters_count_messages(qos: int) -> None:
    net = line(Net())
    reader = net.nodes["c"].client("reader")
    reader.subscribe("t", qos=2)
    net.run()
    before = [node.broker.core.counters.messages_received for node in net.nodes.values()]
    burst(net, net.nodes["a"].client("writer"), qos, 30)
    after = [node.broker.core.counters.messages_received for node in net.nodes.values()]
    assert [one - other for one, other in zip(after, before, strict=True)] == [30, 30, 30]
    assert crossed(net, "a", "b") == 30
    assert crossed(net, "b", "c") == 30


@pytest.mark.parametrize("qos", [1, 2])
@pytest.mark.parametrize("size", [0, 1, 1_000, MOST_RUN_BYTES // 2, MOST_RUN_BYTES])
def test_payloads_of_any_size(qos: int, size: int) -> None:
    net = line(Net())
    reader = net.nodes["c"].client("reader")
    reader.subscribe("t", qos=2)
    net.run()
    writer = net.nodes["a"].client("writer")
    payloads = [bytes((65 + number,)) * size for number in range(5)]
    writer.send_bytes(
        b"".join(
            encode(Publish("t", payload, qos=qos, packet_id=number), V5)
            for number, payload in enumerate(payloads, 1)
        )
    )
    net.run()
    assert reader.payloads() == [payload.decode() for payload in payloads]


@pytest.mark.parametrize("qos", [1, 2])
def test_all_kinds_of_receivers(qos: int) -> None:
    """Those that cannot have a run get each message; an operator and a group too."""
    net = line(Net(), "ab")
    node = net.nodes["b"]
    stays = lasting(net, "b")
    narrow = node.client("narrow", receive_maximum=3)
    narrow.subscribe("t", qos=2)
    numbered = node.client("numbered")
    numbered.subscribe("t", qos=1, identifier=7)
    member = node.client("member")
    member.subscribe("$share/group/t", qos=1)
    rule = node.client("rule")
    rule.subscribe("$GT;100020/t", qos=1)
    net.run()
    sent = burst(net, net.nodes["a"].client("writer"), qos, 40)
    for client in (stays, numbered, member):
        assert client.payloads() == sent
    assert rule.payloads() == sent[20:]
    assert narrow.payloads() == sent


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("qos", [1, 2])
def test_a_broker_that_leaves_for_good_takes_nothing_with_it(mode: str, qos: int) -> None:
    net = line(Net(mode))
    reader = net.nodes["c"].client("reader")
    reader.subscribe("t", qos=qos)
    net.run()
    silence(net, "b", "c")
    sent = burst(net, net.nodes["a"].client("writer"), qos, 40)
    net.cut("a", "b")
    net.cut("b", "c")
    del net.nodes["b"]
    net.join("a", "c")
    assert reader.payloads() == sent


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("qos", [1, 2])
def test_what_waited_is_sent_round(mode: str, qos: int) -> None:
    """In a ring: what some had by the first way, all have once in the end."""
    net = line(Net(mode), "abcd")
    net.join("d", "a")
    readers = [net.nodes[name].client(f"r{name}") for name in "abcd"]
    for reader in readers:
        reader.subscribe("t", qos=qos)
    net.run()
    writer = net.nodes["a"].client("writer")
    sent = burst(net, writer, qos, 20)
    for one, other in (("b", "c"), ("c", "d"), ("a", "b"), ("d", "a")):
        silence(net, one, other)
        sent += burst(net, writer, qos, 20, len(sent) + 1)
        net.cut(one, other)
        sent += burst(net, writer, qos, 20, len(sent) + 1)
        net.join(one, other)
    for reader in readers:
        assert reader.payloads() == sent


@pytest.mark.parametrize("qos", [1, 2])
def test_a_neighbour_of_an_earlier_version(qos: int) -> None:
    net = Net()
    net.node("a")
    net.node("b").mesh.settings.capabilities = CAPABILITIES - {RUNS}
    net.node("c")
    net.join("a", "b")
    net.join("b", "c")
    reader = net.nodes["c"].client("reader")
    reader.subscribe("t", qos=2)
    net.run()
    sent = burst(net, net.nodes["a"].client("writer"), qos, 20)
    assert reader.payloads() == sent
    silence(net, "a", "b")
    sent += burst(net, net.nodes["a"].client("other"), qos, 20, 21)
    assert len(peer(net.nodes["a"], "b").inflight) == 20


@pytest.mark.parametrize("qos", [1, 2])
def test_a_neighbour_comes_back_as_an_earlier_version(durable: DurableNet, qos: int) -> None:
    """What is in flight and what waits, in memory and in the store, goes to it one by one."""
    net = line(durable)
    reader = net.nodes["c"].client("reader")
    reader.subscribe("t", qos=2)
    net.run()
    writer = net.nodes["a"].client("writer")
    silence(net, "a", "b")
    sent = burst(net, writer, qos, 20)
    net.cut("a", "b")
    for _ in range(3):
        sent += burst(net, writer, qos, 20, len(sent) + 1)
    before = peer(net.nodes["a"], "b")
    assert len(before.inflight) + before.queued() == 4
    net.nodes["b"].mesh.settings.capabilities = CAPABILITIES - {RUNS}
    net.join("a", "b")
    assert reader.payloads() == sent
    net.cut("a", "b")
    net.nodes["b"].mesh.settings.capabilities = CAPABILITIES
    net.join("a", "b")
    sent += burst(net, writer, qos, 20, len(sent) + 1)
    assert reader.payloads() == sent[80:]
    assert not peer(net.nodes["a"], "b").inflight


@pytest.mark.parametrize("qos", [1, 2])
def test_runs_outlive_crashes(durable: DurableNet, qos: int) -> None:
    net = line(durable)
    reader = lasting(net, "c")
    silence(net, "b", "c")
    sent = burst(net, net.nodes["a"].client("writer"), qos, 20)
    sent += burst(net, net.nodes["a"].client("again"), qos, 20, 21)
    net.cut("b", "c")
    durable.crash("b")
    net.run()
    net.join("b", "c")
    assert reader.payloads() == sent
    silence(net, "a", "b")
    sent += burst(net, net.nodes["a"].client("third"), qos, 20, 41)
    durable.crash("a")
    net.run()
    assert reader.payloads() == sent[40:]


@pytest.mark.parametrize("qos", [1, 2])
def test_a_long_queue_of_runs_waits_in_the_store(durable: DurableNet, qos: int) -> None:
    net = line(durable, "ab")
    reader = net.nodes["b"].client("reader")
    reader.subscribe("t", qos=2)
    net.run()
    net.cut("a", "b")
    writer = net.nodes["a"].client("writer")
    sent: list[str] = []
    for _ in range(40):
        sent += burst(net, writer, qos, 60, len(sent) + 1, size=1_000)
    assert peer(net.nodes["a"], "b").lane.messages > 0
    net.join("a", "b")
    for _ in range(50):
        net.run()
    assert reader.payloads() == sent


@pytest.mark.parametrize("qos", [1, 2])
def test_what_came_in_part_is_completed(qos: int) -> None:
    """Some of a run have come another way: only the others are delivered."""
    net = line(Net(), "ab")
    reader = net.nodes["b"].client("reader")
    reader.subscribe("t", qos=2)
    net.run()
    memory = net.nodes["b"].mesh.tree_links.memory
    own = net.nodes["a"].mesh.tree_links.memory.name(0)
    first = own[:8] + (int.from_bytes(own[8:], "big") + 1).to_bytes(8, "big")
    memory.remember(run_name(first, 4), qos)
    sent = burst(net, net.nodes["a"].client("writer"), qos, 10)
    assert reader.payloads() == sent[4:]


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("version", [V311, V5])
def test_a_burst_at_qos_0_crosses_as_it_came(mode: str, version: int) -> None:
    net = line(Net(mode))
    readers = [
        net.nodes[name].client(f"{name}{kind}", kind) for name in "abc" for kind in (V311, V5)
    ]
    for reader in readers:
        reader.subscribe("t/#", qos=0)
    numbered = net.nodes["c"].client("numbered")
    numbered.subscribe("t", identifier=7)
    net.run()
    sent = burst(net, net.nodes["a"].client("writer", version), 0, 30)
    for reader in (*readers, numbered):
        assert reader.payloads() == sent
    assert crossed(net, "a", "b") == crossed(net, "b", "c") == 30


def test_packets_of_3_1_1_go_to_neighbours_that_know_them_only() -> None:
    net = Net()
    net.node("a")
    net.node("b").mesh.settings.capabilities = CAPABILITIES - {RUNS}
    net.join("a", "b")
    reader = net.nodes["b"].client("reader")
    reader.subscribe("t")
    net.run()
    assert burst(net, net.nodes["a"].client("writer", V311), 0, 5) == reader.payloads()


PACKET = encode(Publish("t", b"x"), V311)
RUN = b"\x7c" + b"somebody" + bytes(8)


@pytest.mark.parametrize(
    "packet",
    [
        carried(b""),
        carried(b"0"),
        carried(PACKET[:-1]),
        carried(PACKET + PACKET[:-1]),
        carried(PACKET + encode(Publish("u", b"x"), V311)),
        carried(encode(Publish("u", b"x"), V311)),
        carried(encode(Publish("t", b"x", retain=True), V311)),
        carried(encode(Publish("t", b"x", qos=1, packet_id=1), V311)),
        carried(b"\x30\xff\xff\xff\xff\x7f"),
        named(RUN + bytes(4), b"", 1),  # of none
        named(RUN + (3).to_bytes(4, "big"), b"xxxx", 1),  # that does not divide
        named(RUN + (1 << 31).to_bytes(4, "big"), b"", 2),
        named(b"\x7c" + b"somebody" + b"\xff" * 8 + (2).to_bytes(4, "big"), b"xx", 2),
        named(RUN + (2).to_bytes(4, "big"), b"xx", 0),
        named(RUN + (2).to_bytes(4, "big") + b"\x01\x01", b"xx", 1),  # with a property
        named(RUN[:-1], b"xx", 1),
    ],
)
def test_what_is_malformed_is_set_aside(packet: bytes) -> None:
    net = line(Net(), "ab")
    reader = net.nodes["b"].client("reader")
    reader.subscribe("#", qos=2)
    net.run()
    link = net.nodes["b"].mesh.by_name["a"]
    connection = link.connection
    assert connection is not None
    connection.receive(packet, net.nodes["b"].now)
    net.run()
    assert reader.payloads() == []
    assert link.connection is connection
    sent = burst(net, net.nodes["a"].client("writer"), 2, 5)
    assert reader.payloads() == sent


def test_a_run_that_claims_to_come_from_here_is_refused() -> None:
    net = line(Net(), "ab")
    node = net.nodes["b"]
    reader = node.client("reader")
    reader.subscribe("#", qos=2)
    net.run()
    own = node.mesh.tree_links.memory.name(0)
    connection = node.mesh.by_name["a"].connection
    assert connection is not None
    connection.receive(named(b"\x7c" + own + (2).to_bytes(4, "big"), b"xx", 1), node.now)
    net.run()
    assert reader.payloads() == []
    assert node.mesh.tree_links.deduplication.forged == 1
