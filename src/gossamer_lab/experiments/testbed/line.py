"""The bytes behind Figure 10, on seven brokers in a line, real ones or simulated ones.

T_PF and T_SF are measured apart: publications to everywhere, which nobody's interest changes; and
subscriptions to everywhere with publications to where they are wanted.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

from gossamer.session.link_properties import NAMED_BLOCK
from gossamer.sim.crowd import CrowdEnd
from gossamer.wire.packets import Packet, Publish, Request, Subscribe
from gossamer_lab.experiments.testbed.bed import Bed, BedTraffic, running_bed
from gossamer_lab.experiments.testbed.workload import BROKERS, payload_for, topics
from gossamer_lab.scenarios.small_mesh import SmallMesh

REAL, SIMULATED = "seven brokers", "simulated"
LINKS: Final = BROKERS - 1
LATENCY: Final = 0.001
APART: Final = 0.05  # seconds between two packets of a client: longer than the whole line takes
JOINING: Final = 5.0


async def measure_line(
    way: str, interested: int, count: int, ratios: Sequence[float]
) -> dict[str, Any]:
    """`count` topics are published once each, for each ratio; in mode sf, with all subscribers at
    one broker so that so many are interested, or in mode pf if none is."""
    names = topics(count)
    sent: list[int] = []
    last = interested - 1 if interested else LINKS
    async with _running_line(way, "sf" if interested else "pf") as bed:
        before = settled = await bed.traffic()
        if interested:
            await bed.subscribe(last, names)
            settled = await bed.settled(told=len(names))
        telling = settled - before
        for spr in ratios:
            before = settled
            await bed.publish(0, names, b"x" * payload_for(spr))
            settled = await bed.settled(messages=before.messages + last * len(names))
            sent.append((settled - before).bytes)
    if not interested:
        return {"flooded_bytes": sent}
    return {
        "told_bytes": telling.interest_bytes,
        # Fewer than one for each subscription on each link, where subscriptions shared one.
        "told_messages": telling.interest_messages,
        "single_messages": LINKS * count,
        "forwarded_bytes": sent,
    }


@asynccontextmanager
async def _running_line(way: str, mode: str) -> AsyncIterator[Bed | _SimulatedLine]:
    if way == SIMULATED:
        yield _SimulatedLine(mode)
        return
    async with running_bed("linear", mode) as bed:
        yield bed


class _SimulatedLine(SmallMesh):
    """The brokers that ship on links without delay or noise, asked as a `Bed` is. Packets come one
    at a time, so that no subscription shares a message with another."""

    def __init__(self, mode: str) -> None:
        links = [(number, number - 1, LATENCY, LATENCY) for number in range(1, BROKERS)]
        super().__init__([f"b{number}" for number in range(BROKERS)], mode, links)
        self._clients: dict[tuple[int, str], CrowdEnd] = {}
        self.join()
        self.rest(JOINING)

    def say(self, end: CrowdEnd, packet: Packet | bytes, at: float | None = None) -> None:
        """And waits until everybody has heard of it."""
        super().say(end, packet, at)
        self.rest(APART)

    def _client(self, broker: int, name: str) -> CrowdEnd:
        if (broker, name) not in self._clients:
            self._clients[broker, name] = self.client(broker, name)
        return self._clients[broker, name]

    async def subscribe(self, broker: int, filters: Sequence[str]) -> None:
        for filter in filters:
            self.say(self._client(broker, "subscriber"), Subscribe(1, [Request(filter, 0)]))

    async def publish(self, broker: int, names: Sequence[str], payload: bytes) -> None:
        for number, name in enumerate(names, 1):
            packet = Publish(name, payload, 1, packet_id=number)
            self.say(self._client(broker, "publisher"), packet)

    async def settled(self, *, messages: int | None = None, told: int | None = None) -> BedTraffic:
        """It always is."""
        return await self.traffic()

    async def traffic(self) -> BedTraffic:
        roads = [road for cable in self.cables for road in (cable.there, cable.back)]
        links = self.links()
        messages = sum(road.publications for road in roads)
        size = sum(road.bytes for road in roads) - sum(link.control_bytes for link in links)
        return BedTraffic(
            messages,
            size - NAMED_BLOCK * messages,
            sum(link.interest_messages for link in links),
            sum(link.interest_bytes for link in links),
        )
