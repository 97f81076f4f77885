"""One connection's bytes: an asyncio protocol that knows backpressure and nothing of MQTT."""

import asyncio
import ssl
from collections.abc import Callable
from typing import Final, cast

from gossamer.net.client.address import Address

# How long a peer may take to read what was left to send, in seconds.
CLOSE_TIMEOUT: Final = 5.0


class Connection(asyncio.Protocol):
    """Hands on what arrives and the end (once); holds writers back while the peer is slow."""

    def __init__(
        self,
        received: Callable[["Connection", bytes], None],
        lost: Callable[["Connection", Exception | None], None],
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


async def dial(address: Address, connection: Connection, tls: ssl.SSLContext | None) -> None:
    """Connect to the address; `tls` replaces the system's default trust where it applies."""
    loop = asyncio.get_running_loop()
    if address.scheme == "unix":
        await loop.create_unix_connection(lambda: connection, address.path)
        return
    context = (tls or ssl.create_default_context()) if address.encrypted else None
    await loop.create_connection(lambda: connection, address.host, address.port, ssl=context)
    await connection.handshake()
