"""A subscription and publications that somebody tries out in a page, with a client of its own."""

import asyncio
import time
from collections import deque
from contextlib import suppress
from typing import Final

from gossamer.console.settings import WatchedBroker
from gossamer.console.topic_model import SeenTopic
from gossamer.console.watcher import BATCH, client_of, seen_of
from gossamer.net.client import Client, Disconnected, Refused
from gossamer.wire.properties import Properties
from gossamer.wire.reasons import UNSPECIFIED_ERROR

RESULTS: Final = 100  # kept of a subscription


class TryOut:
    """At most one subscription at a time; its last results are kept."""

    def __init__(self) -> None:
        self.results: deque[SeenTopic] = deque(maxlen=RESULTS)
        self.count = 0
        self.filter = ""  # while it is subscribed
        self.trouble = ""
        self._client: Client | None = None
        self._task: asyncio.Task[None] | None = None

    async def subscribe(
        self, address: WatchedBroker, filter: str, user: list[tuple[str, str]], qos: int = 0
    ) -> bool:
        """Whether the broker takes it; else `trouble` has its words."""
        await self.stop()
        self.results.clear()
        self.count = 0
        self.trouble = ""
        properties = Properties()
        properties.user = user
        client = client_of(address)
        try:
            await client.connect()
            reasons = await client.subscribe(filter, qos=qos, properties=properties)
        except (OSError, Disconnected, Refused) as error:
            self.trouble = str(error) or "no connection"
            return False
        if reasons[0] >= UNSPECIFIED_ERROR:
            self.trouble = client.reason_string or f"refused with 0x{reasons[0]:02x}"
            await client.disconnect()
            return False
        self.filter = filter
        self._client = client
        self._task = asyncio.create_task(self._read(client))
        return True

    async def stop(self) -> None:
        self.filter = ""
        if self._client is not None:
            await self._client.disconnect()
        if self._task is not None:
            with suppress(asyncio.CancelledError):
                await self._task
        self._client = self._task = None

    async def _read(self, client: Client) -> None:
        try:
            async for packet in client.messages():
                self.results.append(seen_of(packet, time.time()))
                self.count += 1
                if self.count % BATCH == 0:
                    await asyncio.sleep(0)
        except Disconnected as error:
            self.trouble = str(error) or "connection lost"
            self.filter = ""


async def publish(
    address: WatchedBroker,
    topic: str,
    payload: str,
    qos: int,
    retain: bool,
    user: list[tuple[str, str]],
) -> str:
    """Sends one message; the trouble in a line, empty if there was none."""
    properties = Properties()
    properties.user = user
    try:
        async with client_of(address) as client:
            await client.publish(topic, payload, qos, retain, properties)
    except (OSError, Disconnected, Refused, ValueError) as error:
        return str(error) or "no connection"
    return ""
