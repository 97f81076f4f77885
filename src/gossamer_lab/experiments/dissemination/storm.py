"""Many distinct filters on one broker: what it costs to tell a neighbour, as filters and as bits.

    a (all subscribers) - b - c (all publishers)

Either the filters are there and the links come up, or the links stand and the filters come, in ten
seconds. Then topics are published at `c` that some filter matches, or none does.
"""

from __future__ import annotations

from dataclasses import dataclass
from random import Random
from typing import Final

from gossamer.sim.cable import Cable
from gossamer.sim.crowd import CrowdEnd, Tally
from gossamer.sim.host import Disk, HostClock, SimulatedHost, WorkCost
from gossamer.sim.network import Road
from gossamer.sim.timeline import Timeline
from gossamer.wire.codec import encode
from gossamer.wire.packets import V5, Connect, Request, Subscribe
from gossamer_lab.bench.topic_sets import sensor_topic
from gossamer_lab.scenarios.scenario import publish_head

CLIENT_FILTERS: Final = 500  # of one subscriber
PACKET_FILTERS: Final = 50  # of one SUBSCRIBE
STORM_SECONDS: Final = 10.0
REST: Final = 20.0  # seconds; links stand and everything is told long before
PROBES: Final = 20_000  # topics that nobody wants; a tenth as many that somebody does
LATENCY: Final = 0.005


@dataclass
class Storm:
    mode: str
    filters: int
    is_storm: bool
    control_bytes: int  # of interest, from a to b
    needless: int  # publications that c sent and nobody wanted
    unwanted: int  # of so many
    missed: int  # wanted publications that did not arrive
    wanted: int  # of so many


class _StormLine:
    """The three brokers."""

    def __init__(self, mode: str) -> None:
        self.timeline = Timeline()
        self.tally = Tally()
        self.hosts = [
            SimulatedHost(self.timeline, name, mode, Disk(), HostClock(), WorkCost(), tick=1.0)
            for name in "abc"
        ]
        self.cables = [
            Cable(self.hosts[number], self.hosts[number + 1], Road(LATENCY), Road(LATENCY))
            for number in (0, 1)
        ]

    def join(self) -> None:
        for cable in self.cables:
            cable.begin(self.timeline.now)

    def client(self, host: int, name: str) -> CrowdEnd:
        end = CrowdEnd(self.hosts[host], Road(0.0), self.tally)
        self.say(end, self.timeline.now, encode(Connect(name), V5))
        return end

    def say(self, end: CrowdEnd, at: float, data: bytes) -> None:
        end.host.arrive(at, end, data, 0, 0)

    def rest(self, seconds: float = REST) -> None:
        self.timeline.run(self.timeline.now + seconds)


def measure_storm(mode: str, filters: int, is_storm: bool, seed: int = 1) -> Storm:
    random = Random(seed)
    wanted = _distinct(filters, random)
    line = _StormLine(mode)
    if is_storm:
        line.join()
        line.rest(1.0)
    _subscribe(line, wanted, STORM_SECONDS if is_storm else 0.0)
    line.rest(STORM_SECONDS + 1.0)
    if not is_storm:
        line.join()
    line.rest()
    control_bytes = line.hosts[0].mesh.by_name["b"].interest_bytes
    probes = _distinct(filters + PROBES, random, wanted)
    back = line.cables[1].back  # from c to b
    needless = _publish(line, back, list(probes)[filters:])
    before = line.tally.deliveries
    some = random.sample(list(wanted), min(filters, PROBES // 10))
    _publish(line, back, some)
    return Storm(
        mode,
        filters,
        is_storm,
        control_bytes,
        needless,
        PROBES,
        len(some) - (line.tally.deliveries - before),
        len(some),
    )


def _distinct(count: int, random: Random, known: dict[str, None] | None = None) -> dict[str, None]:
    """Different topics, the known ones first."""
    topics = dict(known or {})
    while len(topics) < count:
        topics[sensor_topic(random)] = None
    return topics


def _subscribe(line: _StormLine, wanted: dict[str, None], seconds: float) -> None:
    filters = list(wanted)
    start = line.timeline.now + 0.1
    for first in range(0, len(filters), CLIENT_FILTERS):
        end = line.client(0, f"s{first}")
        own = filters[first : first + CLIENT_FILTERS]
        for index in range(0, len(own), PACKET_FILTERS):
            requests = [Request(filter, 0) for filter in own[index : index + PACKET_FILTERS]]
            at = start + seconds * (first + index) / len(filters)
            line.say(end, at, encode(Subscribe(1, requests), V5))


def _publish(line: _StormLine, road: Road, topics: list[str]) -> int:
    """How many of them the road carried."""
    before = road.publications
    publisher = line.client(2, f"p{before}")
    line.rest(1.0)
    for topic in topics:
        line.say(publisher, line.timeline.now, publish_head(topic, 0))
    line.rest(5.0)
    return road.publications - before
