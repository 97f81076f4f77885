"""Messages that are as large as MQTT allows, between brokers with their stores on disk.

They arrive; and one that a neighbour of an earlier version cannot take is in nobody's way.
"""

import json
from collections import deque
from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.broker.connection import Connection
from gossamer.broker.mesh_port import DIRECTED_TOPIC, ENVELOPE_TOPIC
from gossamer.mesh.dial import Dial
from gossamer.mesh.directed.message import DIRECTED_PROPERTY
from gossamer.mesh.roaming.transfer import ITEM, item_directed
from gossamer.mesh.settings import FIRST
from gossamer.session.message import Message
from gossamer.session.records import QUEUED, DeliveryRecord
from gossamer.wire.codec import encode
from gossamer.wire.frames import header_length, packet_length
from gossamer.wire.packets import (
    PUBACK,
    PUBREC,
    V5,
    Acknowledgement,
    Connack,
    Publish,
    Request,
    Subscribe,
)
from tests.support.durable_meshes import DurableNet
from tests.support.memory import MemoryClient, properties
from tests.support.meshes import Wire

# A topic has up to 65,535 bytes, of any letters.
TOPICS = {
    "ascii": "s/" + "x" * 65_498,
    "longest": "s/" + "x" * 65_533,
    "umlauts": "s/" + "é" * 22_000,
    "quotes": "s/" + '"' * 40_000,
    "controls": "s/" + "\x01" * 65_533,
    "storm": "s/" + "☂" * 21_844,
}
LONG_ID = "ü" * 32_700  # of a client, of a group


@pytest.fixture
def line(tmp_path: Path) -> Iterator[DurableNet]:
    """a - b - c."""
    net = DurableNet(tmp_path)
    for name in "abc":
        net.node(name)
    net.join("a", "b")
    net.join("c", "b")
    yield net
    net.close()


def come(net: DurableNet, broker: str, name: str) -> MemoryClient:
    client = net.nodes[broker].visitor()
    client.connect(name, clean=False, expiry=1000)
    net.run()
    packets = client.take()
    for packet in packets:
        if isinstance(packet, Connack):
            client.connack = packet
    client._later = [packet for packet in packets if not isinstance(packet, Connack)]
    assert client.connack.reason == 0
    return client


def subscribe(net: DurableNet, client: MemoryClient, filter: str) -> None:
    client.send(Subscribe(1, [Request(filter, 2)]))
    net.run()


def publish(net: DurableNet, broker: str, topic: str, payload: str, qos: int = 1) -> None:
    writer = net.nodes[broker].client(f"writer of {payload}")
    user = [("unit", "°C"), ("é", "☂" * 1000)]
    writer.publish(topic, payload, qos=qos, user=user, content_type="text/plain")
    net.run()


def taken(net: DurableNet, client: MemoryClient) -> list[Publish]:
    found: list[Publish] = []
    while True:
        net.run()
        news = client.messages()
        if not news:
            return found
        found += news


def texts(messages: list[Publish]) -> list[tuple[str, bytes]]:
    for message in messages:
        assert message.properties is not None
        assert message.properties.user[0] == ("unit", "°C")
        assert message.properties.content_type == "text/plain"
    return [(message.topic, message.payload) for message in messages]


@pytest.mark.parametrize("kind", TOPICS)
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_a_shared_subscriber_elsewhere_gets_it(line: DurableNet, kind: str, qos: int) -> None:
    far = come(line, "c", "far")
    subscribe(line, far, "$share/g/s/#")
    publish(line, "a", TOPICS[kind], "large", qos)
    publish(line, "a", "s/1", "behind", qos)
    assert texts(taken(line, far)) == [(TOPICS[kind], b"large"), ("s/1", b"behind")]


