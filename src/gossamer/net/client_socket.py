"""Where a broker is, and the socket of a client to it: TCP, TLS, Unix or WebSocket.

Knows backpressure and nothing of MQTT.
"""

import asyncio
import ssl
from collections.abc import Callable
from typing import Final, NamedTuple, cast
from urllib.parse import urlsplit

# How long a peer may take to read what was left to send, in seconds.
CLOSE_TIMEOUT: Final = 5.0

DEFAULT_PORTS: Final = {"mqtt": 1883, "mqtts": 8883, "ws": 80, "wss": 443}

_ENCRYPTED: Final = frozenset({"mqtts", "wss"})
_WEBSOCKET: Final = frozenset({"ws", "wss"})


class BrokerAddress(NamedTuple):
    """`path` is the socket's file for unix, the resource for WebSocket, else empty."""

    scheme: str
    host: str
    port: int
    path: str

    @property
    def encrypted(self) -> bool:
        return self.scheme in _ENCRYPTED

    @property
    def websocket(self) -> bool:
        return self.scheme in _WEBSOCKET


def parse_address(url: str) -> BrokerAddress:
    """`mqtt://host:port`, `ws://host:port/mqtt`, `unix:/path`; plain `host:port` is mqtt."""
    has_scheme = "://" in url or url.startswith("unix:/")
    parts = urlsplit(url if has_scheme else f"mqtt://{url}")
    if parts.scheme == "unix":
        if not parts.path:
            raise ValueError(f"{url}: a unix address needs a path, as in unix:///run/broker.sock")
        return BrokerAddress("unix", "", 0, parts.path)
    if parts.scheme not in DEFAULT_PORTS:
        known = ", ".join((*DEFAULT_PORTS, "unix"))
        raise ValueError(f"{url}: unknown scheme {parts.scheme!r}; known are {known}")
    if not parts.hostname:
        raise ValueError(f"{url}: no host")
    path = (parts.path or "/mqtt") if parts.scheme in _WEBSOCKET else ""
    return BrokerAddress(
        parts.scheme, parts.hostname, parts.port or DEFAULT_PORTS[parts.scheme], path
    )


class ClientSocket(asyncio.Protocol):
    """Hands on what arrives and the end (once); holds writers back while the peer is slow."""

    def __init__(
        self,
        received: Callable[["ClientSocket", bytes], None],
        lost: Callable[["ClientSocket", Exception | None], None],
    ) -> None:
        self._received = received
        self._lost = lost
        self._transport: asyncio.Transport | None = None
        self._writable = asyncio.Event()
        self._writable.set()
        self._closed = asyncio.Event()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports behave as asyncio's do, and are not of its classes.
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self._received(self, data)

    def connection_lost(self, exc: Exception | None) -> None:
        self._transport = None
        self._writable.set()
        self._closed.set()
        self._lost(self, exc)

    def pause_writing(self) -> None:
        self._writable.clear()

    def resume_writing(self) -> None:
        self._writable.set()

    async def handshake(self) -> None:
        """Until MQTT may be spoken; ConnectionError if it never may."""

    def write(self, data: bytes) -> None:
        if self._transport is not None:
            self._transport.write(data)

    async def drain(self) -> None:
        """Until the peer has taken enough of what was written."""
        if not self._writable.is_set():
            await self._writable.wait()

    def pause(self) -> None:
        if self._transport is not None:
            self._transport.pause_reading()

    def resume(self) -> None:
        if self._transport is not None:
            self._transport.resume_reading()

    def close(self) -> None:
        """After what was written has gone out."""
        if self._transport is not None:
            self._transport.close()

    async def finish(self) -> None:
        """Close, and wait until that is done; a peer that takes nothing more is dropped."""
        self.close()
        try:
            async with asyncio.timeout(CLOSE_TIMEOUT):
                await self._closed.wait()
        except TimeoutError:
            self.abort()

    def abort(self) -> None:
        """At once, as a crash would."""
        if self._transport is not None:
            self._transport.abort()


class WebSocketClientSocket(ClientSocket):
    """A socket whose bytes travel inside a WebSocket."""

    def __init__(
        self,
        received: Callable[[ClientSocket, bytes], None],
        lost: Callable[[ClientSocket, Exception | None], None],
        address: BrokerAddress,
    ) -> None:
        # Not at the top: most clients never need what it imports.
        from gossamer.net.websocket.client import WebSocketClient

        super().__init__(received, lost)
        self._websocket = WebSocketClient(address)
        self._ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        super().write(self._websocket.request)

    def data_received(self, data: bytes) -> None:
        websocket = self._websocket
        try:
            received = websocket.receive(data)
        except ValueError as error:
            self._give_up(ConnectionError(str(error)))
            self.abort()
            return
        if websocket.is_open and not self._ready.done():
            self._ready.set_result(None)
        if received:
            super().data_received(received)
        self._send_output()
        if websocket.closing:
            super().close()

    def connection_lost(self, exc: Exception | None) -> None:
        self._give_up(exc or ConnectionError("closed during the WebSocket handshake"))
        super().connection_lost(exc)

    def write(self, data: bytes) -> None:
        super().write(self._websocket.wrap(data))

    def close(self) -> None:
        if self._websocket.is_open and not self._websocket.closing:
            self._websocket.close()
            self._send_output()
        super().close()

    async def handshake(self) -> None:
        await self._ready

    def _send_output(self) -> None:
        if self._websocket.output:
            super().write(bytes(self._websocket.output))
            self._websocket.output.clear()

    def _give_up(self, error: Exception) -> None:
        if not self._ready.done():
            self._ready.set_exception(error)
            self._ready.exception()  # seen, even if nobody waits any more


def socket_for(
    address: BrokerAddress,
    received: Callable[[ClientSocket, bytes], None],
    lost: Callable[[ClientSocket, Exception | None], None],
) -> ClientSocket:
    """A socket of the address's kind; `dial` connects it."""
    if address.websocket:
        return WebSocketClientSocket(received, lost, address)
    return ClientSocket(received, lost)


async def dial(address: BrokerAddress, client: ClientSocket, tls: ssl.SSLContext | None) -> None:
    """Until MQTT may be spoken; `tls` replaces the system's default trust where it applies."""
    loop = asyncio.get_running_loop()
    if address.scheme == "unix":
        await loop.create_unix_connection(lambda: client, address.path)
        return
    context = (tls or ssl.create_default_context()) if address.encrypted else None
    await loop.create_connection(lambda: client, address.host, address.port, ssl=context)
    await client.handshake()
