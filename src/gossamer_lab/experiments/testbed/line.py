"""The bytes behind Figure 10, on seven brokers in a line, real ones and simulated ones.

T_PF and T_SF are measured apart: publications to everywhere, which nobody's interest changes; and
subscriptions to everywhere with publications to where they are wanted. Simulated are the brokers
that ship, on links without delay or noise; their subscriptions come one at a time, so none shares a
message with another.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from gossamer.session.message import NAMED_BLOCK
from gossamer.sim.crowd import CrowdEnd
from gossamer.wire.packets import Packet, Publish, Request, Subscribe
from gossamer_lab.experiments.testbed.bed import running_bed
from gossamer_lab.experiments.testbed.workload import BROKERS, payload_for, topics
from gossamer_lab.scenarios.small_mesh import SmallMesh

LINKS: Final = BROKERS - 1
LATENCY: Final = 0.001
APART: Final = 0.05  # seconds between two packets of a client: longer than the whole line takes
JOINING: Final = 5.0


@dataclass
class Told:
    """What subscriptions cost, and publications for each ratio of the two."""

    told_bytes: int = 0
    told_messages: int = 0  # fewer than `single_messages` where subscriptions shared one
    single_messages: int = 0  # one for each subscription on each link
    forwarded_bytes: list[int] = field(default_factory=list)


async def flooded_bytes(count: int, ratios: Sequence[float]) -> list[int]:
    """In mode pf, for each ratio; `count` topics are published once each."""
    names = topics(count)
    found: list[int] = []
    async with running_bed("linear", "pf") as bed:
        settled = await bed.traffic()
        for spr in ratios:
            before = settled
            await bed.publish(0, names, b"x" * payload_for(spr))
            settled = await bed.settled(messages=before.messages + LINKS * len(names))
            found.append((settled - before).bytes)
    return found


async def told(interested: int, count: int, ratios: Sequence[float]) -> Told:
    """In mode sf, with all subscribers at one broker so that so many are interested."""
    names = topics(count)
    found = Told(single_messages=LINKS * count)
    last = interested - 1
    async with running_bed("linear", "sf") as bed:
        before = await bed.traffic()
        await bed.subscribe(last, names)
        settled = await bed.settled(told=len(names))
        telling = settled - before
        found.told_bytes = telling.interest_bytes
        found.told_messages = telling.interest_messages
        for spr in ratios:
            before = settled
            await bed.publish(0, names, b"x" * payload_for(spr))
            settled = await bed.settled(messages=before.messages + last * len(names))
            found.forwarded_bytes.append((settled - before).bytes)
    return found


class _SimulatedLine(SmallMesh):
    def __init__(self, mode: str) -> None:
        links = [(number, number - 1, LATENCY, LATENCY) for number in range(1, BROKERS)]
        super().__init__([f"b{number}" for number in range(BROKERS)], mode, links)
        self.join()
        self.rest(JOINING)

    def say(self, end: CrowdEnd, packet: Packet | bytes, at: float | None = None) -> None:
        """And waits until everybody has heard of it: none shares a message with another."""
        super().say(end, packet, at)
        self.rest(APART)

    def message_bytes(self) -> int:
        """Of publications and their acknowledgements, as `BedTraffic` counts them."""
        roads = [road for cable in self.cables for road in (cable.there, cable.back)]
        control = sum(link.control_bytes for link in self.links())
        return sum(road.bytes - NAMED_BLOCK * road.publications for road in roads) - control

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


def simulated_flooded_bytes(count: int, ratios: Sequence[float]) -> list[int]:
    line = _SimulatedLine("pf")
    publisher = line.client(0, "publisher")
    return [line.publish(publisher, topics(count), b"x" * payload_for(spr)) for spr in ratios]


def simulated_told(interested: int, count: int, ratios: Sequence[float]) -> Told:
    line = _SimulatedLine("sf")
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
