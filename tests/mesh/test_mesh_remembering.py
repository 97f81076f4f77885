"""Brokers of a mesh that remember, or catch up from their archives: each what its own clients
publish."""

from itertools import pairwise

import pytest

from gossamer.plus.engine import Engine
from gossamer.plus.memory import MemoryLimits
from tests.support.collected_rows import Readers, RowsInMemory
from tests.support.meshes import Net
from tests.support.window_meshes import end_window, later, noted, received


def remembering() -> Engine:
    engine = Engine()
    engine.remember(MemoryLimits(["#"], 1_000, 1 << 24))
    return engine


def line(mode: str, names: str) -> Net:
    net = Net(mode)
    for name in names:
        net.node(name, engine=remembering())
    for one, other in pairwise(names):
        net.join(one, other)
    later(net, 1.0)
    return net


@pytest.mark.parametrize("mode", ["ssf", "bloom", "auto"])
def test_windows_have_what_entered_at_any_broker_before_the_subscription(mode: str) -> None:
    net = line(mode, "abc")
    end_window(net)
    writers = {name: node.client("w" + name) for name, node in net.nodes.items()}
    for value, name in enumerate("abc", 1):
        writers[name].publish("x/t", str(value))
        writers[name].publish(f"{name}/t", "10")
    net.run()
    reader = net.nodes["b"].client("reader")
    reader.subscribe("$QUARTERHOURLYSUM/+/t", "$MAX$QUARTERHOURLYCOUNT/+/t")
    net.run()
    for value, name in enumerate("abc", 4):
        writers[name].publish("x/t", str(value))
    net.run()
    end_window(net)
    assert sorted(noted(reader)) == [
        ("$MAX$QUARTERHOURLYCOUNT/$AGGREGATE/t", "6.0", []),
        ("$QUARTERHOURLYSUM/a/t", "10.0", []),
        ("$QUARTERHOURLYSUM/b/t", "10.0", []),
        ("$QUARTERHOURLYSUM/c/t", "10.0", []),
        ("$QUARTERHOURLYSUM/x/t", "21.0", []),
    ]
    writers["a"].publish("x/t", "1")
    net.run()
    end_window(net)
    assert sorted(noted(reader)) == [
        ("$MAX$QUARTERHOURLYCOUNT/$AGGREGATE/t", "1.0", []),
        ("$QUARTERHOURLYSUM/x/t", "1.0", []),
    ]


@pytest.mark.parametrize("is_late", [False, True])
def test_each_broker_catches_up_from_its_archive(is_late: bool) -> None:
    net = Net("ssf")
    ports: dict[str, Readers] = {}
    for name in "abc":
        broker = net.node(name).broker
        archive = RowsInMemory()
        ports[name] = Readers(archive)
        broker.begin_archiving(archive.collector, ["#"])
        broker.core.operators.begin_catching_up(ports[name], net.nodes[name].now)
    for one, other in pairwise("abc"):
        net.join(one, other)
    later(net, 1.0)
    end_window(net)
    writers = {name: node.client("w" + name) for name, node in net.nodes.items()}
    for name in "abc":
        writers[name].publish("x/t", "1")
    reader = net.nodes["b"].client("reader")
    reader.subscribe("$QUARTERHOURLYSUM/+/t")
    net.run()
    for name in "abc":
        writers[name].publish("x/t", "10")

    def answer(name: str) -> None:
        node = net.nodes[name]
        for request in ports[name].asked:
            ports[name].read(request)
            node.broker.caught_up(request, node.now)
        net.run()

    answer("b")
    answer("c")
    if is_late:
        end_window(net)
        later(net, 3.0)
        assert noted(reader) == [("$QUARTERHOURLYSUM/x/t", "22.0", [("plus_missing", "a")])]
        answer("a")
        assert noted(reader) == [("$QUARTERHOURLYSUM/x/t", "33.0", [("plus_correction", "")])]
    else:
        answer("a")
        end_window(net)
        assert noted(reader) == [("$QUARTERHOURLYSUM/x/t", "33.0", [])]


def test_last_values_that_entered_elsewhere_are_told_with_the_others() -> None:
    """Brokers tell values where clients publish much (`mesh/aggregates/values.py`): then those too
    that were remembered before anybody subscribed."""
    net = line("ssf", "abc")
    writers = {name: node.client("w" + name) for name, node in net.nodes.items()}
    for value, name in enumerate("abc", 1):
        writers[name].publish(f"{name}/t", str(value))
    later(net, 2.0)
    reader = net.nodes["b"].client("reader")
    reader.subscribe("$SUM/+/t")
    for _ in range(12):
        net.run()
        for _ in range(600):
            writers["a"].publish("busy/t", "100")
        net.run()
        later(net, 5.0)
    assert received(reader)["$SUM/$AGGREGATE/t"] == "106.0"