@pytest.mark.parametrize("crashes", ["a", "b", "c", "abc"])
@pytest.mark.parametrize("kind", ["ascii", "umlauts"])
def test_so_it_does_after_links_and_brokers_were_down(
    line: DurableNet, kind: str, crashes: str
) -> None:
    far = come(line, "c", "far")
    subscribe(line, far, "$share/g/s/#")
    far.lose()
    line.run()
    line.cut("a", "b")
    publish(line, "a", TOPICS[kind], "large")
    publish(line, "a", "s/1", "behind")
    for name in crashes:
        line.crash(name)
    line.join("a", "b")
    line.cut("c", "b")
    line.join("c", "b")
    line.run()
    far = come(line, "c", "far")
    assert texts(taken(line, far)) == [(TOPICS[kind], b"large"), ("s/1", b"behind")]
    assert all(link.connection is not None for link in line.nodes["b"].mesh.by_name.values())


@pytest.mark.parametrize("crashes", ["", "a", "b"])
@pytest.mark.parametrize("client_id", ["roamer", LONG_ID])
@pytest.mark.parametrize("kind", TOPICS)
def test_the_queue_of_a_session_that_roams_arrives(
    line: DurableNet, kind: str, client_id: str, crashes: str
) -> None:
    client = come(line, "a", client_id)
    subscribe(line, client, "s/#")
    client.lose()
    line.run()
    expected: list[tuple[str, bytes]] = []
    for number, topic in enumerate(["s/1", TOPICS[kind], "s/2", TOPICS[kind], "s/3"]):
        publish(line, "a", topic, str(number), 1 + number % 2)
        expected.append((topic, str(number).encode()))
    for name in crashes:
        line.crash(name)
    client = come(line, "c", client_id)
    assert client.connack.session_present
    assert texts(taken(line, client)) == expected
    publish(line, "b", TOPICS[kind], "after")
    assert texts(taken(line, client)) == [(TOPICS[kind], b"after")]


@pytest.mark.parametrize("group", ["g", LONG_ID])
def test_a_long_group_is_a_group(line: DurableNet, group: str) -> None:
    near, far = come(line, "b", "near"), come(line, "c", "far")
    for client in (near, far):
        subscribe(line, client, f"$share/{group}/s/#")
    for number in range(4):
        publish(line, "a", "s/1", str(number))
    got = [message.payload for client in (near, far) for message in taken(line, client)]
    assert sorted(got) == [b"0", b"1", b"2", b"3"]


def test_what_an_earlier_version_queued_arrives_all_the_same(line: DurableNet) -> None:
    """It wrote the plain form into its store, longer than a property can be."""
    far = come(line, "c", "far")
    subscribe(line, far, "$share/g/s/#")
    line.cut("a", "b")
    node = line.nodes["a"]
    link = node.mesh.by_name["b"]
    fields = {"topic": TOPICS["ascii"], "qos": 1, "retain": False, "to": "c", "kind": "share"}
    said = json.dumps({**fields, "group": "$share/g/s/#", "visited": ["a"]})
    user = [(DIRECTED_PROPERTY, said), ("unit", "°C")]
    sent = properties(user=user, content_type="text/plain")
    message = Message(DIRECTED_TOPIC, b"large", 1, False, sent, 0.0, "", "")
    link.session.deliver(message, link.receiver, node.now)
    publish(line, "a", "s/1", "behind")
    line.crash("a")
    line.join("a", "b")
    assert texts(taken(line, far)) == [(TOPICS["ascii"], b"large"), ("s/1", b"behind")]


class OldEars(deque[tuple[Wire, bytes]]):
    """What is on its way; a broker that has never heard of envelopes answers as 0.1.0 does."""

    def __init__(self, net: DurableNet, name: str) -> None:
        super().__init__()
        self._net = net
        self._name = name
        self.refused = 0

    def append(self, item: tuple[Wire, bytes]) -> None:
        wire, data = item
        if not data or not self._is_old(wire):
            super().append(item)
            return
        position = 0
        while position < len(data):
            stop = position + packet_length(data, position)
            packet = data[position:stop]
            if data[position] >> 4 == 3 and ENVELOPE_TOPIC.encode() in packet[:40]:
                self._refuse(wire, packet)
            else:
                super().append((wire, packet))
            position = stop

    def _refuse(self, wire: Wire, data: bytes) -> None:
        place = header_length(data, 0) + 2 + len(ENVELOPE_TOPIC)
        packet_id = int.from_bytes(data[place : place + 2], "big")
        kind = PUBACK if data[0] & 0x02 else PUBREC
        assert wire.other is not None
        self.refused += 1
        super().append((wire.other, encode(Acknowledgement(kind, packet_id, 0x87), V5)))

    def _is_old(self, wire: Wire) -> bool:
        end = wire.end
        if isinstance(end, Dial):
            return end.mesh.settings.name == self._name
        node = self._net.nodes[self._name]
        return isinstance(end, Connection) and end.core is node.broker.core


