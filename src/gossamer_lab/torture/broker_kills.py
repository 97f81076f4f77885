"""A broker under load that is killed at random moments: it must keep every promise it made."""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Final

from gossamer.storage.files import FILE_NAME
from gossamer.storage.repair import check
from gossamer_lab.torture.ledger import DeliveryLedger
from gossamer_lab.torture.load import TortureLoad, end_tasks
from gossamer_lab.torture.processes import BrokerDied, BrokerProcess

# How long the broker lives between two kills, in seconds.
_SHORTEST_LIFE: Final = 0.02
_LONGEST_LIFE: Final = 0.8

# After the last restart everything must arrive; a broker that takes longer has lost it.
_AGREEMENT_SECONDS: Final = 120.0


@dataclass(frozen=True)
class KillPlan:
    kills: int = 200
    seed: int = 1
    sync: str = "full"
    streams: int = 2  # at QoS 1, and as many at QoS 2
    subscribers: int = 3
    sessions: int = 4
    topics: int = 4


@dataclass(frozen=True)
class KillOutcome:
    kills: int
    acknowledged: int
    received: int
    repeated: int
    seconds: float
    faults: list[str]


async def torture(plan: KillPlan, folder: Path, killed: Callable[[int], None]) -> KillOutcome:
    """Run the plan on a store in `folder`; `killed` hears the number of each kill."""
    return await _KillRun(plan, folder, killed).outcome()


class _KillRun:
    def __init__(self, plan: KillPlan, folder: Path, killed: Callable[[int], None]) -> None:
        chance = Random(plan.seed)
        names = [f"subscriber-{number}" for number in range(plan.subscribers)]
        self.plan = plan
        self.killed = killed
        self.random = Random(chance.random())
        self.broker = BrokerProcess(folder, plan.sync)
        self.store = folder / FILE_NAME
        self.ledger = DeliveryLedger(names)
        port, url = self.broker.port, self.broker.url
        self.load = TortureLoad(
            self.ledger,
            chance,
            readers=[(port, name) for name in names],
            streams=[(port, f"q{qos}s{n}", qos) for n in range(plan.streams) for qos in (1, 2)],
            sessions=[(url, f"churn-{number}") for number in range(plan.sessions)],
            topics=[(url, str(number)) for number in range(plan.topics)],
        )

    async def outcome(self) -> KillOutcome:
        started = time.monotonic()
        try:
            async with asyncio.TaskGroup() as tasks:
                await self._scenario(tasks)
        except* (BrokerDied, TimeoutError) as problems:
            for problem in problems.exceptions:
                self.ledger.fault(str(problem) or "the messages did not settle in time")
        await self._last_look()
        return KillOutcome(
            self.ledger.kills,
            self.ledger.all_acknowledged,
            self.ledger.received,
            self.ledger.repeated,
            time.monotonic() - started,
            self.ledger.faults,
        )

    async def _scenario(self, tasks: asyncio.TaskGroup) -> None:
        await self.broker.start()
        lasting: list[asyncio.Task[None]] = []
        for reader in self.load.readers:
            lasting.append(tasks.create_task(reader.link.run()))
            await reader.ready.wait()
            lasting.append(tasks.create_task(reader.be_moody()))
        churning = [asyncio.ensure_future(part) for part in self.load.churning()]
        lasting += [tasks.create_task(part) for part in self.load.publishing()]
        try:
            for number in range(self.plan.kills):
                await self._kill_and_restart()
                self.killed(number + 1)
        finally:
            await end_tasks(churning)
        async with asyncio.timeout(_AGREEMENT_SECONDS):
            await self.load.settle([self.broker.url])
        for task in lasting:
            task.cancel()

    async def _kill_and_restart(self) -> None:
        await asyncio.sleep(self.random.uniform(_SHORTEST_LIFE, _LONGEST_LIFE))
        await self.broker.kill()
        self.ledger.kills += 1
        await self.broker.start()

    async def _last_look(self) -> None:
        """The books are closed, and the store must be whole and hold nothing more to deliver."""
        self.ledger.close()
        try:
            await self.broker.stop()
        except BrokerDied as error:
            self.ledger.fault(str(error))
            return
        report = check(self.store)
        self.ledger.faults.extend(report.problems)
        if not self.ledger.faults and report.contents.deliveries:
            self.ledger.fault(f"{report.contents.deliveries} deliveries are left in the store")
