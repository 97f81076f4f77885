"""A stream into files while the driver, executors and the broker are killed at random: every row
of the archive must be in the files, once."""

import asyncio
import random
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow.parquet as pq

from gossamer.archive.client import Address, Credentials, describe
from gossamer.net.client import Client, Disconnected, Refused
from gossamer.net.local.ports import free_port
from gossamer_lab.torture.processes import BrokerDied, BrokerProcess, Program, kill
from gossamer_lab.torture.spark import query
from gossamer_lab.torture.spark.cluster import Cluster, ClusterDied

DRIVER: Final = "driver"
EXECUTOR: Final = "executor"
PYTHON_WORKER: Final = "Python worker"
BROKER: Final = "broker"
VICTIMS: Final = (DRIVER, EXECUTOR, PYTHON_WORKER, BROKER)

PUBLISHERS: Final = 2
# A kill comes so long after a batch that was finished since the last one.
LONGEST_WAIT_SECONDS: Final = 1.5
# For a batch after a kill: Java starts, tasks fail and are repeated.
PROGRESS_SECONDS: Final = 600.0
_POLL_SECONDS: Final = 0.05
TOPIC: Final = "load"
# On their way together, and the pause between: what a busy machine keeps up with.
WINDOW: Final = 20
PAUSE_SECONDS: Final = 0.2
RETRY_SECONDS: Final = 0.05

# A broker that archives, and seals often.
_CONFIGURATION: Final = """\
[[listener]]
port = {port}

[store]
folder = "data"

[archive]
name = "tortured"
replay_port = {replay}
segment_size = "64 KiB"
"""

Row = tuple[int, bytes]  # offset and payload


@dataclass(frozen=True)
class QueryOutcome:
    kills: dict[str, int]
    restarts: int  # of a driver that gave up by itself
    acknowledged: int
    rows: int
    seconds: float
    faults: list[str]


class ArchivePublisher:
    """Publishes at QoS 1 and numbers its messages; `acknowledged` are those that the broker took.
    What was not acknowledged it lets go: no message is sent twice."""

    def __init__(self, url: str, name: str) -> None:
        self._url = url
        self._name = name
        self._stopping = False
        self.sent = 0
        self.acknowledged: set[bytes] = set()

    async def run(self) -> None:
        """Until `stop`, over any number of connections."""
        while not self._stopping:
            try:
                async with Client(self._url, self._name) as client:
                    while not self._stopping:
                        await self._send_window(client)
                        await asyncio.sleep(PAUSE_SECONDS)
            except (Disconnected, Refused, OSError, TimeoutError):
                await asyncio.sleep(RETRY_SECONDS)

    def stop(self) -> None:
        self._stopping = True

    def has_sent(self, payload: bytes) -> bool:
        name, _, number = payload.decode().rpartition(":")
        return name == self._name and int(number) < self.sent

    async def _send_window(self, client: Client) -> None:
        payloads = [f"{self._name}:{self.sent + at}".encode() for at in range(WINDOW)]
        self.sent += WINDOW
        topics = [f"{TOPIC}/{self._name}/{at}" for at in range(WINDOW)]
        pairs = zip(topics, payloads, strict=True)
        answers = await asyncio.gather(
            *(client.publish(topic, payload, 1) for topic, payload in pairs), return_exceptions=True
        )
        for payload, answer in zip(payloads, answers, strict=True):
            if not isinstance(answer, BaseException):
                self.acknowledged.add(payload)
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer


def wrong_rows(
    rows: Iterable[Row], archived: int, publishers: Sequence[ArchivePublisher]
) -> list[str]:
    """Every broken promise: each acknowledged message must be there, and each row once. `archived`
    is how many rows the archive has."""
    offsets: Counter[int] = Counter()
    payloads: Counter[bytes] = Counter()
    for offset, payload in rows:
        offsets[offset] += 1
        payloads[payload] += 1
    found = [f"offset {offset} is there {n} times" for offset, n in offsets.items() if n > 1]
    found += [f"{payload!r} is there {n} times" for payload, n in payloads.items() if n > 1]
    missing = [offset for offset in range(archived) if offset not in offsets]
    if missing:
        found.append(f"{len(missing)} rows of the archive are missing, the first is {missing[0]}")
    for publisher in publishers:
        lost = publisher.acknowledged - payloads.keys()
        if lost:
            found.append(f"{len(lost)} acknowledged messages are missing, such as {min(lost)!r}")
    strangers = [one for one in payloads if not any(known.has_sent(one) for known in publishers)]
    found += [f"{payload!r} was never published" for payload in strangers]
    return found


async def torture(
    kills: int, seed: int, folder: Path, killed: Callable[[str], None]
) -> QueryOutcome:
    """`killed` hears who was killed."""
    return await _QueryRun(seed, folder, killed).outcome(kills)


