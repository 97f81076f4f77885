"""The same line of seven, simulated: the brokers that ship on links without delay or noise.

Subscriptions come one at a time, so none shares a message with another.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from gossamer.mesh.link import Link
from gossamer.session.message import NAMED_BLOCK
from gossamer.sim.cable import Cable
from gossamer.sim.crowd import CrowdEnd, Tally
from gossamer.sim.host import Disk, HostClock, SimulatedHost, WorkCost
from gossamer.sim.network import Road
from gossamer.sim.timeline import Timeline
from gossamer.wire.codec import encode
from gossamer.wire.packets import V5, Connect, Packet, Publish, Request, Subscribe
from gossamer_lab.experiments.testbed.grid import LINKS, Told
from gossamer_lab.experiments.testbed.workload import BROKERS, payload_for, topics

LATENCY: Final = 0.001
APART: Final = 0.05  # seconds between two packets of a client: longer than the whole line takes
JOINING: Final = 5.0


class _TestbedLine:
    def __init__(self, mode: str) -> None:
        self.timeline = Timeline()
        self.tally = Tally()
        self.hosts = [
            SimulatedHost(
                self.timeline, f"b{number}", mode, Disk(), HostClock(), WorkCost(), tick=1.0
            )
            for number in range(BROKERS)
        ]
        self.cables = [
            Cable(self.hosts[number], self.hosts[number - 1], Road(LATENCY), Road(LATENCY))
            for number in range(1, BROKERS)
        ]
        for cable in self.cables:
            cable.begin(0.0)
        self.rest(JOINING)

    def client(self, broker: int, name: str) -> CrowdEnd:
        end = CrowdEnd(self.hosts[broker], Road(0.0), self.tally)
        self.say(end, Connect(name))
        return end

    def say(self, end: CrowdEnd, packet: Packet) -> None:
        """And waits until everybody has heard of it."""
        end.host.arrive(self.timeline.now, end, encode(packet, V5), 0, 0)
        self.rest(APART)

    def rest(self, seconds: float) -> None:
        self.timeline.run(self.timeline.now + seconds)

    def message_bytes(self) -> int:
        """Of publications and their acknowledgements, as `BedTraffic` counts them."""
        roads = [road for cable in self.cables for road in (cable.there, cable.back)]
        control = sum(link.control_bytes for link in self.links())
        return sum(road.bytes - NAMED_BLOCK * road.publications for road in roads) - control

    def links(self) -> list[Link]:
        return [link for host in self.hosts for link in host.mesh.by_name.values()]

    def advertised(self) -> tuple[int, int]:
        """Messages and bytes that told interests."""
        links = self.links()
        return (
            sum(link.interest_messages for link in links),
            sum(link.interest_bytes for link in links),
        )

    def publish(self, publisher: CrowdEnd, names: Sequence[str], payload: bytes) -> int:
        before = self.message_bytes()
        for number, name in enumerate(names, 1):
            self.say(publisher, Publish(name, payload, 1, packet_id=number))
        return self.message_bytes() - before


def flooded_bytes(count: int, ratios: Sequence[float]) -> list[int]:
    line = _TestbedLine("pf")
    publisher = line.client(0, "publisher")
    return [line.publish(publisher, topics(count), b"x" * payload_for(spr)) for spr in ratios]


def told(interested: int, count: int, ratios: Sequence[float]) -> Told:
    line = _TestbedLine("sf")
    names = topics(count)
    messages, size = line.advertised()
    subscriber = line.client(interested - 1, "subscriber")
    for name in names:
        line.say(subscriber, Subscribe(1, [Request(name, 0)]))
    after = line.advertised()
    found = Told(after[1] - size, after[0] - messages, LINKS * count)
    publisher = line.client(0, "publisher")
    for spr in ratios:
        found.forwarded_bytes.append(line.publish(publisher, names, b"x" * payload_for(spr)))
    return found
