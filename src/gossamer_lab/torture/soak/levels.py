"""What is measured of brokers in a long run, and whether it stays level.

In the first part of a run tables, caches and the interpreter's own memory fill to their bounds;
that is growth with an end, and is not judged. After it a straight line is laid through the samples
(the median of the slopes between all pairs, which a peak now and then does not bend). What the line
rises over the judged time, the drift, must stay below an allowance that covers what is left of that
filling and the sawtooth of files that are written and removed. A leak grows with the run and passes
any allowance; an allowance does not grow with the run.
"""

import asyncio
import os
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Final

from gossamer.net.client import Client
from gossamer_lab.quantiles import quantile

# Of the run; and never more than fifteen minutes, in which every cache has long been filled.
WARM_UP_SHARE: Final = 0.4
MOST_WARM_UP_SECONDS: Final = 900.0
# Samples are joined to so many medians: pairs of them are compared, and their number is squared.
MOST_POINTS: Final = 120
# With fewer a line says nothing.
LEAST_POINTS: Final = 5
_HOUR: Final = 3600.0
_MIB: Final = 1024.0 * 1024.0
_PAUSE_SECONDS: Final = 0.05
_PATIENCE_SECONDS: Final = 60.0


@dataclass(frozen=True)
class Measure:
    """A rise is allowed up to `most`, and up to `share` of the level besides."""

    name: str
    unit: str
    most: float
    share: float


# What is left of filling after the warm-up: pages that the allocator has not yet used again.
MEMORY: Final = Measure("resident memory", "MiB", 8.0, 0.03)
# Churn has so many connections more at one moment than at another.
DESCRIPTORS: Final = Measure("descriptors", "", 12.0, 0.0)
# Pools of threads grow to their bound on demand.
THREADS: Final = Measure("threads", "", 4.0, 0.0)
# Segments that wait to be sealed or removed, and SQLite's log before it is folded in.
DISK: Final = Measure("disk", "MiB", 24.0, 0.1)
# Machines are shared, and cut links make those wait whose way led over them.
MEDIAN: Final = Measure("latency, median", "ms", 10.0, 1.0)
SLOWEST: Final = Measure("latency, 99 %", "ms", 250.0, 1.0)


@dataclass(frozen=True)
class Trend:
    subject: str
    measure: Measure
    level: float  # the median of what is judged
    slope: float  # an hour
    drift: float  # over what is judged
    allowed: float
    seconds: float  # that are judged

    @property
    def is_level(self) -> bool:
        return self.drift <= self.allowed


Samples = Sequence[tuple[float, float]]  # seconds since the start, value


def warm_up(seconds: float) -> float:
    """How much of a run of so many seconds is not judged."""
    return min(WARM_UP_SHARE * seconds, MOST_WARM_UP_SECONDS)


def trend(subject: str, measure: Measure, samples: Samples, begin: float) -> Trend | None:
    """Of the samples from `begin` on; None where there are too few."""
    points = _joined([sample for sample in samples if sample[0] >= begin])
    if len(points) < LEAST_POINTS:
        return None
    seconds = points[-1][0] - points[0][0]
    level = median(value for _, value in points)
    slope = median(
        (value - earlier_value) / (at - earlier)
        for number, (at, value) in enumerate(points)
        for earlier, earlier_value in points[:number]
        if at > earlier
    )
    allowed = measure.most + measure.share * level
    return Trend(subject, measure, level, slope * _HOUR, slope * seconds, allowed, seconds)


def _joined(samples: Samples) -> Samples:
    """At most so many points, each the median of its neighbours."""
    size = -(-len(samples) // MOST_POINTS) or 1
    groups = [samples[start : start + size] for start in range(0, len(samples), size)]
    return [
        (median(at for at, _ in group), median(value for _, value in group)) for group in groups
    ]


def held(pid: int, folder: Path) -> dict[Measure, float]:
    """By a process and its folder; OSError if the process is gone."""
    process = Path(f"/proc/{pid}")
    pages = int((process / "statm").read_text().split()[1])
    return {
        MEMORY: pages * os.sysconf("SC_PAGE_SIZE") / _MIB,
        DESCRIPTORS: float(len(os.listdir(process / "fd"))),
        THREADS: float(len(os.listdir(process / "task"))),
        DISK: _size(folder) / _MIB,
    }


def _size(folder: Path) -> int:
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.stat(os.path.join(place, name), follow_symlinks=False).st_size
            except FileNotFoundError:
                continue  # a segment that was sealed or removed meanwhile
    return total


class Ping:
    """How long a message takes through a loaded mesh, from a client of one broker to a client of
    another, or of the same one, one at a time; they do nothing else."""

    def __init__(self, name: str, sender: str, receiver: str) -> None:
        self.name = name
        self._sender = sender
        self._receiver = receiver
        self._topic = f"ping/{name}"
        self._taken: list[float] = []

    async def run(self) -> None:
        """Until it is cancelled; a connection that is lost is made again."""
        while True:
            with suppress(OSError, TimeoutError):
                async with Client(self._sender) as sender, Client(self._receiver) as receiver:
                    await receiver.subscribe(self._topic, qos=1)
                    await self._ping(sender, receiver)
            await asyncio.sleep(_PAUSE_SECONDS)

    async def _ping(self, sender: Client, receiver: Client) -> None:
        messages = receiver.messages()
        number = 0
        while True:
            number += 1
            sent = time.perf_counter()
            await sender.publish(self._topic, b"%d" % number, qos=1)
            async with asyncio.timeout(_PATIENCE_SECONDS):
                async for message in messages:
                    if int(message.payload) == number:
                        break
            self._taken.append(time.perf_counter() - sent)
            await asyncio.sleep(_PAUSE_SECONDS)

    def measured(self) -> dict[Measure, float]:
        """Since the last call; empty if nothing arrived."""
        taken, self._taken = sorted(self._taken), []
        if not taken:
            return {}
        return {MEDIAN: 1000 * quantile(taken, 0.5), SLOWEST: 1000 * quantile(taken, 0.99)}
