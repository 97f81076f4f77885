"""The MQTT client on asyncio: what an application calls, who waits for which answer, the pings.

    async with Client("mqtt://127.0.0.1:1883") as client:
        await client.subscribe("sensors/#", qos=1)
        await client.publish("sensors/room1", b"21.5", qos=1)
        async for message in client.messages():
            print(message.topic, message.payload)

A client does not reconnect by itself: `connect` again resumes the session if the broker kept it.
What packets mean is for `client/protocol.py` to know.
"""

import asyncio
import ssl
from collections import deque
from collections.abc import AsyncIterator
from types import TracebackType
from typing import Final, Self

from gossamer.client.login import EnhancedAuthentication, reason_string
from gossamer.client.protocol import ClientProtocol, Refused
from gossamer.net.client_socket import ClientSocket, dial, parse_address, socket_for
from gossamer.wire.errors import ProtocolError
from gossamer.wire.packets import (
    V5,
    Acknowledgement,
    Auth,
    Connack,
    Connect,
    Disconnect,
    Packet,
    Pingresp,
    Publish,
    Request,
    Suback,
    Unsuback,
    Will,
)
from gossamer.wire.properties import Properties
from gossamer.wire.reasons import UNSPECIFIED_ERROR

__all__ = ["Client", "Disconnected", "NoConnack", "Refused"]

# How long a CONNECT may take before the broker counts as absent, in seconds.
CONNECT_TIMEOUT: Final = 30.0

# Reading stops while the application has this many messages to look at, and goes on at half.
UNREAD_LIMIT: Final = 10_000

# What waits for an answer that carries no packet identifier uses this key.
AUTHENTICATION: Final = 0


class Disconnected(ConnectionError):
    """The connection is gone; `reason` is what the broker's DISCONNECT said, 0 if nothing."""

    def __init__(self, reason: int = 0, text: str = "connection lost") -> None:
        super().__init__(f"{text} (0x{reason:02x})" if reason else text)
        self.reason = reason
        self.text = text


class NoConnack(Disconnected):
    """The other side closed the connection without a word to the CONNECT."""


