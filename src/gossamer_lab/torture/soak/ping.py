"""How long a message takes through a loaded mesh, measured by clients that do nothing else."""

import asyncio
import time
from contextlib import suppress
from typing import Final

from gossamer.net.client import Client
from gossamer_lab.torture.soak.trends import Measure

# Machines are shared, and cut links make those wait whose way led over them.
MEDIAN: Final = Measure("latency, median", "ms", 10.0, 1.0)
SLOWEST: Final = Measure("latency, 99 %", "ms", 250.0, 1.0)

_PAUSE_SECONDS: Final = 0.05
_PATIENCE_SECONDS: Final = 60.0


class Ping:
    """From a client of one broker to a client of another, or of the same one, one at a time."""

    def __init__(self, name: str, sender: str, receiver: str) -> None:
        self.name = name
        self._sender = sender
        self._receiver = receiver
        self._topic = f"ping/{name}"
        self._taken: list[float] = []

    async def run(self) -> None:
        """Until it is cancelled; a connection that is lost is made again."""
        while True:
            with suppress(OSError, TimeoutError):
                async with Client(self._sender) as sender, Client(self._receiver) as receiver:
                    await receiver.subscribe(self._topic, qos=1)
                    await self._ping(sender, receiver)
            await asyncio.sleep(_PAUSE_SECONDS)

    async def _ping(self, sender: Client, receiver: Client) -> None:
        incoming_sessions = receiver.messages()
        number = 0
        while True:
            number += 1
            sent = time.perf_counter()
            await sender.publish(self._topic, b"%d" % number, qos=1)
            async with asyncio.timeout(_PATIENCE_SECONDS):
                async for message in incoming_sessions:
                    if int(message.payload) == number:
                        break
            self._taken.append(time.perf_counter() - sent)
            await asyncio.sleep(_PAUSE_SECONDS)

    def measured(self) -> dict[Measure, float]:
        """Since the last call; empty if nothing arrived."""
        taken, self._taken = sorted(self._taken), []
        if not taken:
            return {}
        return {
            MEDIAN: 1000 * taken[len(taken) // 2],
            SLOWEST: 1000 * taken[min(len(taken) - 1, int(0.99 * len(taken)))],
        }
