"""A message that a broker fails at, whenever a neighbour brings it: it is refused, the link stands
and what is behind it arrives."""

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.broker.policy import Permissions
from gossamer.mesh.directed.message import DirectedMessage
from gossamer.mesh.directed.router import DirectedHandler
from gossamer.mesh.link import Link
from gossamer.session.identity import Identity
from gossamer.session.message import Message
from gossamer.wire.packets import Request, Subscribe
from tests.support.durable_meshes import DurableNet
from tests.support.memory import MemoryClient
from tests.support.meshes import Net

pytestmark = pytest.mark.faults

POISON = "poison/1"


class Failing(Permissions):
    """Something goes wrong on this broker whenever it looks for the receivers of a topic."""

    def __init__(self, error: type[Exception]) -> None:
        super().__init__()
        self.restricts = True
        self.error = error

    def may_receive(self, client: Identity, topic: str) -> bool:
        if topic.startswith("poison"):
            raise self.error("no")
        return True


@pytest.fixture
def pair(tmp_path: Path) -> Iterator[DurableNet]:
    """a - b."""
    net = DurableNet(tmp_path)
    for name in "ab":
        net.node(name)
    net.join("a", "b")
    yield net
    net.close()


def reading(net: Net, filter: str = "#") -> MemoryClient:
    reader = net.nodes["b"].visitor()
    reader.connect("reader", expiry=1000)
    net.run()
    reader.send(Subscribe(1, [Request(filter, 2)]))
    net.run()
    reader.take()
    return reader


def fail_at(net: Net, error: type[Exception] = ZeroDivisionError) -> None:
    node = net.nodes["b"]
    node.broker.set_permissions(Failing(error), node.now)
    net.run()


def payloads(net: Net, reader: MemoryClient) -> list[str]:
    found: list[str] = []
    while True:
        net.run()
        news = reader.payloads()
        if not news:
            return found
        found += news


@pytest.mark.parametrize("retain", [False, True])
@pytest.mark.parametrize("qos", [0, 1, 2])
def test_what_is_behind_it_arrives(
    pair: DurableNet, qos: int, retain: bool, caplog: pytest.LogCaptureFixture
) -> None:
    reader = reading(pair)
    fail_at(pair)
    connection = pair.nodes["a"].mesh.by_name["b"].connection
    writer = pair.nodes["a"].client("writer")
    with caplog.at_level(logging.WARNING):
        for number in range(12):
            topic = POISON if number % 3 == 1 else "good"
            writer.publish(topic, str(number), qos=qos, packet_id=number + 1, retain=retain)
        found = payloads(pair, reader)
    assert found == ["0", "2", "3", "5", "6", "8", "9", "11"]
    a, b = pair.nodes["a"], pair.nodes["b"]
    assert a.mesh.by_name["b"].connection is connection
    assert b.mesh.router.refusals == 4
    assert b.broker.core.faults.by_place["a neighbour's message"] == 4
    assert a.mesh.router.set_aside == (4 if qos else 0)
    # Once for what happened, and once for the neighbour that it happened with.
    assert sum(record.name == "gossamer.session.counters" for record in caplog.records) == 1
    texts = [record.getMessage() for record in caplog.records]
    assert sum("cannot be taken in" in text for text in texts) == 1
    assert not a.mesh.by_name["b"].session.left_over()


@pytest.mark.parametrize("qos", [1, 2])
def test_one_that_waited_is_not_in_the_way(pair: DurableNet, qos: int) -> None:
    """First of what is sent when the link stands again, in one chunk with what is promised."""
    reader = reading(pair)
    fail_at(pair)
    pair.cut("a", "b")
    writer = pair.nodes["a"].client("writer")
    for number, topic in enumerate(["good", POISON, "good", POISON, "good"]):
        writer.publish(topic, str(number), qos=qos, packet_id=number + 1)
    pair.join("a", "b")
    assert payloads(pair, reader) == ["0", "2", "4"]
    assert pair.nodes["a"].mesh.by_name["b"].connection is not None
    assert pair.nodes["b"].broker.core.sessions["$mesh/a"].incoming in (None, set())
    pair.crash("a")
    assert payloads(pair, reader) == []
    assert pair.nodes["b"].mesh.router.refusals == 2


