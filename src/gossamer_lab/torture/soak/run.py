"""One soak: a mesh of real brokers with stores and archives, everything at once, the books settled.

Clients with sessions that last publish and subscribe at QoS 1 and 2 on every broker; what was
acknowledged must arrive at each of them and in the archive of the broker that took it, at QoS 2
once. Beside them sessions and retained messages change, visitors use everything else, and links are
cut and restored. Meanwhile each broker's memory, descriptors, threads and disk are sampled, and
how long a message takes; at the end all of them must be level.
"""

import asyncio
import random
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from gossamer.net.client import Client
from gossamer.net.local.broker import LocalMeshError
from gossamer.net.local.mesh import LocalMesh, LocalMeshPlan
from gossamer.net.local.ports import free_ports
from gossamer.storage.files import FILE_NAME
from gossamer.storage.repair import check
from gossamer_lab.torture import retained
from gossamer_lab.torture.ledger import DeliveryLedger
from gossamer_lab.torture.retained import RetainedTopic
from gossamer_lab.torture.sessions import ChurningSession
from gossamer_lab.torture.soak.follower import Follower
from gossamer_lab.torture.soak.links import Cutter
from gossamer_lab.torture.soak.ping import Ping
from gossamer_lab.torture.soak.sample import held
from gossamer_lab.torture.soak.trends import Measure, Samples, Trend, trend, warm_up
from gossamer_lab.torture.soak.visitors import Visitors
from gossamer_lab.torture.traffic import READY, TorturePublisher, TortureSubscriber

# When links stand again, everything must find its end; a mesh that takes longer has lost it.
AGREEMENT_SECONDS: Final = 180.0
# News of retained messages, once all links stand.
RETAINED_SECONDS: Final = 60.0
MOOD_SECONDS: Final = 5.0
# A run has about so many samples, and none more often than every second.
SAMPLES: Final = 400
_MOST_LINES: Final = 5

# Sealed and removed often enough that the archive reaches its size in the warm-up of a long run.
_ARCHIVE: Final = """
[archive]
replay_port = {port}
segment_size = "1 MiB"
segment_age = "{age:.0f} s"
retention_age = "{kept:.0f} s"
"""


@dataclass(frozen=True)
class SoakPlan:
    minutes: float
    seed: int = 1
    brokers: int = 3
    mode: str = "ssf"
    rate: float = 50.0  # messages a second of one stream; each broker has one at QoS 1 and one at 2
    visitors: int = 12  # at a time
    sessions: int = 2  # that change, on each broker
    topics: int = 2  # that are retained and change, on each broker


@dataclass(frozen=True)
class SoakOutcome:
    acknowledged: int
    received: int
    repeated: int
    visits: int
    refused: int  # of the visits; while links are cut some may be
    cuts: int
    offsets: int
    seconds: float
    faults: list[str]
    trends: list[Trend]


@dataclass(frozen=True)
class SoakProgress:
    """What is shown while it runs."""

    seconds: float
    acknowledged: int
    faults: int
    memory: str


async def soak(plan: SoakPlan, folder: Path, show: Callable[[SoakProgress], None]) -> SoakOutcome:
    """`show` hears of every sample."""
    return await _SoakRun(plan, folder, show).outcome()


