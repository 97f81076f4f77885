"""What the stores of a mesh are given: each message once, and none that the next broker had before
its transaction was written."""

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.wire.packets import Request, Suback, Subscribe
from tests.support.durable_meshes import DurableNet
from tests.support.memory import MemoryClient


@pytest.fixture
def net(tmp_path: Path) -> Iterator[DurableNet]:
    made = DurableNet(tmp_path)
    yield made
    made.close()


def connected(net: DurableNet, name: str, client_id: str, **options: object) -> MemoryClient:
    client = net.nodes[name].visitor()
    client.connect(client_id, **options)  # type: ignore[arg-type]
    net.run()
    return client


def subscribe(net: DurableNet, client: MemoryClient, qos: int) -> None:
    client.send(Subscribe(1, [Request("t", qos)]))
    net.run()
    assert any(isinstance(packet, Suback) for packet in client.take())


def payloads(net: DurableNet, client: MemoryClient) -> list[str]:
    """Of all that came, acknowledged to the end."""
    found: list[str] = []
    for _ in range(4):
        found += client.payloads()
        net.run()
    return found


def rows(net: DurableNet, name: str, table: str) -> int:
    store = net.stores[name]
    connection: sqlite3.Connection = store._connection
    (count,) = connection.execute(f"SELECT count(*) FROM {table}").fetchone()
    return int(count)


@pytest.mark.parametrize("qos", [1, 2])
def test_a_message_is_stored_once_for_all_who_wait_for_it(net: DurableNet, qos: int) -> None:
    for name in "abcd":
        net.node(name)
    for name in "bcd":
        net.join(name, "a")
        subscribe(net, connected(net, name, f"reader-{name}", expiry=1_000), qos)
    for number in range(3):
        away = connected(net, "a", f"away-{number}", expiry=1_000)
        subscribe(net, away, qos)
        away.lose()
    net.run()
    for name in "bcd":
        net.cut(name, "a")
    messages, deliveries = rows(net, "a", "message"), rows(net, "a", "delivery")
    writer = connected(net, "a", "writer")
    for number in range(5):
        writer.publish("t", str(number), qos=qos, packet_id=number + 1)
        net.run()
    assert rows(net, "a", "message") - messages == 5
    assert rows(net, "a", "delivery") - deliveries == 5 * 6
    for name in "bcd":
        net.join(name, "a")
    for number in range(3):
        returned = connected(net, "a", f"away-{number}", clean=False, expiry=1_000)
        assert payloads(net, returned) == [str(number) for number in range(5)]
    net.run()
    assert rows(net, "a", "message") == messages
    assert rows(net, "a", "delivery") == deliveries


def test_what_the_next_broker_has_answered_is_not_written(net: DurableNet) -> None:
    """Of a broker on the way: its answers wait for an empty transaction."""
    for name in "abc":
        net.node(name)
    net.join("a", "b")
    net.join("c", "b")
    reader = connected(net, "c", "reader")
    subscribe(net, reader, 1)
    writer = connected(net, "a", "writer")
    writer.publish("t", "before", qos=1)
    net.run()
    journal = net.stores["b"].journal
    commits, written = journal.written.commits, journal.written.rows
    for number in range(20):
        writer.publish("t", str(number), qos=1, packet_id=number + 1)
        net.run()
    assert payloads(net, reader) == ["before", *map(str, range(20))]
    assert not net.nodes["a"].broker.core.sessions["$mesh/b"].inflight
    assert (journal.written.commits, journal.written.rows) == (commits, written)
