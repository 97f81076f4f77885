"""Links that are compressed: by whom it is agreed, what crosses them, and neighbours that lie."""

import random

import pytest
from backports import zstd

from gossamer.mesh.control_messages import COMPRESSED, control_packet
from gossamer.mesh.link import Link
from gossamer.mesh.settings import MODES
from gossamer.mesh.sys_topics import link_counts
from gossamer.wire import compression
from gossamer.wire.compression import COMPRESSED_AT_ONCE, WINDOW_BITS
from tests.support.meshes import Net, Node

NOISE = random.Random(1).randbytes(200_000).hex()


def line(mode: str = "ssf") -> Net:
    """a = b = c, both links compressed."""
    net = Net(mode)
    for name in "abc":
        net.node(name)
    net.join("a", "b", compresses=True)
    net.join("c", "b", compresses=True)
    return net


def link(node: Node, neighbour: str) -> Link:
    return node.mesh.by_name[neighbour]


def is_compressed(node: Node, neighbour: str) -> tuple[bool, bool]:
    """What this broker sends, and what it gets."""
    connection = link(node, neighbour).connection
    assert connection is not None
    return connection.outbox.compressor is not None, connection.inflater is not None


@pytest.mark.parametrize("mode", MODES)
def test_messages_cross_at_every_qos_in_order(mode: str) -> None:
    net = line(mode)
    reader = net.nodes["c"].client("reader")
    reader.subscribe("t/#", qos=2)
    net.run()
    writer = net.nodes["a"].client("writer")
    sent = []
    for number in range(300):
        payload = f'{{"sensor": "s{number % 5}", "value": {number}}}'
        writer.publish(f"t/{number % 3}", payload, qos=number % 3, packet_id=number + 1)
        sent.append(payload)
    net.run()
    assert reader.payloads() == sent
    for here, there in (("a", "b"), ("b", "c")):
        near, far = net.nodes[here], net.nodes[there]
        assert is_compressed(near, there) == is_compressed(far, here) == (True, True)
        counts = link_counts(near.mesh, link(near, there))
        assert counts["wire_bytes_sent"] < counts["bytes_sent"] / 2
        told = link_counts(far.mesh, link(far, here))
        saved = counts["bytes_sent"] - counts["wire_bytes_sent"]
        assert told["bytes_received"] - told["wire_bytes_received"] == saved > 0


@pytest.mark.parametrize("size", [0, 1, COMPRESSED_AT_ONCE, 3 * COMPRESSED_AT_ONCE, 400_000])
def test_messages_of_any_size_cross(size: int) -> None:
    net = line()
    reader = net.nodes["c"].client("reader")
    reader.subscribe("t", qos=1)
    net.run()
    writer = net.nodes["a"].client("writer")
    for payload in (NOISE[:size], "x" * size, "behind it"):
        writer.publish("t", payload, qos=1)
    net.run()
    assert reader.payloads() == [NOISE[:size], "x" * size, "behind it"]


def test_a_cut_link_begins_a_new_stream() -> None:
    net = line()
    reader = net.nodes["c"].client("reader", expiry=1000)
    reader.subscribe("t", qos=2)
    net.run()
    writer = net.nodes["a"].client("writer")
    expected = []
    for number in range(5):
        net.cut("a", "b")
        for part in range(20):
            expected.append(f"{number}.{part}")
            writer.publish("t", expected[-1], qos=2, packet_id=part + 1)
        net.run()
        net.join("a", "b", compresses=number % 2 == 0)
        assert reader.payloads() == expected[-20:]
        assert is_compressed(net.nodes["a"], "b") == (number % 2 == 0,) * 2
    counts = link_counts(net.nodes["a"].mesh, link(net.nodes["a"], "b"))
    assert 0 < counts["wire_bytes_sent"] < counts["bytes_sent"]


def test_only_who_asks_is_compressed() -> None:
    net = Net()
    for name in "ab":
        net.node(name)
    net.join("a", "b")
    assert is_compressed(net.nodes["a"], "b") == (False, False)
    assert is_compressed(net.nodes["b"], "a") == (False, False)


def test_a_neighbour_without_the_library_gets_plain_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    assert compression.can_compress()
    monkeypatch.setattr(compression, "_library", lambda: None)
    assert not compression.can_compress()
    net = Net()
    for name in "ab":
        net.node(name)
    net.join("a", "b", compresses=True)
    reader = net.nodes["b"].client("reader")
    reader.subscribe("t", qos=1)
    net.run()
    net.nodes["a"].client("writer").publish("t", "plain", qos=1)
    net.run()
    assert reader.payloads() == ["plain"]
    assert is_compressed(net.nodes["a"], "b") == (False, False)
    assert is_compressed(net.nodes["b"], "a") == (False, False)


# Neighbours that lie ----------------------------------------------------------------------------


def hostile(*pieces: bytes) -> Net:
    """b says this to a, on a link that stands."""
    net = Net()
    for name in "ab":
        net.node(name)
    net.join("b", "a")
    near, far = net.links["b", "a"]
    for piece in pieces:
        far.end.receive(piece, net.nodes["a"].now)  # type: ignore[attr-defined]
    net.run()
    return net


def stream(data: bytes) -> bytes:
    compressor = zstd.ZstdCompressor(options={zstd.CompressionParameter.window_log: WINDOW_BITS})
    return bytes(compressor.compress(data, compressor.FLUSH_BLOCK))


BEGIN = control_packet(COMPRESSED, b"")


@pytest.mark.parametrize(
    "pieces",
    [
        (BEGIN + b"\x28\xb5\x2f\xfd" + b"\xff" * 40,),
        (BEGIN, b"\xc0\x00"),
        (BEGIN, zstd.compress(b"\xc0\x00")),
        (BEGIN, stream(BEGIN)),
        (BEGIN, stream(b"\x30\x02\x00\x09")),
        (BEGIN, stream(bytes(1_000_000))),
    ],
    ids=["damaged", "plain again", "ended", "begun again", "no packet", "a bomb of nothing"],
)
def test_a_stream_that_is_none_ends_the_link_and_nothing_else(pieces: tuple[bytes, ...]) -> None:
    net = hostile(*pieces)
    node = net.nodes["a"]
    assert link(node, "b").connection is None
    assert node.broker.core.counters.protocol_errors == 1
    client = node.client("c")
    client.subscribe("t")
    client.publish("t", "served")
    assert client.payloads() == ["served"]


def test_packets_in_a_stream_are_packets() -> None:
    net = hostile(BEGIN + stream(b"\xc0\x00" * 3))
    assert link(net.nodes["a"], "b").connection is not None


def test_a_bomb_is_a_packet_like_any_other() -> None:
    """A million bytes of payload in some fifty bytes: held to what plain packets are held to."""
    topic = b"\x00\x01t"
    body = topic + b"\x00" + bytes(2_000_000)
    length = bytearray()
    rest = len(body)
    while rest:
        length.append(rest & 127 | (128 if rest > 127 else 0))
        rest >>= 7
    bomb = stream(b"\x30" + bytes(length) + body)
    assert len(bomb) < 1_000
    net = Net()
    for name in "ab":
        net.node(name)
    net.join("b", "a")
    reader = net.nodes["a"].client("reader")
    reader.subscribe("t")
    net.run()
    near, far = net.links["b", "a"]
    far.end.receive(BEGIN + bomb, net.nodes["a"].now)  # type: ignore[attr-defined]
    net.run()
    (message,) = reader.messages()
    assert message.payload == bytes(2_000_000)
