"""Everything the pages look at, and the task that keeps it fresh."""

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Final

from gossamer.console.broker_watch import BrokerWatch
from gossamer.console.lake import LakeFolder, View
from gossamer.console.mesh_graph import MeshGraph
from gossamer.console.settings import ConsoleSettings
from gossamer.console.sign_in import SignIns
from gossamer.console.watcher import Watcher

# Brokers are asked often while somebody looks, and seldom otherwise.
LOOKED_AT_SECONDS: Final = 1.0
ALONE_SECONDS: Final = 10.0
A_LOOK_LASTS: Final = 15.0
LAKE_PAUSES: Final = 4  # between two looks at a lake, for one between two at a broker
THREADS_A_BROKER: Final = 3  # one may hang on a broker that does not answer


class Console:
    """One for the process; pages are made for each browser."""

    def __init__(self, settings: ConsoleSettings) -> None:
        self.settings = settings
        self.sign_ins = SignIns(settings.token, settings.code)
        executor = ThreadPoolExecutor(THREADS_A_BROKER * len(settings.brokers), "console-asks")
        self.brokers = [
            BrokerWatch(number, address, executor)
            for number, address in enumerate(settings.brokers, 1)
        ]
        self.mesh = MeshGraph()
        self.lake = None if settings.lake is None else LakeFolder(settings.lake)
        self.lake_view: View | None = None
        self.watchers = [Watcher(address) for address in settings.brokers]
        self._looked_at = 0.0
        self._tasks: list[asyncio.Task[None]] = []

    def look(self) -> None:
        """Somebody has a page open."""
        self._looked_at = time.monotonic()

    async def start(self) -> None:
        self._tasks = [asyncio.create_task(self._follow(broker)) for broker in self.brokers]
        self._tasks.append(asyncio.create_task(self._join()))
        if self.lake is not None:
            self._tasks.append(asyncio.create_task(self._dip(self.lake)))

    async def stop(self) -> None:
        for task in self._tasks:
            task.cancel()
        for watcher in self.watchers:
            watcher.stop()

    async def _follow(self, broker: BrokerWatch) -> None:
        while True:
            asked_at = time.monotonic()
            await broker.look()
            while time.monotonic() - asked_at < self._pause():
                await asyncio.sleep(LOOKED_AT_SECONDS / 2)

    async def _join(self) -> None:
        """What single brokers say of their links makes one mesh."""
        while True:
            self.mesh.renew(self.brokers, time.time())
            await asyncio.sleep(LOOKED_AT_SECONDS)

    async def _dip(self, lake: LakeFolder) -> None:
        """Files are many and change slowly: they are looked at now and then."""
        while True:
            self.lake_view = await asyncio.to_thread(lake.look)
            await asyncio.sleep(LAKE_PAUSES * self._pause())

    def _pause(self) -> float:
        is_looked_at = time.monotonic() - self._looked_at < A_LOOK_LASTS
        return LOOKED_AT_SECONDS if is_looked_at else ALONE_SECONDS
