"""Retained messages that are replaced and removed: none may vanish, come back or grow old."""

import asyncio
import random
import time
from typing import Final

from gossamer.net.client import Client
from gossamer_lab.torture.ledger import DeliveryLedger

_REMOVED: Final = 0
_FILTER: Final = "retained/#"


class RetainedTopic:
    """One topic with one writer; `possible` are the versions that may be retained now."""

    def __init__(self, url: str, name: str, ledger: DeliveryLedger, seed: int) -> None:
        self.topic = f"retained/{name}"
        self.possible: set[int] = {_REMOVED}
        self._url = url
        self._ledger = ledger
        self._random = random.Random(seed)
        self._version = 0

    async def keep_writing(self) -> None:
        while True:
            try:
                async with Client(self._url, keep_alive=0) as client:
                    while True:
                        await self._write(client)
                        await asyncio.sleep(self._random.random() * 0.02)
            except (OSError, TimeoutError):
                await asyncio.sleep(0.02)

    async def _write(self, client: Client) -> None:
        self._version += 1
        removes = self._random.random() < 0.2
        version = _REMOVED if removes else self._version
        payload = b"" if removes else b"%d" % version
        self.possible = self.possible | {version}
        await client.publish(self.topic, payload, qos=self._random.choice((1, 2)), retain=True)
        self.possible = {version}

    def check(self, found: int) -> None:
        if found not in self.possible:
            self._ledger.fault(
                f"{self.topic} retains version {found} instead of {sorted(self.possible)}"
            )


async def verify(url: str, topics: list[RetainedTopic], seconds: float = 0.0) -> None:
    """Read every retained message and hold it against what may be there; in a mesh news of the
    last ones may need some `seconds`."""
    deadline = time.monotonic() + seconds
    found = await _found(url)
    while time.monotonic() < deadline and not all(
        found.get(topic.topic, _REMOVED) in topic.possible for topic in topics
    ):
        await asyncio.sleep(0.1)
        found = await _found(url)
    for topic in topics:
        topic.check(found.get(topic.topic, _REMOVED))


async def _found(url: str) -> dict[str, int]:
    """The versions that are retained there, by topic."""
    found: dict[str, int] = {}
    async with Client(url) as client:
        await client.subscribe(_FILTER, qos=0)
        await client.unsubscribe("retained/nothing")  # answered after everything retained
        incoming_sessions = client.messages()
        try:
            async with asyncio.timeout(0.0):
                async for message in incoming_sessions:
                    found[message.topic] = int(message.payload)
        except TimeoutError:
            pass
    return found
