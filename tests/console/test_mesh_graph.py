"""The mesh as a graph: what both ends say, joined; what changed; the picture."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from gossamer.console.broker_watch import BrokerWatch
from gossamer.console.mesh_graph import MeshGraph
from gossamer.console.parts.mesh_picture import picture, places
from gossamer.console.settings import WatchedBroker

ADDRESS = WatchedBroker("127.0.0.1", 1, "a-token-for-the-tests", "mqtt://127.0.0.1:1")


def watch(name: str, links: dict[str, dict[str, Any]], is_up: bool = True) -> BrokerWatch:
    broker = BrokerWatch(1, ADDRESS, ThreadPoolExecutor(1))
    broker.name = name
    broker.trouble = "" if is_up else "gone"
    broker.mesh = {
        "name": name,
        "entries": [{"neighbour": other, **entry} for other, entry in links.items()],
    }
    return broker


def link(connected: bool = True, sent: int = 0, **more: Any) -> dict[str, Any]:
    return {"connected": connected, "messages_sent": sent, "bytes_sent": 10 * sent, **more}


def test_links_are_joined_and_their_rates_told() -> None:
    graph = MeshGraph()
    graph.renew([watch("a", {"b": link(sent=0)}), watch("b", {"a": link(sent=5)})], 100.0)
    graph.renew([watch("a", {"b": link(sent=4)}), watch("b", {"a": link(sent=9)})], 102.0)
    one = graph.links["a", "b"]
    assert (one.state, one.messages, one.bytes) == ("tree", 4.0, 40.0)
    assert not graph.changes


@pytest.mark.parametrize(
    ("near", "far", "state"),
    [
        (link(), link(), "tree"),
        (link(), link(False), "down"),
        (link(role="standby"), link(role="standby"), "standby"),
    ],
)
def test_states(near: dict[str, Any], far: dict[str, Any], state: str) -> None:
    graph = MeshGraph()
    graph.renew([watch("a", {"b": near}), watch("b", {"a": far})], 0.0)
    assert graph.links["a", "b"].state == state


def test_changes_are_remembered() -> None:
    graph = MeshGraph()
    good = [watch("a", {"b": link()}), watch("b", {"a": link()})]
    cut = [watch("a", {"b": link(False)}), watch("b", {"a": link(False)}, is_up=False)]
    for now, brokers in enumerate((good, cut, cut, good)):
        graph.renew(brokers, float(now))
    assert [(change.at, change.text) for change in graph.changes] == [
        (3.0, "link a – b: down → tree"),
        (3.0, "b is reachable again"),
        (1.0, "link a – b: tree → down"),
        (1.0, "b is unreachable"),
    ]


def test_a_cut_moves_nothing_in_the_picture_and_names_are_escaped() -> None:
    graph = MeshGraph()
    name = "<b>"
    graph.renew([watch("a", {name: link(), "c": link()})], 0.0)
    before = places(graph)
    graph.renew([watch("a", {name: link(False), "c": link()})], 1.0)
    assert places(graph) == before
    drawn = picture(graph)
    assert "<b>" not in drawn
    assert 'data-link="&lt;b&gt; a" data-state="down"' in drawn