class Client:
    """One client of one broker. Give the CONNECT's fields here; all else has sane defaults."""

    def __init__(
        self,
        url: str = "mqtt://127.0.0.1:1883",
        client_id: str = "",
        *,
        version: int = V5,
        clean_start: bool = True,
        keep_alive: int = 60,
        username: str | None = None,
        password: bytes | None = None,
        will: Will | None = None,
        properties: Properties | None = None,
        authenticator: EnhancedAuthentication | None = None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.address = parse_address(url)
        self.connack: Connack | None = None
        # What the broker said with its last SUBACK, empty if nothing.
        self.reason_string = ""
        connect = Connect(
            client_id, version, clean_start, keep_alive, username, password, will, properties
        )
        self._protocol = ClientProtocol(connect, authenticator)
        self._tls = tls
        self._socket: ClientSocket | None = None
        self._answers: dict[int, asyncio.Future[Packet]] = {}
        self._opening: asyncio.Future[Connack] | None = None
        self._unread: deque[Publish] = deque()
        self._paused = False
        self._incoming = asyncio.Event()
        self._lost: Disconnected | None = None
        self._pinger: asyncio.TimerHandle | None = None
        self._pong_missing = False

    @property
    def connected(self) -> bool:
        return self._socket is not None and self._protocol.connected

    @property
    def client_id(self) -> str:
        """The name this client goes by, be it chosen or assigned by the broker."""
        return self._protocol.client_id

    @property
    def unacknowledged(self) -> int:
        """Publications at QoS 1 and 2 that the broker has not finished with."""
        return self._protocol.unacknowledged

    async def connect(self, timeout: float = CONNECT_TIMEOUT) -> Connack:
        """Raises Refused, or OSError if there is no broker. May be called again after a loss."""
        if self._socket is not None:
            raise ValueError("already connected")
        socket = socket_for(self.address, self._received, self._on_lost)
        self._socket = socket
        self._lost = None
        self._opening = asyncio.get_running_loop().create_future()
        try:
            async with asyncio.timeout(timeout):
                await dial(self.address, socket, self._tls)
                self._protocol.open()
                self._flush()
                connack = await self._opening
            if connack.reason >= UNSPECIFIED_ERROR:
                raise Refused("CONNECT", connack.reason, reason_string(connack.properties))
        except BaseException:
            self._opening = None
            self._detach(None)
            socket.abort()
            raise
        self._opening = None
        self._pong_missing = False
        self._schedule_ping()
        self.connack = connack
        return connack

    async def publish(
        self,
        topic: str,
        payload: bytes | str = b"",
        qos: int = 0,
        retain: bool = False,
        properties: Properties | None = None,
    ) -> int:
        """Returns when the broker has it for good (at QoS 0: when it is written).

        The result is the broker's reason code; Refused is raised for one that means failure.
        """
        socket = self._ready()
        data = payload.encode() if isinstance(payload, str) else payload
        packet_id = self._protocol.publish(topic, data, qos, retain, properties)
        if packet_id == 0:
            self._flush()
            await socket.drain()
            return 0
        answer = await self._answer(packet_id)
        assert isinstance(answer, Acknowledgement)
        if answer.reason >= UNSPECIFIED_ERROR:
            raise Refused(f"PUBLISH to {topic}", answer.reason, reason_string(answer.properties))
        return answer.reason

    async def subscribe(
        self, *filters: str | Request, qos: int = 0, properties: Properties | None = None
    ) -> list[int]:
        """One reason code a filter: the granted QoS, or 0x80 and above. `qos` is for the texts."""
        self._ready()
        requests = [Request(item, qos) if isinstance(item, str) else item for item in filters]
        answer = await self._answer(self._protocol.subscribe(requests, properties))
        assert isinstance(answer, Suback)
        self.reason_string = reason_string(answer.properties)
        return answer.reasons

    async def unsubscribe(self, *filters: str, properties: Properties | None = None) -> list[int]:
        """One reason code a filter; none in MQTT 3.1.1."""
        self._ready()
        answer = await self._answer(self._protocol.unsubscribe(list(filters), properties))
        assert isinstance(answer, Unsuback)
        return answer.reasons

    async def messages(self) -> AsyncIterator[Publish]:
        """What arrives, in order. Ends after `disconnect`; Disconnected if the connection broke."""
        while True:
            while self._unread:
                message = self._unread.popleft()
                if self._paused and len(self._unread) <= UNREAD_LIMIT // 2:
                    self._paused = False
                    if self._socket is not None:
                        self._socket.resume()
                yield message
            if self._socket is None:
                if self._lost is not None:
                    raise self._lost
                return
            self._incoming.clear()
            await self._incoming.wait()

    async def reauthenticate(self) -> None:
        """Prove again who this is; raises Disconnected if the broker does not believe it."""
        self._ready()
        self._protocol.reauthenticate()
        await self._answer(AUTHENTICATION)

    async def disconnect(self, reason: int = 0, properties: Properties | None = None) -> None:
        """Say goodbye and close; nothing happens if there is no connection."""
        socket = self._socket
        if socket is None:
            return
        self._protocol.disconnect(reason, properties)
        self._flush()
        self._detach(None)
        await socket.finish()

    def abort(self) -> None:
        """Drop the connection without a goodbye, as a crash would: the broker sends the will."""
        if self._socket is not None:
            self._socket.abort()

    async def __aenter__(self) -> Self:
        await self.connect()
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.disconnect()

    # The connection -------------------------------------------------------------------------------

    def _ready(self) -> ClientSocket:
        """The socket, if requests may be made; else why there is none is raised."""
        if self._socket is None or not self._protocol.connected:
            raise self._lost or Disconnected(text="not connected")
        return self._socket

    async def _answer(self, packet_id: int) -> Packet:
        """Sends what is to be sent, and waits for the answer with that identifier."""
        future: asyncio.Future[Packet] = asyncio.get_running_loop().create_future()
        self._answers[packet_id] = future
        self._flush()
        try:
            return await future
        finally:
            self._answers.pop(packet_id, None)

    def _flush(self) -> None:
        data = self._protocol.take()
        if data and self._socket is not None:
            self._socket.write(data)

    def _detach(self, error: Disconnected | None) -> None:
        """Lets the connection go; whoever waits is told. None if it was wished for."""
        if self._socket is None:
            return
        self._socket = None
        self._protocol.lost()
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

    def _received(self, socket: ClientSocket, data: bytes) -> None:
        if socket is not self._socket:
            return
        try:
            packets = self._protocol.receive(data)
        except ProtocolError as error:
            self._fail(Disconnected(error.reason, error.text))
            return
        for packet in packets:
            self._dispatch(packet)
        self._flush()

    def _dispatch(self, packet: Packet) -> None:
        if isinstance(packet, Publish):
            self._unread.append(packet)
            self._incoming.set()
            if len(self._unread) > UNREAD_LIMIT and not self._paused and self._socket:
                self._paused = True
                self._socket.pause()
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
            text = reason_string(packet.properties) or "the broker closed the connection"
            self._fail(Disconnected(packet.reason, text))

    def _resolve(self, key: int, packet: Packet) -> None:
        future = self._answers.get(key)
        if future is not None and not future.done():
            future.set_result(packet)

    def _fail(self, error: Disconnected) -> None:
        """End the connection from this side, for that reason."""
        socket = self._socket
        if socket is not None:
            self._flush()
            self._detach(error)
            socket.close()

    def _on_lost(self, socket: ClientSocket, cause: Exception | None) -> None:
        if socket is self._socket:
            text = f"connection lost: {cause}" if cause else "connection lost"
            kind = NoConnack if self._opening is not None else Disconnected
            self._detach(kind(text=text))

    def _schedule_ping(self) -> None:
        if self._protocol.keep_alive:
            loop = asyncio.get_running_loop()
            self._pinger = loop.call_later(self._protocol.keep_alive / 2, self._ping)

    def _ping(self) -> None:
        if self._pong_missing and not self._paused:  # while paused no answer can be seen
            self._fail(Disconnected(text="the broker does not answer"))
            return
        self._pong_missing = True
        self._protocol.ping()
        self._flush()
        self._schedule_ping()
