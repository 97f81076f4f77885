"""A mesh with links to spare loses one of them, or a broker: how long who hears nothing.

Random graphs of simulated brokers that keep a tree themselves. One publisher says something twenty
times a second, and every broker has a subscriber. An outage is the longest time in which one hears
nothing, less the time between two messages.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from statistics import fmean
from typing import Final

from gossamer.sim.cable import Cable
from gossamer.sim.host import SimulatedHost
from gossamer.wire.packets import Request, Subscribe
from gossamer_lab.experiments.experiment import CellFailed
from gossamer_lab.scenarios.scenario import publish_head
from gossamer_lab.scenarios.small_mesh import SmallMesh
from gossamer_lab.scenarios.workload import tree

SHORTEST, LONGEST = 0.001, 0.010  # latency of a link in seconds
SPARE: Final = 2  # a spare link for so many brokers
CUT: Final = "a link is cut"  # both ends know at once
CRASH: Final = "a broker is gone"  # its neighbours find out by its silence
TOPIC: Final = "pulse"
PERIOD: Final = 0.05  # seconds between two messages
LOOK: Final = 0.01  # seconds between two looks at who got something
JOINING: Final = 20.0
WATCHED: Final = 20.0  # seconds after the fault
TICK: Final = 0.25  # seconds after which a broker looks around, if nothing comes


@dataclass(frozen=True)
class Graph:
    """`random` goes on from where the drawing ended."""

    brokers: int
    links: list[tuple[int, int]]
    latencies: list[tuple[float, float]]  # of each link, there and back
    random: Random


def draw_graph(brokers: int, seed: int) -> Graph:
    """A random tree, and more links between any two."""
    random = Random(seed)
    links = dict.fromkeys(
        (parent, number) for number, parent in enumerate(tree(brokers, random), 1)
    )
    wanted = len(links) + max(1, brokers // SPARE)
    while len(links) < min(wanted, brokers * (brokers - 1) // 2):
        one, other = sorted(random.sample(range(brokers), 2))
        links[one, other] = None
    latencies = [
        (random.uniform(SHORTEST, LONGEST), random.uniform(SHORTEST, LONGEST)) for _ in links
    ]
    return Graph(brokers, list(links), latencies, random)


def choose_link(graph: Graph, carrying: list[int]) -> int:
    """Which link to take away: one of these that another way leads around, if any is."""
    left = list(carrying)
    while len(left) > 1:
        chosen = graph.random.choice(left)
        if _has_way_around(graph, chosen):
            return chosen
        left.remove(chosen)
    return left[0]


def _has_way_around(graph: Graph, cut: int) -> bool:
    neighbours: list[list[int]] = [[] for _ in range(graph.brokers)]
    for number, (one, other) in enumerate(graph.links):
        if number != cut:
            neighbours[one].append(other)
            neighbours[other].append(one)
    start, end = graph.links[cut]
    found = {start}
    waiting = [start]
    while waiting and end not in found:
        for other in neighbours[waiting.pop()]:
            if other not in found:
                found.add(other)
                waiting.append(other)
    return end in found


@dataclass(frozen=True)
class Outage:
    longest: float  # seconds, of any subscriber whose broker is there
    average: float  # of those that noticed
    affected: int  # subscribers that noticed
    silent: int  # subscribers that heard nothing more to the end: cut off for good


class _WatchedMesh(SmallMesh):
    def __init__(self, brokers: int, seed: int) -> None:
        self.graph = graph = draw_graph(brokers, seed)
        joined = zip(graph.links, graph.latencies, strict=True)
        super().__init__(
            [f"b{number}" for number in range(brokers)],
            "ssf",
            [(other, one, there, back) for (one, other), (there, back) in joined],
            TICK,
        )
        for cable in self.cables:
            cable.begin(graph.random.random())
        self.rest(JOINING)
        self.subscribers = [self.client(number, f"s{number}") for number in range(brokers)]
        self.rest(1.0)
        for end in self.subscribers:
            self.say(end, Subscribe(1, [Request(TOPIC, 0)]))
        self.publisher = self.client(0, "p")
        self.rest(5.0)

    def publish_for(self, seconds: float) -> None:
        start = self.timeline.now
        for number in range(int(seconds / PERIOD)):
            self.say(self.publisher, publish_head(TOPIC, 0), start + number * PERIOD)

    def carrying(self) -> list[int]:
        """The links that messages use: those whose counts grow."""
        before = self._carried()
        self.rest(1.0)
        after = self._carried()
        grown = zip(before, after, strict=True)
        return [number for number, (old, new) in enumerate(grown) if new > old]

    def _carried(self) -> list[int]:
        return [cable.there.publications + cable.back.publications for cable in self.cables]

    def cut(self, cable: Cable) -> None:
        cable.is_cut = True
        for end in cable.break_off():
            host = end.owner
            assert isinstance(host, SimulatedHost)
            end.lost(host.clock.at(self.timeline.now))
            host.end_turn(self.timeline.now)

    def crash(self, host: SimulatedHost) -> None:
        host.stop()
        for cable in self.cables:
            if host in (cable.dialler, cable.acceptor):
                cable.break_off()


def outage(brokers: int, fault: str, seed: int) -> Outage:
    mesh = _WatchedMesh(brokers, seed)
    mesh.publish_for(WATCHED + 10.0)
    mesh.rest(2.0)
    carrying = mesh.carrying()
    if not carrying:
        raise CellFailed(f"no message crosses a link of {brokers} brokers after {JOINING} s")
    cable = mesh.cables[choose_link(mesh.graph, carrying)]
    if fault == CUT:
        mesh.cut(cable)
    else:
        mesh.crash(next(h for h in (cable.dialler, cable.acceptor) if h is not mesh.hosts[0]))
    return _watch(mesh)


def _watch(mesh: _WatchedMesh) -> Outage:
    watched = [end for end in mesh.subscribers if end.host.is_up]
    start = mesh.timeline.now
    heard = dict.fromkeys(range(len(watched)), start)
    counts = [end.got for end in watched]
    gaps = [0.0] * len(watched)
    while mesh.timeline.now < start + WATCHED:
        mesh.rest(LOOK)
        now = mesh.timeline.now
        for number, end in enumerate(watched):
            if end.got > counts[number]:
                counts[number] = end.got
                gaps[number] = max(gaps[number], now - heard[number])
                heard[number] = now
    silent = sum(start + WATCHED - last > WATCHED / 2 for last in heard.values())
    outages = [gap - PERIOD for gap in gaps if gap > 2 * PERIOD]
    return Outage(
        max(outages, default=0.0), fmean(outages) if outages else 0.0, len(outages), silent
    )
