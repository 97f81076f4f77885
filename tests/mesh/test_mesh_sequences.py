"""Sequences, and windows that brokers do not count together, have what is published anywhere."""

import pytest

from gossamer.mesh.settings import MODES
from gossamer.plus.operators.windows import SessionWindow, SlidingWindow, Window
from gossamer.plus.registry import DEFAULT_WINDOWS
from gossamer.plus.time_zones import zone_of
from gossamer.plus.vocabulary import Vocabulary
from tests.support.memory import MemoryClient
from tests.support.meshes import Net

WINDOWS = (
    SlidingWindow("SLIDE", 60.0, 20.0),
    SessionWindow("VISIT", 30.0),
    Window("DAY", 86_400.0, zone_of("Europe/Berlin")),
)


@pytest.fixture(params=MODES)
def net(request: pytest.FixtureRequest) -> Net:
    net = Net(request.param)
    for name in "ab":
        net.node(name)
    net.join("a", "b")
    # The reader's broker alone has these windows.
    net.nodes["b"].broker.core.operators.engine.vocabulary = Vocabulary(
        (*DEFAULT_WINDOWS, *WINDOWS)
    )
    return net


def received(reader: MemoryClient) -> list[tuple[str, str]]:
    return sorted((m.topic, m.payload.decode()) for m in reader.messages())


def later(net: Net, seconds: float) -> None:
    """Time passes for all, and nobody takes the silence of a link for its death."""
    for near, far in net.links.values():
        near.end.connection.last_seen = far.end.last_seen = 1e12  # type: ignore[attr-defined]
    for node in net.nodes.values():
        node.wait(seconds)
    net.run()


def test_a_rule_around_a_sequence_keeps_nothing_from_it(net: Net) -> None:
    """It would, if a neighbour were told the rule: 10 would not come, and 31 be no change."""
    reader = net.nodes["b"].client("reader")
    reader.subscribe("$GT;30$CHANGED;5/t", "$CHANGED;5$GT;30/t", "$ABSENT;10s$GT;30/t")
    net.run()
    writer = net.nodes["a"].client("writer")
    for value in ("31", "10", "31", "33"):
        writer.publish("t", value)
        net.run()
    assert received(reader) == [
        ("$CHANGED;5$GT;30/t", "31"),
        ("$GT;30$CHANGED;5/t", "31"),
        ("$GT;30$CHANGED;5/t", "31"),
    ]
    later(net, 10.0)
    assert received(reader) == [("$ABSENT;10s$GT;30/t", "1")]


def test_windows_of_the_readers_broker(net: Net) -> None:
    reader = net.nodes["b"].client("reader")
    asked = ["$SLIDECOUNT/+", "$VISITSUM/+", "$SUM$DAYMAX/+", "$SUM$DELTA/+"]
    assert reader.subscribe(*asked) == [0] * len(asked)
    net.run()
    writers = [node.client(f"w{name}") for name, node in net.nodes.items()]
    for writer, topic, value in zip(writers * 2, "xyxy", ("1", "2", "4", "8"), strict=True):
        writer.publish(topic, value)
        net.run()
    deltas = [("$SUM$DELTA/$AGGREGATE", "3.0"), ("$SUM$DELTA/$AGGREGATE", "9.0")]
    assert received(reader) == deltas
    assert net.nodes["b"].mesh.windows.subscribed == {}
    later(net, 30.0)
    assert set(received(reader)) >= {
        ("$SLIDECOUNT/x", "2"),
        ("$SLIDECOUNT/y", "2"),
        ("$VISITSUM/x", "5.0"),
        ("$VISITSUM/y", "10.0"),
    }
    later(net, 86_400.0)
    assert ("$SUM$DAYMAX/$AGGREGATE", "12.0") in received(reader)
