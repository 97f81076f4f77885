"""The figures of every broker of a mesh, read on another."""

import pytest

from gossamer.mesh.overview import MAIN, PREFIX
from gossamer.mesh.sys_topics import start_reporting
from gossamer.wire.errors import ProtocolError
from tests.support.meshes import Net

INTERVAL = 1.5  # links would take longer silence for death


def reporting_line() -> Net:
    """a - b - c, each with `$SYS`."""
    net = Net()
    for name in "abc":
        node = net.node(name)
        node.settings.sys_interval = 0.5
    net.join("a", "b")
    net.join("c", "b")
    for node in net.nodes.values():
        start_reporting(node.mesh, node.now)
    return net


def wait(net: Net, seconds: float) -> None:
    for node in net.nodes.values():
        node.wait(seconds)
    net.run()


def shown(net: Net, on: str, of: str) -> dict[str, str]:
    node = net.nodes[on]
    prefix = f"{PREFIX}{of}/"
    found = node.broker.core.retained.search(prefix + "#", node.now)
    return {message.topic[len(prefix) :]: message.payload.decode() for message in found}


def test_every_broker_shows_every_other() -> None:
    net = reporting_line()
    net.nodes["c"].client("somebody").subscribe("x")
    wait(net, 0.0)
    for on in "abc":
        for of in "abc":
            assert set(shown(net, on, of)) == set(MAIN)
    assert shown(net, "a", "c")["subscriptions/count"] == "1"
    assert shown(net, "a", "b")["links/connected"] == "2"
    assert shown(net, "a", "a")["links/connected"] == "1"


def test_figures_change_and_clients_can_read_them() -> None:
    net = reporting_line()
    wait(net, 0.0)
    reader = net.nodes["a"].client("reader")
    reader.subscribe("$SYS/mesh/broker/c/clients/total")
    assert reader.payloads() == ["1"]  # its neighbour
    net.nodes["c"].client("somebody")
    wait(net, INTERVAL)
    assert reader.payloads() == ["2"]


def test_a_broker_that_is_gone_is_shown_no_more() -> None:
    net = reporting_line()
    wait(net, 0.0)
    net.cut("c", "b")
    for _ in range(2):
        wait(net, INTERVAL)
    assert shown(net, "a", "c")
    for _ in range(2):
        wait(net, INTERVAL)
    assert shown(net, "a", "c") == {}
    assert shown(net, "a", "b")


def test_what_is_no_report_is_not_shown() -> None:
    net = reporting_line()
    wait(net, 0.0)
    overview = net.nodes["a"].mesh.overview
    for body in (b"\xff", b"[]", b"{}"):
        with pytest.raises(ProtocolError):
            overview.hear("liar", body, net.nodes["a"].now)
    odd = b'{"interval": 1, "figures": {"+/#": "x", "uptime": 3}}'
    overview.hear("liar", odd, net.nodes["a"].now)
    assert shown(net, "a", "liar") == {}
