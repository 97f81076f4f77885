"""Figure 12: the traffic of seven brokers as it adds up, in three shapes.

Every topic has a subscriber at one broker and a publisher at another, spread evenly, and SPR is 1:
the worst case for subscriptions. The paper does not say where its clients are; this is our reading.
"""

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Final

from gossamer_lab.experiments.testbed.bed import Bed, BedTraffic, running_bed
from gossamer_lab.experiments.testbed.workload import BROKERS, payload_for, topics

SPR: Final = 1.0
SAMPLE_SECONDS: Final = 0.25


@dataclass
class Curve:
    """Cumulative bytes over time, and what of them each phase brought."""

    samples: list[tuple[float, int]] = field(default_factory=list)
    subscribing: int = 0
    publishing: int = 0

    @property
    def total(self) -> int:
        return self.subscribing + self.publishing


def subscriber_of(number: int) -> int:
    """The broker where the topic of that number is wanted."""
    return number % BROKERS


def publisher_of(number: int) -> int:
    """The broker where it is published: every pair of brokers has its turn, none with itself."""
    step = 1 + number // BROKERS % (BROKERS - 1)
    return (number + step) % BROKERS


async def measure_shape(topology: str, mode: str, count: int, phase_seconds: float) -> Curve:
    """`count` topics; each of the two phases takes so long (15 s in the paper)."""
    async with running_bed(topology, mode) as bed:
        return await _measure(bed, mode, topics(count), phase_seconds)


async def _measure(bed: Bed, mode: str, names: list[str], phase_seconds: float) -> Curve:
    """In mode pf no broker is told anything, so publishing starts at once."""
    curve = Curve()
    start = await bed.traffic()
    began = time.monotonic()
    sampler = asyncio.ensure_future(_sample(bed, curve, start, began))

    async def subscribe(number: int) -> None:
        client = await bed.client(subscriber_of(number), "subscriber")
        await client.subscribe(names[number], qos=1)

    async def publish(number: int) -> None:
        client = await bed.client(publisher_of(number), "publisher")
        await client.publish(names[number], payload, qos=1)

    payload = b"x" * payload_for(SPR)
    told = start
    if mode == "pf":
        for number in range(len(names)):
            await subscribe(number)
    else:
        await _paced(subscribe, len(names), phase_seconds)
        told = await bed.settled()
        curve.subscribing = (told - start).all_bytes
    await _paced(publish, len(names), phase_seconds)
    curve.publishing = (await bed.settled() - told).all_bytes
    sampler.cancel()
    curve.samples.append((time.monotonic() - began, curve.total))
    return curve


async def _paced(act: Callable[[int], Awaitable[None]], count: int, seconds: float) -> None:
    """Does it so many times, evenly over these seconds."""
    began = time.monotonic()
    for number in range(count):
        await act(number)
        ahead = began + (number + 1) * seconds / count - time.monotonic()
        if ahead > 0:
            await asyncio.sleep(ahead)


async def _sample(bed: Bed, curve: Curve, start: BedTraffic, began: float) -> None:
    """Until cancelled."""
    while True:
        curve.samples.append((time.monotonic() - began, (await bed.traffic() - start).all_bytes))
        await asyncio.sleep(SAMPLE_SECONDS)
