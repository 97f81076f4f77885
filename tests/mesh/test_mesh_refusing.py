"""A full queue behind a neighbour, where the policy is to refuse: the broker that has it holds its
acknowledgements back, its neighbour keeps what has none, and nothing is lost or doubled."""

import pytest

from gossamer.session.queue_policy import REFUSE
from gossamer.storage.memory_journal import MemoryJournal
from tests.support.memory import MemoryClient
from tests.support.meshes import Net, Node

SIZE = 3_000
LIMIT = 12_000  # three messages, and a fourth over it


def settle(net: Net) -> None:
    for _ in range(20):
        net.run()
        for node in net.nodes.values():
            journal = node.broker.core.journal
            assert isinstance(journal, MemoryJournal)
            if journal.dirty:
                node.broker.committed(journal.commit(), node.now)
    net.run()


def a_node(net: Net, name: str) -> Node:
    journal = MemoryJournal()
    journal.durable = False  # answers need not wait for commits here
    node = net.node(name, journal=journal)
    node.settings.queue_policy = REFUSE
    node.settings.max_queued_bytes = LIMIT
    return node


@pytest.mark.parametrize("mode", ["ssf", "pf", "bloom"])
@pytest.mark.parametrize("qos", [1, 2])
@pytest.mark.parametrize("cuts", [False, True])
def test_the_broker_that_has_the_queue_refuses(mode: str, qos: int, cuts: bool) -> None:
    net = Net(mode)
    near, far = a_node(net, "near"), a_node(net, "far")
    net.join("far", "near")
    reader = far.client("reader", clean=False, expiry=1000)
    reader.subscribe("t", qos=qos)
    online = far.client("online")
    online.subscribe("t", qos=qos)
    settle(net)
    reader.lose()
    writer = near.client("writer")
    numbers = list(range(1, 5))
    for number in numbers:
        writer.publish("t", str(number).ljust(SIZE), qos=qos, packet_id=number)
        settle(net)
    assert near.broker.core.counters.publications_refused == 0
    peer = near.broker.core.sessions["$mesh/far"]
    assert len(peer.inflight) == 1  # the fourth is not acknowledged
    assert far.broker.core.counters.withheld == 1
    assert [int(text) for text in _read(net, online)] == numbers
    if cuts:
        net.cut("far", "near")
        settle(net)
        net.join("far", "near")
        settle(net)
        assert [int(text) for text in _read(net, online)] == []
        assert len(peer.inflight) == 1
    reader = far.client("reader", clean=False, expiry=1000)
    settle(net)
    assert [int(text) for text in _read(net, reader)] == numbers
    settle(net)
    assert not peer.inflight
    assert far.broker.core.counters.dropped_full == 0


def _read(net: Net, client: MemoryClient) -> list[str]:
    found: list[str] = []
    while True:
        settle(net)
        payloads = client.payloads()
        if not payloads:
            return found
        found += payloads
