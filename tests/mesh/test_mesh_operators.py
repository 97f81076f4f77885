"""Operators read what is published anywhere in the mesh, and each value counts once."""

import pytest

from gossamer.mesh.settings import MODES
from tests.support.meshes import Net


@pytest.fixture(params=MODES)
def net(request: pytest.FixtureRequest) -> Net:
    net = Net(request.param)
    for name in "ab":
        net.node(name)
    return net


@pytest.mark.parametrize("joined_first", [True, False])
def test_values_cross_the_mesh(net: Net, joined_first: bool) -> None:
    if joined_first:
        net.join("a", "b")
    reader = net.nodes["b"].client("reader")
    reader.subscribe("$SUM/one;two/t", "$GT;2/+/t")
    if not joined_first:
        net.join("a", "b")
    net.run()
    writer = net.nodes["a"].client("writer")
    for topic, value in (("one/t", "1"), ("two/t", "3"), ("three/t", "0"), ("one/t", "2")):
        writer.publish(topic, value, retain=value == "3")
        net.run()
    received = sorted((m.topic, m.payload.decode()) for m in reader.messages())
    assert received == [
        ("$GT;2/two/t", "3"),
        ("$SUM/one;two/t", "1.0"),
        ("$SUM/one;two/t", "4.0"),
        ("$SUM/one;two/t", "5.0"),
    ]


def test_nothing_crosses_for_an_operator_that_is_gone(net: Net) -> None:
    net.join("a", "b")
    reader = net.nodes["b"].client("reader")
    reader.subscribe("$AVG/x/+")
    reader.subscribe("$AVG/x/+", user=[("plus_every", "5")])
    net.run()
    reader.unsubscribe("$AVG/x/+")
    net.run()
    writer = net.nodes["a"].client("writer")
    before = net.nodes["b"].broker.core.counters.messages_received
    writer.publish("x/y", "1")
    net.run()
    crossed = net.nodes["b"].broker.core.counters.messages_received - before
    assert crossed == (1 if net.mode == "pf" else 0)
