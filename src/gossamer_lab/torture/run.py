"""One run: traffic, kills at random moments, restarts, and the final settling of the books."""

import asyncio
import random
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from gossamer.storage.files import FILE_NAME
from gossamer.storage.repair import check
from gossamer_lab.torture import retained
from gossamer_lab.torture.ledger import DeliveryLedger
from gossamer_lab.torture.process import BrokerDied, BrokerProcess
from gossamer_lab.torture.retained import RetainedTopic
from gossamer_lab.torture.sessions import ChurningSession
from gossamer_lab.torture.traffic import TorturePublisher, TortureSubscriber

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
        chance = random.Random(plan.seed)
        names = [f"subscriber-{number}" for number in range(plan.subscribers)]
        self.plan = plan
        self.killed = killed
        self.random = random.Random(chance.random())
        self.broker = BrokerProcess(folder, plan.sync)
        self.store = folder / FILE_NAME
        self.ledger = DeliveryLedger(names)
        port, url = self.broker.port, self.broker.url
        self.subscribers = [
            TortureSubscriber(port, name, self.ledger, chance.getrandbits(32)) for name in names
        ]
        self.publishers = [
            TorturePublisher(port, f"q{qos}s{number}", qos, self.ledger, chance.getrandbits(32))
            for number in range(plan.streams)
            for qos in (1, 2)
        ]
        self.sessions = [
            ChurningSession(url, f"churn-{number}", self.ledger, chance.getrandbits(32))
            for number in range(plan.sessions)
        ]
        self.topics = [
            RetainedTopic(url, str(number), self.ledger, chance.getrandbits(32))
            for number in range(plan.topics)
        ]

    async def outcome(self) -> KillOutcome:
        started = time.monotonic()
        async with asyncio.TaskGroup() as tasks:
            lasting: list[asyncio.Task[None]] = []
            try:
                await self._scenario(lambda coroutine: _start(tasks, lasting, coroutine))
            except (BrokerDied, TimeoutError) as error:
                self.ledger.fault(str(error) or "the messages did not settle in time")
            for task in lasting:
                task.cancel()
        await self._last_look()
        return KillOutcome(
            self.ledger.kills,
            self.ledger.all_acknowledged,
            self.ledger.received,
            self.ledger.repeated,
            time.monotonic() - started,
            self.ledger.faults,
        )

    async def _scenario(self, start: Callable[[Coroutine[Any, Any, None]], None]) -> None:
        await self.broker.start()
        for subscriber in self.subscribers:
            start(subscriber.link.run())
            await subscriber.ready.wait()
            start(subscriber.be_moody())
        restless = [
            *(asyncio.ensure_future(session.churn()) for session in self.sessions),
            *(asyncio.ensure_future(topic.keep_writing()) for topic in self.topics),
        ]
        for publisher in self.publishers:
            start(publisher.link.run())
            start(publisher.send())
        try:
            for number in range(self.plan.kills):
                await self._kill_and_restart()
                self.killed(number + 1)
        finally:
            for task in restless:
                task.cancel()
            await asyncio.gather(*restless, return_exceptions=True)
        await self._settle()

    async def _kill_and_restart(self) -> None:
        await asyncio.sleep(self.random.uniform(_SHORTEST_LIFE, _LONGEST_LIFE))
        await self.broker.kill()
        self.ledger.kills += 1
        await self.broker.start()

    async def _settle(self) -> None:
        """No more traffic and no more kills: everything must find its end."""
        for publisher in self.publishers:
            publisher.stop_sending()
        async with asyncio.timeout(_AGREEMENT_SECONDS):
            while self.ledger.backlog or not all(one.finished for one in self.publishers):
                await asyncio.sleep(0.05)
            await retained.verify(self.broker.url, self.topics)
            for session in self.sessions:
                await session.verify()

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


def _start(
    tasks: asyncio.TaskGroup,
    lasting: list[asyncio.Task[None]],
    coroutine: Coroutine[Any, Any, None],
) -> None:
    lasting.append(tasks.create_task(coroutine))
