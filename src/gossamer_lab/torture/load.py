"""The load of a run: clients whose messages are in the ledger, and state that changes beside them.

A broker that is killed and a mesh that is soaked are under the same load; at its end everything
must find its way.
"""

import asyncio
from collections.abc import Coroutine, Iterable, Sequence
from random import Random
from typing import Any

from gossamer.net.client import Client
from gossamer.net.local.broker import LocalBroker
from gossamer_lab.torture.churn import ChurningSession, RetainedTopic, verify_retained
from gossamer_lab.torture.clients import READY, TorturePublisher, TortureSubscriber
from gossamer_lab.torture.ledger import DeliveryLedger


class TortureLoad:
    """Readers and streams are at a port, sessions and retained topics at a URL, each with a name;
    a stream has its QoS too. `rate` is that of a stream, 0 for as much as its window takes."""

    def __init__(
        self,
        ledger: DeliveryLedger,
        random: Random,
        readers: Iterable[tuple[int, str]],
        streams: Iterable[tuple[int, str, int]],
        sessions: Iterable[tuple[str, str]],
        topics: Iterable[tuple[str, str]],
        rate: float = 0.0,
    ) -> None:
        def seed() -> int:
            return random.getrandbits(32)

        self.ledger = ledger
        self.readers = [TortureSubscriber(port, name, ledger, seed()) for port, name in readers]
        self.publishers = [
            TorturePublisher(port, name, qos, ledger, seed(), rate) for port, name, qos in streams
        ]
        self.sessions = [ChurningSession(url, name, ledger, seed()) for url, name in sessions]
        self.topics = [RetainedTopic(url, name, ledger, seed()) for url, name in topics]

    def publishing(self) -> list[Coroutine[Any, Any, None]]:
        """Until `stop_sending`, and after it until everything is acknowledged."""
        return [
            part
            for publisher in self.publishers
            for part in (publisher.link.run(), publisher.send())
        ]

    def churning(self) -> list[Coroutine[Any, Any, None]]:
        """Until they are cancelled."""
        return [
            *(session.churn() for session in self.sessions),
            *(topic.keep_writing() for topic in self.topics),
        ]

    def stop_sending(self) -> None:
        for publisher in self.publishers:
            publisher.stop_sending()

    async def settle(self, urls: Sequence[str], retained_seconds: float = 0.0) -> None:
        """When nothing churns any more: waits until all has arrived, and looks at what is kept.
        How long that may take is for the caller to say."""
        self.stop_sending()
        while self.ledger.backlog > 0 or not all(one.finished for one in self.publishers):
            await asyncio.sleep(0.05)
        for session in self.sessions:
            await session.verify()
        for url in urls:
            await verify_retained(url, self.topics, retained_seconds)


async def meet(readers: Sequence[TortureSubscriber], brokers: Sequence[LocalBroker]) -> None:
    """Until what is published at any broker reaches every reader: from then on all must."""
    everywhere = {broker.name for broker in brokers}
    while any(reader.reached_from != everywhere for reader in readers):
        for broker in brokers:
            async with Client(f"mqtt://127.0.0.1:{broker.port}") as client:
                await client.publish(READY + broker.name, b"", qos=1)
        await asyncio.sleep(0.2)


async def end_tasks(tasks: Sequence[asyncio.Future[None]]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
