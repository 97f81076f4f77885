"""A broker with cameras, subscribers and real workers: images answered, bytes and processor time.

This is the paper's image scenario (Figure 3) with the recogniser that ships, in real time. The
bytes are those of MQTT packets to the subscribers.
"""

import asyncio
import resource
import time
from dataclasses import dataclass
from typing import Final

from gossamer.broker.broker import Broker
from gossamer.broker.settings import Settings
from gossamer.plus.engine import Engine
from gossamer.plus.jobs import Job
from gossamer.plus.vocabulary import Vocabulary
from gossamer.session.journal import Journal
from gossamer.vision.pool import Pool, PoolLimits
from gossamer.vision.registry import Installed
from gossamer.vision.settings import WorkerSettings
from gossamer_lab.bench.plus.loopback import LoopbackClient, publication

TOPIC: Final = "image/polimi/deib/room1"
OPERATOR: Final = "$CNTPPL"

# How long the loop may be kept waiting is looked at this often.
LOOK_SECONDS: Final = 0.002


@dataclass(frozen=True)
class CrowdRun:
    way: str
    workers: int
    images: int
    seconds: float
    downlink: int
    broker_cpu: float
    worker_cpu: float
    longest_wait: float  # of the broker's event loop, in seconds

    @property
    def rate(self) -> float:
        return self.images / self.seconds


def run_crowd(
    way: str,
    images: list[bytes],
    subscribers: int,
    workers: int,
    installed: Installed,
    settings: WorkerSettings,
) -> CrowdRun:
    """`way` is MQTT (every image to every subscriber) or CNTPPL."""
    filter = f"{TOPIC}/+" if way == "MQTT" else f"{OPERATOR}/{TOPIC}/+"
    crowd = _Crowd(filter, subscribers, workers, installed, settings)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds, broker_cpu, longest = asyncio.run(crowd.run(images, way != "MQTT"))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    worker_cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return CrowdRun(
        way, workers, len(images), seconds, crowd.downlink(), broker_cpu, worker_cpu, longest
    )


class _Crowd:
    def __init__(
        self,
        filter: str,
        subscribers: int,
        workers: int,
        installed: Installed,
        settings: WorkerSettings,
    ) -> None:
        quiet = Settings()
        quiet.sys_interval = 0.0
        self.broker = Broker(
            quiet, Journal(), time.time(), Engine(Vocabulary(processors=installed.kinds))
        )
        self.places = installed.usable
        self.settings = settings
        self.limits = PoolLimits(workers, queue=1_000_000, queue_bytes=1 << 40)
        now = time.time()
        self.readers = [
            LoopbackClient(self.broker, f"reader{number}", now) for number in range(subscribers)
        ]
        for reader in self.readers:
            reader.subscribe(filter, now)
        self.waiting = 0
        self.longest = 0.0

    def downlink(self) -> int:
        return sum(reader.sink.bytes for reader in self.readers)

    async def run(self, images: list[bytes], answers: bool) -> tuple[float, float, float]:
        """Seconds in all, processor seconds of the broker, and the loop's longest wait."""
        pool = Pool(self.places, self.settings, self.limits, self._answered)
        self.broker.core.operators.workshop = pool
        writer = LoopbackClient(self.broker, "writer", time.time())
        if answers:
            await self._warm(writer, images[0])
        looking = asyncio.create_task(self._look())
        begun, cpu = time.perf_counter(), time.process_time()
        for number, image in enumerate(images):
            self.waiting += answers
            writer.send(publication(f"{TOPIC}/{number:08d}", image), time.time())
            await asyncio.sleep(0)
        while self.waiting:
            await asyncio.sleep(LOOK_SECONDS)
        seconds, cpu = time.perf_counter() - begun, time.process_time() - cpu
        looking.cancel()
        await pool.close()
        return seconds, cpu, self.longest

    async def _warm(self, writer: LoopbackClient, image: bytes) -> None:
        """Workers start with their first image; that is not what is measured."""
        self.waiting = self.limits.workers
        for number in range(self.limits.workers):
            writer.send(publication(f"{TOPIC}/warm{number}", image), time.time())
        while self.waiting:
            await asyncio.sleep(LOOK_SECONDS)
        for reader in self.readers:
            reader.sink.bytes = 0

    def _answered(self, job: Job, found: bytes | None) -> None:
        self.waiting -= 1
        self.broker.processed(job, found, time.time())

    async def _look(self) -> None:
        """Keeps the longest time that the loop took to come back to this."""
        while True:
            begun = time.perf_counter()
            await asyncio.sleep(LOOK_SECONDS)
            self.longest = max(self.longest, time.perf_counter() - begun - LOOK_SECONDS)
