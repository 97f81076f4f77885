"""A link of the tree is cut: when it is healed, worked out instead of run.

The same graph, the same link and the trees that brokers compute, by the code that computes them.
Then three things take their time: the news of the cut crosses all links, every broker takes the new
tree when it has heard both ends, and markers cross the new tree until the broker before the new
link knows that all agree (see `mesh/tree/agreement.py`). Left out are queues, and the time that
brokers take; what computing the tree takes is measured and told apart.
"""

from __future__ import annotations

import heapq
import time
from dataclasses import dataclass

from gossamer.mesh.tree.heartbeat import cost_of
from gossamer.mesh.tree.spanning_tree import Announcement, TreeView, encode_announcement, view_of
from gossamer.mesh.tree.tree_links import MANY_BROKERS, PAUSE_SECONDS
from gossamer_lab.experiments.dissemination.outage import Graph, choose_link, draw_graph
from gossamer_lab.experiments.experiment import CellFailed

Roads = list[dict[int, float]]  # by broker: latency to each neighbour

_VERSION = bytes(16)
_PUBLISHER = 0  # the broker that it is on


@dataclass(frozen=True)
class Healing:
    news: float  # seconds until the last broker knows of the cut
    longest: float  # until those who were cut off get messages again
    affected: int  # brokers that were cut off
    computing: float  # processor seconds for one broker to compute the tree
    held_bytes: int  # of announcements, on every broker


def heal(brokers: int, seed: int) -> Healing:
    graph = draw_graph(brokers, seed)
    roads: Roads = [{} for _ in range(brokers)]
    for (one, other), (there, back) in zip(graph.links, graph.latencies, strict=True):
        roads[other][one] = there  # the later broker dials
        roads[one][other] = back
    spare = _spare_links(graph)
    announcements = {
        _name(broker): Announcement(
            _VERSION,
            {
                _name(o): _cost(roads, broker, o) + ((broker, o) in spare or (o, broker) in spare)
                for o in ways
            },
        )
        for broker, ways in enumerate(roads)
    }
    before = view_of(_name(_PUBLISHER), announcements)
    near, far = _cut(graph, before)
    for one, other in ((near, far), (far, near)):
        del roads[one][other]
        del announcements[_name(one)].costs[_name(other)]
    started = time.process_time()
    after = view_of(_name(_PUBLISHER), announcements)
    computing = time.process_time() - started
    if len(after.tree) < brokers:
        raise CellFailed(f"no other way leads around the link from {near} to {far}")
    heard = [_arrivals(roads, end) for end in (near, far)]
    adopted = _adopted(heard)
    first, second = _new_link(before, after)
    return Healing(
        max(map(max, heard)),
        _healed(_Wave(after, roads, adopted, (first, second))),
        len(_behind(before, near, far)),
        computing,
        sum(len(encode_announcement(one)) + len(name) for name, one in announcements.items()),
    )


def _name(broker: int) -> str:
    return f"b{broker}"


def _number(name: str) -> int:
    return int(name[1:])


def _cost(roads: Roads, one: int, other: int) -> int:
    return cost_of(roads[one][other] + roads[other][one])


def _spare_links(graph: Graph) -> set[tuple[int, int]]:
    """Links to brokers that could be reached before, which are told at one cost more. When each is
    dialled is drawn as the full simulation draws it."""
    dialled = sorted((graph.random.random(), link) for link in graph.links)
    above = list(range(graph.brokers))  # by broker: one that it is joined to, up to the first
    found = set()
    for _, (one, other) in dialled:
        first, second = _top(above, one), _top(above, other)
        if first == second:
            found.add((one, other))
        above[second] = first
    return found


def _top(above: list[int], broker: int) -> int:
    while above[broker] != broker:
        above[broker] = above[above[broker]]  # the way is shorter the next time
        broker = above[broker]
    return broker


def _cut(graph: Graph, view: TreeView) -> tuple[int, int]:
    """The link that the full simulation cuts."""
    carrying = [
        number
        for number, (one, other) in enumerate(graph.links)
        if _name(other) in view.tree[_name(one)]
    ]
    return graph.links[choose_link(graph, carrying)]


def _arrivals(roads: Roads, start: int) -> list[float]:
    """When a word of this broker's is first heard, by broker."""
    found = [float("inf")] * len(roads)
    found[start] = 0.0
    waiting = [(0.0, start)]
    while waiting:
        at, broker = heapq.heappop(waiting)
        if at > found[broker]:
            continue
        for other, latency in roads[broker].items():
            if at + latency < found[other]:
                found[other] = at + latency
                heapq.heappush(waiting, (at + latency, other))
    return found


def _adopted(heard: list[list[float]]) -> list[float]:
    """When each broker has the tree that follows from both ends' news. In a large mesh it waits
    after the first."""
    pause = PAUSE_SECONDS if len(heard[0]) >= MANY_BROKERS else 0.0
    times = []
    for one, other in zip(*heard, strict=True):
        later = max(one, other)
        times.append(later if one == other else max(later, min(one, other) + pause))
    return times


def _new_link(before: TreeView, after: TreeView) -> tuple[int, int]:
    """The one that takes the place of the one that was cut, from the publisher's side."""
    pairs = [
        {(one, other) for one, others in view.tree.items() for other in others}
        for view in (before, after)
    ]
    one, other = sorted(pairs[1] - pairs[0])[0]
    if _depth(after, other) < _depth(after, one):
        one, other = other, one
    return _number(one), _number(other)


def _depth(view: TreeView, name: str) -> int:
    """Links from the publisher's broker."""
    depths = {view.name: 0}
    waiting = [view.name]
    while name not in depths:
        one = waiting.pop()
        for other in view.tree[one]:
            if other not in depths:
                depths[other] = depths[one] + 1
                waiting.append(other)
    return depths[name]


def _behind(view: TreeView, one: int, other: int) -> set[str]:
    """Who was reached over that link."""
    names = (_name(one), _name(other))
    far = max(names, key=lambda name: _depth(view, name))
    near = names[0] if far == names[1] else names[1]
    found = {far}
    waiting = [far]
    while waiting:
        for name in view.tree[waiting.pop()]:
            if name != near and name not in found:
                found.add(name)
                waiting.append(name)
    return found


class _Wave:
    """Markers on their way over the new tree."""

    def __init__(
        self, view: TreeView, roads: Roads, adopted: list[float], new: tuple[int, int]
    ) -> None:
        self.view = view
        self.roads = roads
        self.adopted = adopted
        self.new = new

    def arrives(self, sender: int, receiver: int) -> float:
        """When the sender's marker is at the receiver: all behind the sender have adopted."""
        order = [(sender, receiver)]
        for broker, towards in order:
            order += [
                (_number(name), broker)
                for name in self.view.tree[_name(broker)]
                if _number(name) != towards
            ]
        at: dict[tuple[int, int], float] = {}
        for broker, towards in reversed(order):
            ready = self.adopted[broker]
            for name in self.view.tree[_name(broker)]:
                other = _number(name)
                if other != towards:
                    ready = max(ready, at[other, broker])
            if {broker, towards} == set(self.new):
                # Over a link that is new in the tree it answers a question, which must be there.
                ready = max(ready, self.adopted[towards] + self.roads[towards][broker])
            at[broker, towards] = ready + self.roads[broker][towards]
        return at[sender, receiver]


def _healed(wave: _Wave) -> float:
    """When the broker before the new link is settled, and its messages are over it."""
    near, far = wave.new
    settled = max(
        [wave.adopted[near]]
        + [wave.arrives(_number(name), near) for name in wave.view.tree[_name(near)]]
    )
    return settled + wave.roads[near][far]