def test_a_run_of_plain_packets_is_delivered_once_at_most() -> None:
    net = Net()
    for name in "ab":
        net.node(name)
    net.join("a", "b")
    reader = net.nodes["b"].client("reader")
    reader.subscribe("good", "poison/#")
    net.run()
    fail_at(net)
    writer = net.nodes["a"].client("writer")
    for topic in (POISON, "good"):
        packet = b"\x30" + bytes((2 + len(topic) + 2,)) + b"\0" + bytes((len(topic),))
        writer.send_bytes((packet + topic.encode() + b"\0x") * 5)
    net.run()
    assert [message.topic for message in reader.messages()] == ["good"] * 5
    assert net.nodes["b"].mesh.router.refusals == 1
    assert net.nodes["a"].mesh.by_name["b"].connection is not None


def test_what_another_try_may_mend_ends_the_link(pair: DurableNet) -> None:
    reader = reading(pair)
    fail_at(pair, MemoryError)
    pair.nodes["a"].client("writer").publish(POISON, "kept", qos=1)
    pair.run()
    assert pair.nodes["a"].mesh.by_name["b"].connection is None
    pair.nodes["b"].broker.set_permissions(Permissions(), pair.nodes["b"].now)
    del pair.links["a", "b"]
    pair.join("a", "b")
    assert payloads(pair, reader) == ["kept"]
    assert pair.nodes["b"].mesh.router.refusals == 0


class FailingHandler(DirectedHandler):
    def __init__(self, inner: DirectedHandler) -> None:
        self.inner = inner

    def check(self, directed: DirectedMessage) -> None:
        self.inner.check(directed)

    def run(self, directed: DirectedMessage, origin: Link, now: float) -> None:
        if directed.message.topic.startswith("poison"):
            raise ZeroDivisionError
        self.inner.run(directed, origin, now)


@pytest.mark.parametrize("qos", [1, 2])
def test_a_directed_that_fails_is_in_nobodys_way(pair: DurableNet, qos: int) -> None:
    far = reading(pair, "$share/g/#")
    handlers = pair.nodes["b"].mesh.router.handlers
    handlers["share"] = FailingHandler(handlers["share"])
    writer = pair.nodes["a"].client("writer")
    connection = pair.nodes["a"].mesh.by_name["b"].connection
    for number, topic in enumerate(["good", POISON, "good"]):
        writer.publish(topic, str(number), qos=qos, packet_id=number + 1)
    assert payloads(pair, far) == ["0", "2"]
    assert pair.nodes["a"].mesh.by_name["b"].connection is connection
    assert pair.nodes["b"].mesh.router.refusals == 1


def test_a_word_that_a_broker_fails_at_is_passed_on() -> None:
    net = Net()
    for name in "abc":
        net.node(name)
    net.join("a", "b")
    net.join("c", "b")
    heard: list[bytes] = []
    kind = 99

    def fail(origin: str, body: bytes, now: float) -> None:
        raise ZeroDivisionError

    net.nodes["b"].mesh.gossip.handlers[kind] = fail
    net.nodes["c"].mesh.gossip.handlers[kind] = lambda _origin, body, _now: heard.append(body)
    net.nodes["a"].mesh.gossip.say(kind, b"word", net.nodes["a"].now)
    net.run()
    assert heard == [b"word"]
    assert net.nodes["b"].broker.core.faults.by_place == {"a word": 1}
    net.cut("a", "b")
    net.join("a", "b")
    assert net.nodes["a"].mesh.by_name["b"].connection is not None
    assert net.nodes["b"].broker.core.faults.total == 1


def test_a_malformed_directed_behind_a_promise_is_refused(pair: DurableNet) -> None:
    """Its answer goes out with that of the message before it, once both are on disk."""
    reader = reading(pair)
    node = pair.nodes["a"]
    link = node.mesh.by_name["b"]
    pair.cut("a", "b")
    writer = node.client("writer")
    writer.publish("t", "before", qos=1)
    none = Message("$gossamer/errand", b"", 1, False, None, 0.0, "", "")
    link.session.enqueue(none, 1, False, [], "", node.now)
    writer.publish("t", "behind", qos=1, packet_id=2)
    pair.join("a", "b")
    assert payloads(pair, reader) == ["before", "behind"]
    assert node.mesh.router.set_aside == 1
    assert not link.session.left_over()
