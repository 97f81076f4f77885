"""What a broker's clients publish, seen by a subscription of the console's own.

It subscribes only while somebody looks at a page that needs it (in a mesh, a subscription to
everything draws everything here), at QoS 0: what the console is too slow for, the broker drops
for it alone.
"""

import asyncio
import secrets
import time
from collections.abc import Callable
from typing import Final

from gossamer.backoff import Backoff
from gossamer.console.map_model import Tracks
from gossamer.console.settings import WatchedBroker
from gossamer.console.topic_model import SeenTopic, TopicModel
from gossamer.net.client import Client, Disconnected, Refused
from gossamer.wire.packets import Publish
from gossamer.wire.reasons import UNSPECIFIED_ERROR

EVERYTHING: Final = "#"
BROKERS_OWN: Final = "$SYS/#"  # which # does not match
IDLE_SECONDS: Final = 60.0  # it goes on for so long after the last look
FIRST_PAUSE: Final = 0.5  # seconds, before it connects again
LONGEST_PAUSE: Final = 5.0
BATCH: Final = 256  # messages between two turns for the pages


def seen_of(packet: Publish, now: float) -> SeenTopic:
    properties = packet.properties
    if properties is None:
        return SeenTopic(packet.topic, packet.payload, packet.qos, packet.retain, now)
    return SeenTopic(
        packet.topic,
        packet.payload,
        packet.qos,
        packet.retain,
        now,
        properties.content_type or "",
        tuple(properties.user),
    )


def client_of(address: WatchedBroker) -> Client:
    """A client of the console's at this broker, under a name that lists of sessions tell."""
    client_id = f"console-{secrets.token_hex(4)}"
    password = None if address.password is None else address.password.encode()
    return Client(address.mqtt_url, client_id, username=address.username, password=password)


class Watcher:
    """One broker's topics and tracks. `look` starts it, and not looking stops it."""

    def __init__(self, address: WatchedBroker) -> None:
        self.model = TopicModel()
        self.tracks = Tracks()
        self.messages = 0
        self.trouble = ""
        self.filter = EVERYTHING
        self._address = address
        self._client: Client | None = None
        self._looked_at = 0.0
        self._tries = Backoff(FIRST_PAUSE, LONGEST_PAUSE)
        self._task: asyncio.Task[None] | None = None
        self._observers: tuple[Callable[[SeenTopic], None], ...] = (self.model.add, self.tracks.add)

    def look(self) -> None:
        """Somebody is looking now."""
        self._looked_at = time.monotonic()
        if self._task is None or self._task.done():
            self._task = asyncio.create_task(self._watch())

    async def watch(self, filter: str) -> None:
        """Looks at these topics from now on, for all pages, and forgets what was seen."""
        self.filter = filter
        self.model = TopicModel()
        self.tracks = Tracks()
        self._observers = (self.model.add, self.tracks.add)
        self.messages = 0
        if self._client is not None:
            await self._client.disconnect()  # and it comes back with the new filter

    def stop(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def _is_idle(self) -> bool:
        return time.monotonic() - self._looked_at > IDLE_SECONDS

    async def _watch(self) -> None:
        while not self._is_idle():
            try:
                await self._read()
            except (OSError, Disconnected, Refused) as error:
                self.trouble = str(error) or "no connection"
                await asyncio.sleep(self._tries.pause())

    async def _read(self) -> None:
        client = client_of(self._address)
        await client.connect()
        keeper = asyncio.create_task(self._end_when_idle(client))
        self._client = client
        try:
            reasons = await client.subscribe(self.filter, BROKERS_OWN)
            self._tries.reset()
            refused = reasons[0] >= UNSPECIFIED_ERROR
            self.trouble = f"{self.filter} was refused" if refused else ""
            async for packet in client.messages():
                self._note(packet)
                if self.messages % BATCH == 0:
                    await asyncio.sleep(0)
        finally:
            self._client = None
            keeper.cancel()
            await client.disconnect()

    async def _end_when_idle(self, client: Client) -> None:
        while not self._is_idle():
            await asyncio.sleep(1.0)
        await client.disconnect()

    def _note(self, packet: Publish) -> None:
        seen = seen_of(packet, time.time())
        self.messages += 1
        for observe in self._observers:
            observe(seen)
