"""A neighbour that is away costs bounded memory: what is too much waits in the store, in order."""

import pytest

from gossamer.session.backlog import SPILL_ABOVE
from gossamer.storage.memory_journal import MemoryJournal
from tests.support.meshes import Net, Node

MESSAGES = SPILL_ABOVE + 2_500


def a_journal() -> MemoryJournal:
    journal = MemoryJournal()
    journal.durable = False  # answers need not wait for commits here
    return journal


def commit(node: Node) -> None:
    journal = node.broker.core.journal
    assert isinstance(journal, MemoryJournal)
    if journal.dirty:
        node.broker.committed(journal.commit(), node.now)


def settle(net: Net) -> None:
    for _ in range(60):
        net.run()
        for node in net.nodes.values():
            commit(node)
    net.run()


@pytest.mark.parametrize("restarts", [False, True])
def test_spilled_messages_arrive_in_order(restarts: bool) -> None:
    net = Net("ssf")
    near = net.node("near", journal=a_journal())
    net.node("far", journal=a_journal()).settings.max_queued = 2 * MESSAGES
    net.join("far", "near")
    reader = net.nodes["far"].client("reader", expiry=1000, receive_maximum=65535)
    reader.subscribe("t", qos=1)
    settle(net)
    net.cut("far", "near")
    writer = near.client("writer")
    for number in range(MESSAGES):
        writer.publish("t", str(number), qos=1, packet_id=number % 60_000 + 1)
        if number % 1000 == 0:
            commit(near)
    commit(near)
    peer = near.broker.core.sessions["$mesh/far"]
    assert len(peer.queue or ()) == SPILL_ABOVE
    assert peer.spilled == 2_500
    if restarts:
        journal = near.broker.core.journal
        assert isinstance(journal, MemoryJournal)
        again = journal.restarted()
        again.durable = False
        net.nodes["near"] = Node("near", "ssf", journal=again, snapshot=again.snapshot)
        near = net.nodes["near"]
        assert near.broker.core.sessions["$mesh/far"].spilled == 2_500
    net.join("far", "near")
    received: list[str] = []
    while len(received) < MESSAGES:
        settle(net)
        payloads = reader.payloads()
        assert payloads, f"stuck after {len(received)}"
        received += payloads
    assert received == [str(number) for number in range(MESSAGES)]
    settle(net)
    assert near.broker.core.sessions["$mesh/far"].spilled == 0
