"""One run: a stream into files while the driver, executors and the broker are killed at random."""

import asyncio
import random
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pyarrow.parquet as pq

from gossamer.archive.client import Address, Credentials, describe
from gossamer_lab.torture.process import BrokerDied
from gossamer_lab.torture.spark import faults as judging
from gossamer_lab.torture.spark import query
from gossamer_lab.torture.spark.broker import ArchivingBroker
from gossamer_lab.torture.spark.cluster import Cluster, ClusterDied
from gossamer_lab.torture.spark.programs import Program, kill
from gossamer_lab.torture.spark.publisher import ArchivePublisher

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


@dataclass(frozen=True)
class QueryOutcome:
    kills: dict[str, int]
    restarts: int  # of a driver that gave up by itself
    acknowledged: int
    rows: int
    seconds: float
    faults: list[str]


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
        self.broker = ArchivingBroker(folder)
        self.cluster = Cluster(folder)
        self.publishers = [
            ArchivePublisher(self.broker.url, f"publisher-{number}") for number in range(PUBLISHERS)
        ]
        self.driver: Program | None = None

    async def outcome(self, kills: int) -> QueryOutcome:
        began = time.monotonic()
        faults: list[str] = []
        rows: list[judging.Row] = []
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
            faults = judging.faults(rows, archived, self.publishers)
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

    async def _finish(self) -> tuple[list[judging.Row], int]:
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
        address = Address("127.0.0.1", self.broker.replay_port)
        told = await asyncio.to_thread(describe, address, Credentials())
        return rows, int(told["next"])

    def _query(self, mode: str) -> Program:
        replay = f"127.0.0.1:{self.broker.replay_port}"
        command = [sys.executable, "-m", query.__name__, mode, self.cluster.url, replay]
        log = self.folder / f"{mode}.log"
        return Program([*command, str(self.folder)], log, self.cluster.environment)

    def _stop(self) -> None:
        if self.driver is not None and self.driver.exit_code is None:
            self.driver.kill()
        self.cluster.stop()
