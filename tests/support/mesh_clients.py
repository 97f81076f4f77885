"""Clients of real meshes: one that collects what it gets, and patience for what takes time."""

import asyncio
import time
from collections import Counter
from collections.abc import Callable

from gossamer.net.client import Client
from gossamer.wire.properties import Properties

PATIENCE = 30.0
NEVER = 0xFFFFFFFF


def lasting() -> Properties:
    properties = Properties()
    properties.session_expiry = NEVER
    return properties


def client(port: int, name: str, clean: bool = True) -> Client:
    """With a session that outlives its connection."""
    url = f"mqtt://127.0.0.1:{port}"
    return Client(url, name, clean_start=clean, properties=lasting())


class Reader:
    """Keeps every payload that arrives, in order."""

    def __init__(self, source: Client) -> None:
        self.payloads: list[str] = []
        self._source = source
        self._task = asyncio.ensure_future(self._collect())

    async def _collect(self) -> None:
        async for message in self._source.messages():
            self.payloads.append(message.payload.decode())

    async def until(self, wanted: set[str]) -> None:
        """Waits until each of these has arrived."""

        def missing() -> set[str]:
            return wanted - set(self.payloads)

        deadline = time.monotonic() + PATIENCE
        while missing():
            assert not self._task.done(), "the reader lost its connection"
            assert time.monotonic() < deadline, f"did not arrive: {sorted(missing())[:5]}"
            await asyncio.sleep(0.02)

    def repeated(self) -> list[str]:
        return [payload for payload, count in Counter(self.payloads).items() if count > 1]

    async def close(self) -> None:
        await self._source.disconnect()
        await self._task


async def eventually(question: Callable[[], bool]) -> None:
    """Asks in a thread of its own, so that the event loop goes on."""
    deadline = time.monotonic() + PATIENCE
    while not await asyncio.to_thread(question):
        assert time.monotonic() < deadline, "it did not become true in time"
        await asyncio.sleep(0.05)