class _QueryRun:
    def __init__(self, seed: int, folder: Path, killed: Callable[[str], None]) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.folder = folder
        self.killed = killed
        self.random = random.Random(seed)
        self.kills = dict.fromkeys(VICTIMS, 0)
        self.restarts = 0
        self.replay_port = free_port()
        self.broker = BrokerProcess(folder, configuration=_CONFIGURATION, replay=self.replay_port)
        self.cluster = Cluster(folder)
        self.publishers = [
            ArchivePublisher(self.broker.url, f"publisher-{number}") for number in range(PUBLISHERS)
        ]
        self.driver: Program | None = None

    async def outcome(self, kills: int) -> QueryOutcome:
        began = time.monotonic()
        faults: list[str] = []
        rows: list[Row] = []
        try:
            await self._start()
            async with asyncio.TaskGroup() as tasks:
                for publisher in self.publishers:
                    tasks.create_task(publisher.run())
                try:
                    for victim in self._victims(kills):
                        await self._strike(victim)
                finally:
                    for publisher in self.publishers:
                        publisher.stop()
            rows, archived = await self._finish()
            faults = wrong_rows(rows, archived, self.publishers)
        except* (BrokerDied, ClusterDied) as problems:
            faults += map(str, problems.exceptions)
        finally:
            await asyncio.to_thread(self._stop)
            await self.broker.stop()
        return QueryOutcome(
            self.kills,
            self.restarts,
            sum(len(publisher.acknowledged) for publisher in self.publishers),
            len(rows),
            time.monotonic() - began,
            faults,
        )

    async def _start(self) -> None:
        await self.broker.start()
        await asyncio.to_thread(self.cluster.start)
        self.driver = self._query(query.FOLLOW)
        self.driver.start()

    def _victims(self, kills: int) -> list[str]:
        """In rounds, each with everybody once."""
        found: list[str] = []
        while len(found) < kills:
            found += self.random.sample(VICTIMS, len(VICTIMS))
        return found[:kills]

    async def _strike(self, victim: str) -> None:
        await self._progress()
        await asyncio.sleep(self.random.uniform(0.0, LONGEST_WAIT_SECONDS))
        strikes: dict[str, Callable[[], Awaitable[None]]] = {
            DRIVER: self._kill_driver,
            EXECUTOR: lambda: self._kill_one(self.cluster.executors),
            PYTHON_WORKER: lambda: self._kill_one(self.cluster.python_workers),
            BROKER: self._kill_broker,
        }
        await strikes[victim]()
        self.kills[victim] += 1
        self.killed(victim)

    async def _kill_driver(self) -> None:
        assert self.driver is not None
        await asyncio.to_thread(self.driver.kill)
        self.driver.start()

    async def _kill_broker(self) -> None:
        await self.broker.kill()
        await self.broker.start()

    async def _kill_one(self, find: Callable[[], list[int]]) -> None:
        deadline = time.monotonic() + PROGRESS_SECONDS
        while not (found := find()):
            if time.monotonic() > deadline:
                raise ClusterDied("Spark runs no tasks any more")
            self._revive_driver()
            await asyncio.sleep(_POLL_SECONDS)
        kill(self.random.choice(found))

    async def _progress(self) -> None:
        """Waits until a batch more than now is finished."""
        before = self._batches()
        deadline = time.monotonic() + PROGRESS_SECONDS
        while self._batches() <= before:
            if time.monotonic() > deadline:
                assert self.driver is not None
                raise ClusterDied(f"no batch was finished: {self.driver.last_words()}")
            self._revive_driver()
            await asyncio.sleep(_POLL_SECONDS)

    def _revive_driver(self) -> None:
        """A task may have failed too often: then the query ends, and is started again."""
        assert self.driver is not None
        if self.driver.exit_code is not None:
            self.restarts += 1
            self.driver.start()

    def _batches(self) -> int:
        """The number of the last one that is finished; -1 for none."""
        commits = self.folder / query.CHECKPOINT / "commits"
        numbers = [int(file.name) for file in commits.glob("*") if file.name.isdigit()]
        return max(numbers, default=-1)

    async def _finish(self) -> tuple[list[Row], int]:
        """What the files hold, and how many rows the archive has."""
        assert self.driver is not None
        await asyncio.to_thread(self.driver.kill)
        self.driver = self._query(query.FINISH)
        self.driver.start()
        deadline = time.monotonic() + PROGRESS_SECONDS
        while (code := self.driver.exit_code) is None and time.monotonic() < deadline:
            await asyncio.sleep(_POLL_SECONDS)
        if code != 0:
            raise ClusterDied(f"the last query did not end well: {self.driver.last_words()}")
        table = pq.read_table(self.folder / query.FOUND)
        rows = list(
            zip(
                table.column("offset").to_pylist(), table.column("payload").to_pylist(), strict=True
            )
        )
        address = Address("127.0.0.1", self.replay_port)
        told = await asyncio.to_thread(describe, address, Credentials())
        return rows, int(told["next"])

    def _query(self, mode: str) -> Program:
        replay = f"127.0.0.1:{self.replay_port}"
        command = [sys.executable, "-m", query.__name__, mode, self.cluster.url, replay]
        log = self.folder / f"{mode}.log"
        return Program([*command, str(self.folder)], log, self.cluster.environment)

    def _stop(self) -> None:
        if self.driver is not None and self.driver.exit_code is None:
            self.driver.kill()
        self.cluster.stop()
