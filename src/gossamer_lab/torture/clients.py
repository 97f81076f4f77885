"""Clients of a run: publishers that never give up, and subscribers that go away now and then.

Each is one session over any number of connections, and comes back whenever the broker does.
"""

import asyncio
import random
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Final

from gossamer.client.protocol import ClientProtocol
from gossamer.wire.errors import ProtocolError
from gossamer.wire.packets import (
    Acknowledgement,
    Connack,
    Connect,
    Packet,
    Publish,
    Request,
    Suback,
)
from gossamer.wire.properties import Properties
from gossamer.wire.reasons import (
    PACKET_IDENTIFIER_NOT_FOUND,
    SERVER_BUSY,
    UNSPECIFIED_ERROR,
)
from gossamer_lab.torture.ledger import DeliveryLedger, MessageKey

NEVER: Final = 0xFFFFFFFF
_RETRY_SECONDS: Final = 0.02
_CHUNK: Final = 65_536

# Publications of one stream that may wait for their acknowledgement.
WINDOW: Final = 30

# Receipts that may be outstanding: far below the broker's limit for the queue of one session, so
# that no message is refused for want of room.
MOST_BACKLOG: Final = 8_000

PREFIX: Final = "load/"
FILTER: Final = PREFIX + "#"
# Publications that tell whether a way leads to a subscriber yet, and belong to no stream.
READY: Final = PREFIX + "ready/"
# On average, between two connections that a subscriber breaks off.
MOOD_SECONDS: Final = 1.0

# A PUBREL that is repeated because the broker died before its PUBCOMP went out is answered so.
ALREADY_RELEASED: Final = PACKET_IDENTIFIER_NOT_FOUND


def lasting(expiry: int = NEVER) -> Properties:
    """The properties of a CONNECT whose session outlives its connection."""
    properties = Properties()
    properties.session_expiry = expiry
    return properties


class TortureLink:
    """A session that lasts: once the broker has confirmed it, it must be there ever after."""

    def __init__(
        self, port: int, client_id: str, ledger: DeliveryLedger, seen: Callable[[Packet], None]
    ) -> None:
        connect = Connect(client_id, clean_start=False, properties=lasting())
        self.client_id = client_id
        self.protocol = ClientProtocol(connect)
        self._port = port
        self._ledger = ledger
        self._seen = seen
        self._confirmed = False
        self._writer: asyncio.StreamWriter | None = None
        self._stopping = False
        self.may_wait = False  # a broker may say that it is busy with this session
        self._reader: asyncio.StreamReader | None = None
        self._leaves_open = False
        self._left: asyncio.StreamWriter | None = None  # the connection that it left open

    async def run(self) -> None:
        """Stay connected until `stop`."""
        while not self._stopping:
            with suppress(OSError):
                await self._connect_once()
            self.protocol.lost()
            self._writer = None
            await asyncio.sleep(_RETRY_SECONDS)

    def flush(self) -> None:
        data = self.protocol.take()
        if data and self._writer is not None:
            self._writer.write(data)

    def drop(self) -> None:
        """Break the connection off, as a bad network does."""
        if self._writer is not None:
            self._writer.transport.abort()

    def move(self, port: int, leaves_open: bool) -> None:
        """To another broker. With `leaves_open` nobody tells the one where it was."""
        self._port = port
        self._leaves_open = leaves_open
        if self._reader is not None and self._writer is not None:
            transport = self._writer.transport
            assert isinstance(transport, asyncio.Transport)
            transport.pause_reading()  # a reader that has come to its end takes no more
            self._reader.feed_eof()

    def stop(self) -> None:
        self._stopping = True
        self.drop()

    async def _connect_once(self) -> None:
        reader, self._writer = await asyncio.open_connection("127.0.0.1", self._port)
        self._reader = reader
        try:
            self.protocol.open()
            self.flush()
            while data := await reader.read(_CHUNK):
                for packet in self.protocol.receive(data):
                    if isinstance(packet, Connack):
                        self._note_connack(packet)
                    self._seen(packet)
                self.flush()
        except ProtocolError as error:
            self._ledger.fault(f"{self.client_id} was sent something wrong: {error.text}")
        finally:
            self._reader = None
            self._leave(self._writer)

    def _leave(self, writer: asyncio.StreamWriter) -> None:
        if self._left is not None:
            self._left.transport.abort()
            self._left = None
        if self._leaves_open:
            self._leaves_open = False
            self._left = writer
        else:
            writer.transport.abort()

    def _note_connack(self, packet: Connack) -> None:
        if packet.reason == SERVER_BUSY and self.may_wait:
            return
        if packet.reason:
            self._ledger.fault(f"{self.client_id} was refused with 0x{packet.reason:02x}")
        elif self._confirmed and not packet.session_present:
            self._ledger.fault(f"the session of {self.client_id} vanished")
        self._confirmed = True