class _SoakRun:
    def __init__(self, plan: SoakPlan, folder: Path, show: Callable[[SoakProgress], None]) -> None:
        self.plan = plan
        self.show = show
        self.random = random.Random(plan.seed)
        self.seconds = plan.minutes * 60
        ports = free_ports(plan.brokers)
        age = min(60.0, max(5.0, self.seconds / 12))
        self.mesh = LocalMesh(
            folder,
            LocalMeshPlan(
                plan.brokers,
                "ring",
                plan.mode,
                memory=False,
                sys_seconds=2,
                more=tuple(_ARCHIVE.format(port=port, age=age, kept=3 * age) for port in ports),
            ),
        )
        names = [broker.name for broker in self.mesh.brokers]
        streams = {name: frozenset((f"{name}-q1", f"{name}-q2")) for name in names}
        wanted = {f"archive of {name}": streams[name] for name in names}
        readers = [f"reader-{name}" for name in names]
        # More than one way leads through a ring: the order is for the simulator to judge.
        self.ledger = DeliveryLedger([*readers, *wanted], wanted, is_ordered=False)
        self.urls = [f"mqtt://127.0.0.1:{broker.port}" for broker in self.mesh.brokers]
        self.readers = [
            TortureSubscriber(broker.port, f"reader-{broker.name}", self.ledger, self._seed())
            for broker in self.mesh.brokers
        ]
        self.publishers = [
            TorturePublisher(
                broker.port, f"{broker.name}-q{qos}", qos, self.ledger, self._seed(), plan.rate
            )
            for broker in self.mesh.brokers
            for qos in (1, 2)
        ]
        self.followers = [
            Follower(f"archive of {name}", port, self.ledger)
            for name, port in zip(names, ports, strict=True)
        ]
        self.sessions = [
            ChurningSession(url, f"churn-{name}-{number}", self.ledger, self._seed())
            for name, url in zip(names, self.urls, strict=True)
            for number in range(plan.sessions)
        ]
        self.topics = [
            RetainedTopic(url, f"{name}-{number}", self.ledger, self._seed())
            for name, url in zip(names, self.urls, strict=True)
            for number in range(plan.topics)
        ]
        self.visitors = Visitors(self.urls, self.ledger, self._seed())
        self.cutter = Cutter(self.mesh, self._seed())
        self.pings = [
            Ping("within a broker", self.urls[0], self.urls[0]),
            Ping("across the mesh", self.urls[0], self.urls[-1]),
        ]
        self.samples: dict[tuple[str, Measure], list[tuple[float, float]]] = {}

    def _seed(self) -> int:
        return self.random.getrandbits(32)

    async def outcome(self) -> SoakOutcome:
        started = time.monotonic()
        try:
            with self.mesh:
                await asyncio.to_thread(self.mesh.start)
                await self._under_load()
        except (LocalMeshError, TimeoutError, OSError) as error:
            self.ledger.fault(str(error) or "the messages did not settle in time")
        self.ledger.close()
        self._last_look()
        return SoakOutcome(
            self.ledger.all_acknowledged,
            self.ledger.received,
            self.ledger.repeated,
            self.visitors.visits,
            self.visitors.refused,
            self.cutter.cuts,
            sum(follower.offsets for follower in self.followers),
            time.monotonic() - started,
            self.ledger.faults,
            self._trends(),
        )

    async def _under_load(self) -> None:
        lasting: list[asyncio.Task[None]] = []
        restless: list[asyncio.Task[None]] = []
        try:
            await self._meet(lasting)
            for follower in self.followers:
                _start(lasting, follower.run())
            for publisher in self.publishers:
                _start(lasting, publisher.link.run())
                _start(lasting, publisher.send())
            for reader in self.readers:
                _start(restless, reader.be_moody(MOOD_SECONDS))
            for session in self.sessions:
                _start(restless, session.churn())
            for topic in self.topics:
                _start(restless, topic.keep_writing())
            for ping in self.pings:
                _start(restless, ping.run())
            for _ in range(self.plan.visitors):
                _start(restless, self.visitors.keep_coming())
            _start(restless, self.cutter.run())
            await self._watch([*lasting, *restless])
            await _end(restless)
            await self._settle()
        finally:
            await _end(restless)
            await _end(lasting)

    async def _meet(self, lasting: list[asyncio.Task[None]]) -> None:
        """Until what is published at any broker reaches every reader: from then on all must."""
        for reader in self.readers:
            _start(lasting, reader.link.run())
        everywhere = {broker.name for broker in self.mesh.brokers}
        async with asyncio.timeout(AGREEMENT_SECONDS):
            while any(reader.reached_from != everywhere for reader in self.readers):
                for broker, url in zip(self.mesh.brokers, self.urls, strict=True):
                    async with Client(url) as client:
                        await client.publish(READY + broker.name, b"", qos=1)
                await asyncio.sleep(0.2)

    async def _watch(self, tasks: list[asyncio.Task[None]]) -> None:
        """Samples until the time is up; whatever ends before that has failed."""
        start = time.monotonic()
        pause = max(1.0, self.seconds / SAMPLES)
        while (passed := time.monotonic() - start) < self.seconds:
            done, _ = await asyncio.wait(
                tasks,
                timeout=min(pause, self.seconds - passed),
                return_when=asyncio.FIRST_COMPLETED,
            )
            for task in done:
                task.result()
                raise LocalMeshError("a part of the soak ended by itself")
            await self._sample(time.monotonic() - start)

    async def _sample(self, at: float) -> None:
        for broker in self.mesh.brokers:
            broker.check()
            measured = await asyncio.to_thread(held, broker.pid, broker.folder / "data")
            for measure, value in measured.items():
                self.samples.setdefault((broker.name, measure), []).append((at, value))
        for ping in self.pings:
            for measure, value in ping.measured().items():
                self.samples.setdefault((ping.name, measure), []).append((at, value))
        memory = ", ".join(
            f"{name} {values[-1][1]:.0f} MiB"
            for (name, measure), values in self.samples.items()
            if measure.name == "resident memory"
        )
        self.show(SoakProgress(at, self.ledger.all_acknowledged, len(self.ledger.faults), memory))

    async def _settle(self) -> None:
        """No more traffic and all links: everything must find its end."""
        await self.cutter.heal()
        for publisher in self.publishers:
            publisher.stop_sending()
        await asyncio.to_thread(self.mesh.wait)
        async with asyncio.timeout(AGREEMENT_SECONDS):
            while self.ledger.backlog > 0 or not all(one.finished for one in self.publishers):
                await asyncio.sleep(0.1)
            for session in self.sessions:
                await session.verify()
            for url in self.urls:
                await retained.verify(url, self.topics, RETAINED_SECONDS)

    def _last_look(self) -> None:
        """At the logs and stores of brokers that have stopped."""
        for broker in self.mesh.brokers:
            lines = (broker.folder / "broker.log").read_text(errors="replace").splitlines()
            errors = [line for line in lines if " ERROR " in line or line.startswith("Traceback")]
            for line in errors[:_MOST_LINES]:
                self.ledger.fault(f"the log of {broker.name} says: {line}")
            store = broker.folder / "data" / FILE_NAME
            if store.exists():
                for problem in check(store).problems:
                    self.ledger.fault(f"the store of {broker.name}: {problem}")

    def _trends(self) -> list[Trend]:
        begin = warm_up(self.seconds)
        samples: dict[tuple[str, Measure], Samples] = dict(self.samples)
        found = [
            trend(subject, measure, values, begin)
            for (subject, measure), values in sorted(
                samples.items(), key=lambda item: (item[0][1].name, item[0][0])
            )
        ]
        return [one for one in found if one is not None]


def _start(tasks: list[asyncio.Task[None]], coroutine: Coroutine[Any, Any, None]) -> None:
    tasks.append(asyncio.ensure_future(coroutine))


async def _end(tasks: list[asyncio.Task[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
