"""A client's connection while it lasts: who waits for which answer, what is unread, the pings.

Everything here happens in the event loop; what the packets mean is `ClientProtocol`'s to know.
"""

import asyncio
import ssl
from collections import deque
from collections.abc import AsyncIterator
from typing import Final

from gossamer.net.client.address import Address
from gossamer.net.client.connection import Connection, dial
from gossamer.net.client.errors import Disconnected, Refused, Unanswered, said
from gossamer.net.client.protocol import ClientProtocol
from gossamer.wire.errors import ProtocolError
from gossamer.wire.packets import (
    Acknowledgement,
    Auth,
    Connack,
    Disconnect,
    Packet,
    Pingresp,
    Publish,
    Suback,
    Unsuback,
)
from gossamer.wire.properties import Properties
from gossamer.wire.reasons import UNSPECIFIED_ERROR

# Reading stops while the application has this many messages to look at, and goes on at half.
UNREAD_LIMIT: Final = 10_000

# What waits for an answer that carries no packet identifier uses this key.
AUTHENTICATION: Final = 0


class Link:
    """The protocol on a socket; after a loss `open` makes the next connection."""

    def __init__(
        self, address: Address, tls: ssl.SSLContext | None, protocol: ClientProtocol
    ) -> None:
        self.connection: Connection | None = None
        self._address = address
        self._tls = tls
        self._protocol = protocol
        self._keep_alive = float(protocol.greeting.keep_alive)
        self._answers: dict[int, asyncio.Future[Packet]] = {}
        self._opening: asyncio.Future[Connack] | None = None
        self._unread: deque[Publish] = deque()
        self._paused = False
        self._incoming = asyncio.Event()
        self._lost: Disconnected | None = None
        self._pinger: asyncio.TimerHandle | None = None
        self._pong_missing = False

    async def open(self, timeout: float) -> Connack:
        """The CONNACK of a broker that said yes; Refused if it said no."""
        if self.connection is not None:
            raise ValueError("already connected")
        if self._address.websocket:
            # Not at the top: most clients never need what it imports.
            from gossamer.net.client.websocket import WebSocketConnection

            connection: Connection = WebSocketConnection(
                self._received, self._on_lost, self._address
            )
        else:
            connection = Connection(self._received, self._on_lost)
        self.connection = connection
        self._lost = None
        self._opening = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(timeout):
                await dial(self._address, connection, self._tls)
                self._protocol.open()
                self.flush()
                connack = await self._opening
            if connack.reason >= UNSPECIFIED_ERROR:
                raise Refused("CONNECT", connack.reason, said(connack.properties))
        except BaseException:
            self._opening = None
            self.detach(None)
            connection.abort()
            raise
        self._opening = None
        self._adopt(connack.properties)
        return connack

    async def messages(self) -> AsyncIterator[Publish]:
        """What arrives, in order. Ends after `disconnect`; Disconnected if the link broke."""
        while True:
            while self._unread:
                message = self._unread.popleft()
                if self._paused and len(self._unread) <= UNREAD_LIMIT // 2:
                    self._paused = False
                    if self.connection is not None:
                        self.connection.resume()
                yield message
            if self.connection is None:
                if self._lost is not None:
                    raise self._lost
                return
            self._incoming.clear()
            await self._incoming.wait()

    def ready(self) -> Connection:
        """The connection, if requests may be made; else why there is none is raised."""
        if self.connection is None or not self._protocol.connected:
            raise self._lost or Disconnected(text="not connected")
        return self.connection

    async def answer(self, packet_id: int) -> Packet:
        """Sends what is to be sent, and waits for the answer with that identifier."""
        future: asyncio.Future[Packet] = asyncio.get_running_loop().create_future()
        self._answers[packet_id] = future
        self.flush()
        try:
            return await future
        finally:
            self._answers.pop(packet_id, None)

    def flush(self) -> None:
        data = self._protocol.take()
        if data and self.connection is not None:
            self.connection.write(data)

    def detach(self, error: Disconnected | None) -> None:
        """Lets the connection go; whoever waits is told. None if it was wished for."""
        if self.connection is None:
            return
        self.connection = None
        self._protocol.connected = False
        self._paused = False
        self._lost = error
        if self._pinger is not None:
            self._pinger.cancel()
        ending = error or Disconnected(text="disconnected")
        waiting: list[asyncio.Future[Packet] | asyncio.Future[Connack]] = [*self._answers.values()]
        if self._opening is not None:
            waiting.append(self._opening)
        for future in waiting:
            if not future.done():
                future.set_exception(ending)
        self._incoming.set()

    def _received(self, connection: Connection, data: bytes) -> None:
        if connection is not self.connection:
            return
        try:
            packets = self._protocol.receive(data)
        except ProtocolError as error:
            self._fail(Disconnected(error.reason, error.text))
            return
        for packet in packets:
            self._dispatch(packet)
        self.flush()

    def _dispatch(self, packet: Packet) -> None:
        if isinstance(packet, Publish):
            self._unread.append(packet)
            self._incoming.set()
            if len(self._unread) > UNREAD_LIMIT and not self._paused and self.connection:
                self._paused = True
                self.connection.pause()
        elif isinstance(packet, Acknowledgement | Suback | Unsuback):
            self._resolve(packet.packet_id, packet)
        elif isinstance(packet, Auth):
            self._resolve(AUTHENTICATION, packet)
        elif isinstance(packet, Pingresp):
            self._pong_missing = False
        elif isinstance(packet, Connack):
            if self._opening is not None and not self._opening.done():
                self._opening.set_result(packet)
        elif isinstance(packet, Disconnect):
            text = said(packet.properties) or "the broker closed the connection"
            self._fail(Disconnected(packet.reason, text))

    def _resolve(self, key: int, packet: Packet) -> None:
        future = self._answers.get(key)
        if future is not None and not future.done():
            future.set_result(packet)

    def _fail(self, error: Disconnected) -> None:
        """End the connection from this side, for that reason."""
        connection = self.connection
        if connection is not None:
            self.flush()
            self.detach(error)
            connection.close()

    def _on_lost(self, connection: Connection, cause: Exception | None) -> None:
        if connection is self.connection:
            text = f"connection lost: {cause}" if cause else "connection lost"
            kind = Unanswered if self._opening is not None else Disconnected
            self.detach(kind(text=text))

    def _adopt(self, properties: Properties | None) -> None:
        """What the broker decided in its CONNACK goes before what was asked for."""
        if properties is not None:
            if properties.assigned_client_id is not None:
                self._protocol.greeting.client_id = properties.assigned_client_id
            if properties.server_keep_alive is not None:
                self._keep_alive = float(properties.server_keep_alive)
        self._pong_missing = False
        self._schedule_ping()

    def _schedule_ping(self) -> None:
        if self._keep_alive:
            loop = asyncio.get_running_loop()
            self._pinger = loop.call_later(self._keep_alive / 2, self._ping)

    def _ping(self) -> None:
        if self._pong_missing and not self._paused:  # while paused no answer can be seen
            self._fail(Disconnected(text="the broker does not answer"))
            return
        self._pong_missing = True
        self._protocol.ping()
        self.flush()
        self._schedule_ping()