class TestBesideAnEarlierVersion:
    @pytest.fixture
    def mixed(self, tmp_path: Path) -> Iterator[DurableNet]:
        """a - b - c, of which `b` is of an earlier version."""
        net = DurableNet(tmp_path)
        net.node("a")
        net.node("b", speaks=FIRST)
        net.node("c")
        net.join("a", "b")
        net.join("c", "b")
        yield net
        net.close()

    @pytest.mark.parametrize("is_down", [False, True])
    def test_what_fits_goes_on_and_the_rest_is_set_aside(
        self, mixed: DurableNet, is_down: bool
    ) -> None:
        far = come(mixed, "c", "far")
        subscribe(mixed, far, "$share/g/s/#")
        if is_down:
            mixed.cut("a", "b")
        publish(mixed, "a", "s/1", "before")
        publish(mixed, "a", TOPICS["ascii"], "large")
        publish(mixed, "a", "s/2", "behind")
        if is_down:
            mixed.join("a", "b")
        assert texts(taken(mixed, far)) == [("s/1", b"before"), ("s/2", b"behind")]
        assert mixed.nodes["a"].mesh.router.set_aside == 1
        assert mixed.nodes["a"].mesh.by_name["b"].connection is not None

    def test_a_member_here_gets_what_others_cannot(self, mixed: DurableNet) -> None:
        near, far = come(mixed, "a", "near"), come(mixed, "c", "far")
        for client in (near, far):
            subscribe(mixed, client, "$share/g/s/#")
        near.lose()
        mixed.run()
        publish(mixed, "a", TOPICS["ascii"], "large")
        assert taken(mixed, far) == []
        near = come(mixed, "a", "near")
        assert texts(taken(mixed, near)) == [(TOPICS["ascii"], b"large")]

    def test_a_session_roams_without_what_cannot(self, mixed: DurableNet) -> None:
        client = come(mixed, "a", "roamer")
        subscribe(mixed, client, "s/#")
        client.lose()
        mixed.run()
        for number, topic in enumerate(["s/1", TOPICS["ascii"], "s/2"]):
            publish(mixed, "a", topic, str(number))
        client = come(mixed, "c", "roamer")
        assert client.connack.session_present
        assert texts(taken(mixed, client)) == [("s/1", b"0"), ("s/2", b"2")]
        assert mixed.nodes["a"].mesh.router.set_aside == 1

    @pytest.mark.parametrize("qos", [1, 2])
    def test_one_that_the_store_had_is_replaced_when_it_is_refused(
        self, mixed: DurableNet, qos: int
    ) -> None:
        """Only what memory holds of a queue is looked at when the neighbour comes back. Those that
        name the refused one as the one before do not wait for it."""
        for name in "ac":
            mixed.cut(name, "b")
        ears = OldEars(mixed, "b")
        mixed.queue = ears
        mixed.join("c", "b")
        a = mixed.nodes["a"]
        previous = ""
        for number in range(30):
            topic = TOPICS["ascii"] if number == 20 else "s/1"
            message = Message(topic, bytes(100_000), 1, False, None, 0.0, "", "")
            delivery = DeliveryRecord(number + 1, message, 1, False, [], 0, QUEUED)
            directed = item_directed(ITEM, "a", "roamer", "c", delivery)
            if previous:
                directed.fields["after"] = previous
            assert a.mesh.router.send(directed, qos, a.now)
            previous = directed.identity()
        mixed.run()
        assert a.mesh.by_name["b"].session.lane.messages
        mixed.join("a", "b")
        assert ears.refused == 1
        assert a.mesh.router.set_aside == 1
        assert mixed.nodes["c"].mesh.router.waiting() == (0, 0)
        for name in "ab":
            for link in mixed.nodes[name].mesh.by_name.values():
                assert not link.session.left_over()
