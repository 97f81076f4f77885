"""Figure 12 of the SSF paper: the traffic of seven real brokers as it adds up, in three shapes.

Every topic has a subscriber at one broker and a publisher at another, spread evenly, and SPR is 1:
the worst case for subscriptions. The paper does not say where its clients are; this is our reading.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, Final

from gossamer.mesh.settings import MODES
from gossamer.net.local.topologies import PARENTS
from gossamer_lab.experiments.experiment import Claim, Experiment, Figure, Grid, ResultRows, Scaled
from gossamer_lab.experiments.plots import MODE_STYLES, from_zero, line, panels
from gossamer_lab.experiments.testbed.bed import Bed, BedTraffic, running_bed
from gossamer_lab.experiments.testbed.workload import BROKERS, payload_for, topics

# Topics, and the seconds of each of the two phases: 15 in the paper.
SIZE: Final = {"count": Scaled(84, 420), "phase_seconds": Scaled(1.5, 15.0)}
FAR_MORE: Final = 1.05
SPR: Final = 1.0
SAMPLE_SECONDS: Final = 0.25


def subscriber_of(number: int) -> int:
    """The broker where the topic of that number is wanted."""
    return number % BROKERS


def publisher_of(number: int) -> int:
    """The broker where it is published: every pair of brokers has its turn, none with itself."""
    step = 1 + number // BROKERS % (BROKERS - 1)
    return (number + step) % BROKERS


def measure(parameters: dict[str, Any], seed: int) -> dict[str, Any]:
    """Nothing in it is random."""
    return asyncio.run(_measure(**parameters))


async def _measure(topology: str, mode: str, count: int, phase_seconds: float) -> dict[str, Any]:
    """Cumulative bytes over time, and what of them each of the two phases brought. In mode pf no
    broker is told anything, so publishing starts at once."""
    names = topics(count)
    payload = b"x" * payload_for(SPR)
    samples: list[tuple[float, int]] = []
    subscribing = 0
    async with running_bed(topology, mode) as bed:

        async def subscribe(number: int) -> None:
            client = await bed.client(subscriber_of(number), "subscriber")
            await client.subscribe(names[number], qos=1)

        async def publish(number: int) -> None:
            client = await bed.client(publisher_of(number), "publisher")
            await client.publish(names[number], payload, qos=1)

        told = start = await bed.traffic()
        began = time.monotonic()
        sampler = asyncio.ensure_future(_sample(bed, samples, start, began))
        if mode == "pf":
            for number in range(count):
                await subscribe(number)
        else:
            await _paced(subscribe, count, phase_seconds)
            told = await bed.settled()
            subscribing = (told - start).all_bytes
        await _paced(publish, count, phase_seconds)
        publishing = (await bed.settled() - told).all_bytes
        sampler.cancel()
        samples.append((time.monotonic() - began, subscribing + publishing))
    return {
        "seconds": [seconds for seconds, _ in samples],
        "bytes": [size for _, size in samples],
        "subscribing": subscribing,
        "publishing": publishing,
        "total": subscribing + publishing,
    }


async def _paced(act: Callable[[int], Awaitable[None]], count: int, seconds: float) -> None:
    """Does it so many times, evenly over these seconds."""
    began = time.monotonic()
    for number in range(count):
        await act(number)
        ahead = began + (number + 1) * seconds / count - time.monotonic()
        if ahead > 0:
            await asyncio.sleep(ahead)


async def _sample(
    bed: Bed, samples: list[tuple[float, int]], start: BedTraffic, began: float
) -> None:
    """Until cancelled."""
    while True:
        samples.append((time.monotonic() - began, (await bed.traffic() - start).all_bytes))
        await asyncio.sleep(SAMPLE_SECONDS)


def figures(rows: ResultRows) -> list[Figure]:
    drawing, axes = panels(len(PARENTS), sharey=True)
    for axis, (topology, group) in zip(axes, rows.by("topology").items(), strict=True):
        for row in group:
            kib = [count / 1024 for count in row["bytes"]]
            line(axis, row["seconds"], kib, MODE_STYLES[row["mode"]], row["mode"])
        axis.set_title(topology, fontsize=10)
        axis.set_xlabel("seconds")
    from_zero(*axes)
    axes[0].set_ylabel("cumulative traffic on all links, KiB")
    axes[0].legend()
    return [
        Figure(
            "Figures 11 and 12",
            "Cumulative traffic on a line, a binary tree and a star, SPR = 1",
            drawing,
            "SF floods most in the line, and saves while publishing. SPR = 1 is its worst case.",
            _claims(rows),
            "With PF publishing starts at once, with the others after all subscriptions. Every "
            "topic has a subscriber at one broker and a publisher at another, spread evenly: the "
            "paper does not say where its clients are.",
        )
    ]


def _claims(rows: ResultRows) -> list[Claim]:
    publishing, total, told = {}, {}, {}
    for topology, group in rows.by("topology").items():
        pf, sf = group.only(mode="pf"), group.only(mode="sf")
        publishing[topology] = sf["publishing"] / pf["publishing"]
        total[topology] = sf["total"] / pf["total"]
        told[topology] = sf["subscribing"]
    others = max(count for topology, count in told.items() if topology != "linear")
    return [
        Claim(
            "SF needs less than PF while publishing",
            "as drawn",
            ", ".join(f"{shape} {part:.0%}" for shape, part in publishing.items()),
            max(publishing.values()) < 1,
            headline=True,
        ),
        Claim(
            "at SPR = 1, SF's worst case, it needs more in all",
            "as drawn",
            ", ".join(f"{shape} {part:.2f} times" for shape, part in total.items()),
            min(total.values()) > 1,
        ),
        Claim(
            "SF floods far more in the line than in the other shapes",
            "as drawn",
            f"{told['linear'] / others:.2f} times as much",
            told["linear"] > others * FAR_MORE,
            "a tree of seven brokers has six links in any shape, and each carries a subscription "
            "once",
            headline=True,
        ),
    ]


EXPERIMENT = Experiment(
    name="testbed-shapes",
    title="Does the shape of the network matter?",
    source="Hao et al., Figures 11 and 12",
    about="Seven broker processes on this machine; bytes on all links, four samples a second.",
    grid=Grid({"topology": PARENTS, "mode": Scaled(("pf", "sf"), MODES)}, fixed=SIZE),
    measure=measure,
    figures=figures,
    alone=True,
)
