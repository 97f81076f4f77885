"""A mesh with links to spare loses one of them, or a broker: how long who hears nothing.

Random graphs of simulated brokers that keep a tree themselves. One publisher says something twenty
times a second, and every broker has a subscriber. An outage is the longest time in which one hears
nothing, less the time between two messages.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import fmean
from typing import Final

from gossamer.sim.cable import Cable
from gossamer.sim.crowd import CrowdEnd, Tally
from gossamer.sim.host import Disk, HostClock, SimulatedHost, WorkCost
from gossamer.sim.network import Road
from gossamer.sim.timeline import Timeline
from gossamer.wire.codec import encode
from gossamer.wire.packets import V5, Connect, Request, Subscribe
from gossamer_lab.experiments.dissemination.graphs import choose_link, draw_graph
from gossamer_lab.experiments.experiment import CellFailed
from gossamer_lab.scenarios.scenario import publish_head

CUT: Final = "a link is cut"  # both ends know at once
CRASH: Final = "a broker is gone"  # its neighbours find out by its silence
TOPIC: Final = "pulse"
PERIOD: Final = 0.05  # seconds between two messages
LOOK: Final = 0.01  # seconds between two looks at who got something
JOINING: Final = 20.0
WATCHED: Final = 20.0  # seconds after the fault
TICK: Final = 0.25  # seconds after which a broker looks around, if nothing comes


@dataclass(frozen=True)
class Outage:
    longest: float  # seconds, of any subscriber whose broker is there
    average: float  # of those that noticed
    affected: int  # subscribers that noticed
    silent: int  # subscribers that heard nothing more to the end: cut off for good


class _Graph:
    def __init__(self, brokers: int, seed: int) -> None:
        self.graph = graph = draw_graph(brokers, seed)
        self.timeline = Timeline()
        self.tally = Tally()
        self.hosts = [
            SimulatedHost(
                self.timeline,
                f"b{n}",
                "ssf",
                Disk(),
                HostClock(),
                WorkCost(),
                tick=TICK,
            )
            for n in range(brokers)
        ]
        self.cables = [
            Cable(self.hosts[other], self.hosts[one], Road(there), Road(back))
            for (one, other), (there, back) in zip(graph.links, graph.latencies, strict=True)
        ]
        for cable in self.cables:
            cable.begin(graph.random.random())
        self.timeline.run(JOINING)
        self.subscribers = [self._client(number, f"s{number}") for number in range(brokers)]
        self.timeline.run(self.timeline.now + 1.0)
        for end in self.subscribers:
            self._say(end, encode(Subscribe(1, [Request(TOPIC, 0)]), V5))
        self.publisher = self._client(0, "p")
        self.timeline.run(self.timeline.now + 5.0)

    def _client(self, broker: int, name: str) -> CrowdEnd:
        end = CrowdEnd(self.hosts[broker], Road(0.0), self.tally)
        self._say(end, encode(Connect(name), V5))
        return end

    def _say(self, end: CrowdEnd, data: bytes, at: float = 0.0) -> None:
        end.host.arrive(at or self.timeline.now, end, data, 0, 0)

    def publish_for(self, seconds: float) -> None:
        start = self.timeline.now
        for number in range(int(seconds / PERIOD)):
            self._say(self.publisher, publish_head(TOPIC, 0), start + number * PERIOD)

    def carrying(self) -> list[int]:
        """The links that messages use: those whose counts grow."""
        before = [cable.there.publications + cable.back.publications for cable in self.cables]
        self.timeline.run(self.timeline.now + 1.0)
        after = [cable.there.publications + cable.back.publications for cable in self.cables]
        grown = zip(before, after, strict=True)
        return [number for number, (old, new) in enumerate(grown) if new > old]

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
    graph = _Graph(brokers, seed)
    graph.publish_for(WATCHED + 10.0)
    graph.timeline.run(graph.timeline.now + 2.0)
    carrying = graph.carrying()
    if not carrying:
        raise CellFailed(f"no message crosses a link of {brokers} brokers after {JOINING} s")
    cable = graph.cables[choose_link(graph.graph, carrying)]
    if fault == CUT:
        graph.cut(cable)
    else:
        graph.crash(next(h for h in (cable.dialler, cable.acceptor) if h is not graph.hosts[0]))
    return _watch(graph)


def _watch(graph: _Graph) -> Outage:
    watched = [end for end in graph.subscribers if end.host.is_up]
    start = graph.timeline.now
    heard = dict.fromkeys(range(len(watched)), start)
    counts = [end.got for end in watched]
    gaps = [0.0] * len(watched)
    while graph.timeline.now < start + WATCHED:
        graph.timeline.run(graph.timeline.now + LOOK)
        now = graph.timeline.now
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
