"""One soak: a mesh of real brokers with stores and archives, everything at once, the books settled.

Clients with sessions that last publish and subscribe at QoS 1 and 2 on every broker; what was
acknowledged must arrive at each of them and in the archive of the broker that took it, at QoS 2
once. Beside them sessions and retained messages change, visitors use everything else, and links are
cut and restored. Meanwhile each broker's memory, descriptors, threads and disk are sampled, and
how long a message takes; at the end all of them must be level.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final

from gossamer.archive.client import Address, Credentials, ReplayError, Request, read
from gossamer.net.admin.client import AdminError
from gossamer.net.local.broker import LocalMeshError
from gossamer.net.local.mesh import LocalMesh, LocalMeshPlan
from gossamer.net.local.ports import free_ports
from gossamer_lab.torture.clients import PREFIX, READY
from gossamer_lab.torture.last_look import complaints
from gossamer_lab.torture.ledger import DeliveryLedger, MessageKey
from gossamer_lab.torture.load import TortureLoad, end_tasks, meet
from gossamer_lab.torture.soak.levels import Measure, Ping, Trend, held, trend, warm_up
from gossamer_lab.torture.soak.visitors import Visitors

# When links stand again, everything must find its end; a mesh that takes longer has lost it.
AGREEMENT_SECONDS: Final = 180.0
# News of retained messages, once all links stand.
RETAINED_SECONDS: Final = 60.0
MOOD_SECONDS: Final = 5.0
# A run has about so many samples, and none more often than every second.
SAMPLES: Final = 400
_LONGEST_CALM: Final = 6.0
_LONGEST_CUT: Final = 4.0
_FOLLOW_SECONDS: Final = 0.5
_COLUMNS: Final = ("offset", "topic", "payload", "qos")

# Sealed and removed often enough that the archive reaches its size in the warm-up of a long run.
_ARCHIVE: Final = """
[archive]
replay_port = {port}
segment_size = "1 MiB"
segment_age = "{age:.0f} s"
retention_age = "{kept:.0f} s"
"""


_Row = tuple[int, str, bytes, int]


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


class Cutter:
    """Cuts links of the mesh at random and restores them, one or two at a time."""

    def __init__(self, mesh: LocalMesh, seed: int) -> None:
        self.cuts = 0
        self._mesh = mesh
        self._random = Random(seed)

    async def run(self) -> None:
        """Until it is cancelled; then `heal` is called for."""
        while True:
            await asyncio.sleep(self._random.random() * _LONGEST_CALM)
            count = self._random.choice((1, 1, 2))
            chosen = self._random.sample(self._mesh.edges, min(count, len(self._mesh.edges)))
            for edge in chosen:
                self.cuts += await self._say(edge, "cut")
            await asyncio.sleep(self._random.random() * _LONGEST_CUT)
            for edge in chosen:
                await self._say(edge, "heal")

    async def heal(self) -> None:
        for edge in self._mesh.edges:
            await self._say(edge, "heal")

    async def _say(self, edge: tuple[int, int], word: str) -> bool:
        """To the broker that dials; False if it has no such link at the moment."""
        near, far = (self._mesh.brokers[number] for number in edge)
        try:
            await asyncio.to_thread(far.admin.call, "POST", f"/v1/mesh/{near.name}/{word}")
        except AdminError:
            far.check()
            return False
        return True


class Follower:
    """Follows the archive of a broker: every offset is there, once, with what was acknowledged.
    `name` is what the ledger knows it by."""

    def __init__(self, name: str, port: int, ledger: DeliveryLedger) -> None:
        self.offsets = 0  # read, all of them
        self._name = name
        self._address = Address("127.0.0.1", port)
        self._ledger = ledger

    async def run(self) -> None:
        while True:
            await self.catch_up()
            await asyncio.sleep(_FOLLOW_SECONDS)

    async def catch_up(self) -> None:
        """To what is there now. The reading is on a thread, the ledger is not."""
        try:
            rows = await asyncio.to_thread(self._read, self.offsets)
        except ReplayError as error:
            self._ledger.fault(f"{self._name} cannot be read from {self.offsets} on: {error}")
            return
        for offset, topic, payload, qos in rows:
            if offset != self.offsets:
                self._ledger.fault(f"{self._name} has offset {offset} after {self.offsets - 1}")
            self.offsets = offset + 1
            if topic.startswith(PREFIX) and not topic.startswith(READY):
                self._ledger.note_received(self._name, MessageKey.of(payload), qos)

    def _read(self, start: int) -> list[_Row]:
        request = Request(["#"], start=start, columns=_COLUMNS)
        rows: list[_Row] = []
        for batch in read(self._address, Credentials(), request):
            rows += zip(*(batch.column(name).to_pylist() for name in _COLUMNS), strict=True)
        return rows


class _SoakRun:
    def __init__(self, plan: SoakPlan, folder: Path, show: Callable[[SoakProgress], None]) -> None:
        self.plan = plan
        self.show = show
        self.random = Random(plan.seed)
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
        sites = list(zip(names, self.urls, strict=True))
        self.load = TortureLoad(
            self.ledger,
            self.random,
            readers=[(broker.port, f"reader-{broker.name}") for broker in self.mesh.brokers],
            streams=[
                (b.port, f"{b.name}-q{qos}", qos) for b in self.mesh.brokers for qos in (1, 2)
            ],
            sessions=[
                (url, f"churn-{name}-{n}") for name, url in sites for n in range(plan.sessions)
            ],
            topics=[(url, f"{name}-{n}") for name, url in sites for n in range(plan.topics)],
            rate=plan.rate,
        )
        self.followers = [
            Follower(f"archive of {name}", port, self.ledger)
            for name, port in zip(names, ports, strict=True)
        ]
        self.visitors = Visitors(self.urls, self.ledger, self.random.getrandbits(32))
        self.cutter = Cutter(self.mesh, self.random.getrandbits(32))
        self.pings = [
            Ping("within a broker", self.urls[0], self.urls[0]),
            Ping("across the mesh", self.urls[0], self.urls[-1]),
        ]
        self.samples: dict[tuple[str, Measure], list[tuple[float, float]]] = {}

    async def outcome(self) -> SoakOutcome:
        started = time.monotonic()
        try:
            with self.mesh:
                await asyncio.to_thread(self.mesh.start)
                await self._under_load()
        except (LocalMeshError, TimeoutError, OSError) as error:
            self.ledger.fault(str(error) or "the messages did not settle in time")
        self.ledger.close()
        self.ledger.faults += complaints(self.mesh.brokers)
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
        readers = self.load.readers
        lasting = [asyncio.ensure_future(reader.link.run()) for reader in readers]
        restless: list[asyncio.Future[None]] = []
        try:
            async with asyncio.timeout(AGREEMENT_SECONDS):
                await meet(readers, self.mesh.brokers)
            parts = [follower.run() for follower in self.followers] + self.load.publishing()
            lasting += map(asyncio.ensure_future, parts)
            parts = [
                *(reader.be_moody(MOOD_SECONDS) for reader in readers),
                *self.load.churning(),
                *(ping.run() for ping in self.pings),
                *(self.visitors.keep_coming() for _ in range(self.plan.visitors)),
                self.cutter.run(),
            ]
            restless += map(asyncio.ensure_future, parts)
            await self._watch([*lasting, *restless])
            await end_tasks(restless)
            await self._settle()
        finally:
            await end_tasks([*restless, *lasting])

    async def _watch(self, tasks: list[asyncio.Future[None]]) -> None:
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
        self.load.stop_sending()
        await asyncio.to_thread(self.mesh.wait)
        async with asyncio.timeout(AGREEMENT_SECONDS):
            await self.load.settle(self.urls, RETAINED_SECONDS)

    def _trends(self) -> list[Trend]:
        begin = warm_up(self.seconds)
        ordered = sorted(self.samples.items(), key=lambda item: (item[0][1].name, item[0][0]))
        found = [trend(subject, measure, values, begin) for (subject, measure), values in ordered]
        return [one for one in found if one is not None]
