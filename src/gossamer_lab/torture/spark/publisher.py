"""A publisher at QoS 1 that lets go what was not acknowledged: no message is sent twice."""

import asyncio
from typing import Final

from gossamer.net.client import Client, Disconnected, Refused

TOPIC: Final = "load"
# On their way together, and the pause between: what a busy machine keeps up with.
WINDOW: Final = 20
PAUSE_SECONDS: Final = 0.2
RETRY_SECONDS: Final = 0.05


class ArchivePublisher:
    """Numbers its messages; `acknowledged` are those that the broker took."""

    def __init__(self, url: str, name: str) -> None:
        self._url = url
        self._name = name
        self._stopping = False
        self.sent = 0
        self.acknowledged: set[bytes] = set()

    async def run(self) -> None:
        """Until `stop`, over any number of connections."""
        while not self._stopping:
            try:
                async with Client(self._url, self._name) as client:
                    while not self._stopping:
                        await self._send_window(client)
                        await asyncio.sleep(PAUSE_SECONDS)
            except (Disconnected, Refused, OSError, TimeoutError):
                await asyncio.sleep(RETRY_SECONDS)

    def stop(self) -> None:
        self._stopping = True

    def has_sent(self, payload: bytes) -> bool:
        name, _, number = payload.decode().rpartition(":")
        return name == self._name and int(number) < self.sent

    async def _send_window(self, client: Client) -> None:
        payloads = [f"{self._name}:{self.sent + at}".encode() for at in range(WINDOW)]
        self.sent += WINDOW
        topics = [f"{TOPIC}/{self._name}/{at}" for at in range(WINDOW)]
        pairs = zip(topics, payloads, strict=True)
        answers = await asyncio.gather(
            *(client.publish(topic, payload, 1) for topic, payload in pairs), return_exceptions=True
        )
        for payload, answer in zip(payloads, answers, strict=True):
            if not isinstance(answer, BaseException):
                self.acknowledged.add(payload)
        for answer in answers:
            if isinstance(answer, BaseException):
                raise answer