class TorturePublisher:
    """One stream of numbered messages at one QoS, `rate` a second; at 0 as many as the window
    takes."""

    def __init__(
        self, port: int, stream: str, qos: int, ledger: DeliveryLedger, seed: int, rate: float = 0.0
    ) -> None:
        self.link = TortureLink(port, f"publisher-{stream}", ledger, self._seen)
        self._stream = stream
        self._qos = qos
        self._ledger = ledger
        self._random = random.Random(seed)
        self._rate = rate
        self._in_flight: dict[int, MessageKey] = {}
        self._stopping = False

    @property
    def finished(self) -> bool:
        return self._stopping and not self._in_flight

    def stop_sending(self) -> None:
        self._stopping = True

    async def send(self) -> None:
        """Keep the window full, or the rate, while there is a connection."""
        due, last = 0.0, time.monotonic()
        while not self._stopping:
            now = time.monotonic()
            due, last = min(WINDOW, due + (now - last) * self._rate), now
            while self._may_send() and (not self._rate or due >= 1.0):
                due -= 1.0
                key = self._ledger.next_key(self._stream)
                payload = key.payload(self._random.choice((20, 100, 2_000)))
                topic = PREFIX + self._stream
                packet_id = self.link.protocol.publish(topic, payload, self._qos)
                self._in_flight[packet_id] = key
            self.link.flush()
            await asyncio.sleep(0.5 / self._rate if self._rate else 0.002)

    def _may_send(self) -> bool:
        return (
            self.link.protocol.connected
            and len(self._in_flight) < WINDOW
            and self._ledger.backlog < MOST_BACKLOG
        )

    def _seen(self, packet: Packet) -> None:
        if isinstance(packet, Acknowledgement):
            key = self._in_flight.pop(packet.packet_id)
            if packet.reason >= UNSPECIFIED_ERROR and packet.reason != ALREADY_RELEASED:
                self._ledger.fault(f"{key} was refused with 0x{packet.reason:02x}")
            self._ledger.note_acknowledged(key)


class TortureSubscriber:
    """Subscribed to all streams; from its SUBACK on it must get everything, in a mesh once every
    broker has been `reached_from`."""

    def __init__(self, port: int, name: str, ledger: DeliveryLedger, seed: int) -> None:
        self.link = TortureLink(port, name, ledger, self._seen)
        self.ready = asyncio.Event()
        self.reached_from: set[str] = set()
        self._name = name
        self._ledger = ledger
        self._random = random.Random(seed)

    async def be_moody(self, seconds: float = MOOD_SECONDS) -> None:
        """Break the connection off at random moments."""
        while True:
            await asyncio.sleep(self._random.expovariate(1.0 / seconds))
            self.link.drop()

    def _seen(self, packet: Packet) -> None:
        if isinstance(packet, Publish) and packet.topic.startswith(READY):
            self.reached_from.add(packet.topic.removeprefix(READY))
        elif isinstance(packet, Publish):
            self._ledger.note_received(self._name, MessageKey.of(packet.payload), packet.qos)
        elif isinstance(packet, Suback):
            self.ready.set()
        elif isinstance(packet, Connack) and not self.ready.is_set():
            self.link.protocol.subscribe([Request(FILTER, 2)])
