"""Windows that several brokers count, when brokers are killed: what was counted is on disk, and
each count is in one result."""

import math
from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.wire.packets import Request, Subscribe, Unsubscribe
from tests.support.durable_meshes import DurableNet
from tests.support.memory import MemoryClient
from tests.support.meshes import Net, Node
from tests.support.window_meshes import end_window, later, noted, until_end

SUM = "$QUARTERHOURLYSUM/+"


@pytest.fixture
def net(tmp_path: Path) -> Iterator[DurableNet]:
    net = DurableNet(tmp_path)
    for name in "abc":
        net.node(name)
    net.join("a", "b")
    net.join("b", "c")
    later(net, 1.0)
    reader = lasting(net)
    reader.send(Subscribe(1, [Request(SUM, 1)], None))
    end_window(net)
    later(net, 5.0)
    reader.messages()
    yield net
    net.close()


def lasting(net: Net) -> MemoryClient:
    """The reader, with a session that outlives its connection and its broker."""
    reader = net.nodes["a"].visitor()
    reader.connect("reader", clean=False, expiry=1_000_000)
    net.run()
    return reader


def publish(net: Net, name: str, value: int) -> None:
    writer = net.nodes[name].client(f"writer-{name}")
    writer.publish("x", str(value), qos=1)
    net.run()
    writer.disconnect()
    net.run()


def crash(net: DurableNet, *names: str) -> None:
    """One after the other; they are back at the time that the others have."""
    for name in names:
        net.crash(name, begins=net.nodes[name].now)
    for _ in range(3):
        later(net, 1.0)


@pytest.mark.parametrize("names", ["a", "b", "c", "abc"])
def test_what_was_counted_before_a_crash_counts(net: DurableNet, names: str) -> None:
    for name, value in (("a", 1), ("b", 10), ("c", 100)):
        publish(net, name, value)
    crash(net, *names)
    publish(net, "c", 1000)
    reader = lasting(net)
    end_window(net)
    assert noted(reader) == [("$QUARTERHOURLYSUM/x", "1111.0", [])]


def test_a_window_that_ended_while_a_broker_was_down_is_told_then(net: DurableNet) -> None:
    publish(net, "a", 1)
    publish(net, "c", 100)
    reader = lasting(net)
    net.cut("b", "c")
    gone = net.nodes.pop("c")
    end_window(net)
    later(net, 3.0)
    assert noted(reader) == [("$QUARTERHOURLYSUM/x", "1.0", [("plus_missing", "c")])]
    net.nodes["c"] = gone
    net.crash("c", begins=net.nodes["a"].now)
    net.join("b", "c")
    for _ in range(3):
        later(net, 1.0)
    assert noted(reader) == [("$QUARTERHOURLYSUM/x", "101.0", [("plus_correction", "")])]
    end_window(net)
    assert noted(reader) == []


def test_what_waits_for_others_outlives_a_crash_of_the_subscribers_broker(net: DurableNet) -> None:
    for name, value in (("a", 1), ("b", 10), ("c", 100)):
        publish(net, name, value)
    # c is behind by more than a second: the counts of a and b wait for it.
    net.nodes["c"].broker.clock_set(-1.5, net.nodes["c"].now)
    end_window(net)
    waiting = next(iter(net.nodes["a"].mesh.windows.subscribed.values()))
    assert sorted(waiting.gatherings.popitem()[1].since) == ["a", "b"]
    crash(net, "a")
    reader = lasting(net)
    later(net, 2.0)
    assert noted(reader) == [("$QUARTERHOURLYSUM/x", "111.0", [])]


def test_a_correction_after_a_crash_is_of_what_was_sent_before(net: DurableNet) -> None:
    publish(net, "a", 1)
    publish(net, "c", 100)
    reader = lasting(net)
    net.cut("b", "c")
    end_window(net)
    later(net, 3.0)
    assert noted(reader) == [("$QUARTERHOURLYSUM/x", "1.0", [("plus_missing", "c")])]
    net.run()
    crash(net, "a")
    reader = lasting(net)
    assert noted(reader) == []
    net.join("b", "c")
    for _ in range(3):
        later(net, 1.0)
    assert noted(reader) == [("$QUARTERHOURLYSUM/x", "101.0", [("plus_correction", "")])]
    net.run()
    crash(net, "a")
    later(net, 20.0)
    assert noted(lasting(net)) == []


def test_all_is_dropped_once_it_is_over(net: DurableNet) -> None:
    publish(net, "c", 1)
    end_window(net)
    for store in net.stores.values():
        store.journal.take()
    reader = lasting(net)
    reader.send(Unsubscribe(2, [SUM]))
    for _ in range(3):
        later(net, 300.0)
    crash(net, "a", "b", "c")
    for node in net.nodes.values():
        assert not node.mesh.windows.counting.counts
        assert not node.mesh.windows.subscribed
        assert not node.broker.core.operators._counted
        assert not node.broker.core.operators.operations


def test_without_a_store_a_broker_that_was_killed_says_since_when_it_counts() -> None:
    net = Net("ssf")
    for name in "ab":
        net.node(name)
    net.join("a", "b")
    later(net, 1.0)
    reader = net.nodes["a"].client("reader")
    reader.subscribe(SUM)
    end_window(net)
    later(net, 5.0)
    net.nodes["b"].client("writer").publish("x", "1")
    later(net, 5.0)
    net.cut("a", "b")
    net.nodes["b"] = Node("b", "ssf", begins=net.nodes["a"].now)
    net.join("a", "b")
    later(net, 1.0)
    net.nodes["b"].client("writer").publish("x", "2")
    end_window(net)
    assert noted(reader) == [("$QUARTERHOURLYSUM/x", "2.0", [("plus_since", "")])]
    start = math.floor(net.nodes["a"].now)
    assert until_end(net.nodes["a"]) == 900.0 - start % 900
