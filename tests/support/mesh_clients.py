"""Clients of real meshes: one that collects what it gets."""

import asyncio
from collections import Counter

from gossamer.net.client import Client
from gossamer.wire.properties import Properties
from tests.support.polling import soon

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

        def is_there() -> bool:
            assert not missing() or not self._task.done(), "the reader lost its connection"
            return not missing()

        await soon(is_there, lambda: f"did not arrive: {sorted(missing())[:5]}")

    def repeated(self) -> list[str]:
        return [payload for payload, count in Counter(self.payloads).items() if count > 1]

    async def close(self) -> None:
        await self._source.disconnect()
        await self._task
