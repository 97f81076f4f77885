"""Accepts connections that start with a PROXY protocol header, for any kind of listener.

The header comes before TLS, so it is read from the bare socket, byte for byte and no further; then
the socket goes on to asyncio as if it had just been accepted.
"""

import asyncio
import logging
import socket
from collections.abc import Awaitable, Callable

from gossamer.net.proxy_protocol import HEADER, ProxyError, TrustedProxies, read_header

logger = logging.getLogger(__name__)

# Called with the socket and the client's address (None for the peer's own).
HandOver = Callable[[socket.socket, str | None], Awaitable[None]]
# The kernel has no more descriptors: trying again at once would only burn time.
ACCEPT_PAUSE_SECONDS = 0.5


class ProxiedAcceptor:
    """Owns the listening socket's accept loop; `close()` ends it."""

    def __init__(
        self,
        listening: socket.socket,
        proxies: TrustedProxies,
        timeout: float,
        hand_over: HandOver,
    ) -> None:
        self._listening = listening
        self._proxies = proxies
        self._timeout = timeout
        self._hand_over = hand_over
        self._loop = asyncio.get_running_loop()
        self._greetings: set[asyncio.Task[None]] = set()
        self._accepting = self._loop.create_task(self._accept())

    def close(self) -> None:
        self._accepting.cancel()
        for greeting in self._greetings:
            greeting.cancel()
        self._listening.close()

    async def _accept(self) -> None:
        while True:
            try:
                accepted, peer = await self._loop.sock_accept(self._listening)
            except OSError as error:
                logger.warning("cannot accept a connection: %s", error)
                await asyncio.sleep(ACCEPT_PAUSE_SECONDS)
                continue
            accepted.setblocking(False)
            address = str(peer[0]) if isinstance(peer, tuple) else ""
            greeting = self._loop.create_task(self._greet(accepted, address))
            self._greetings.add(greeting)
            greeting.add_done_callback(self._greetings.discard)

    async def _greet(self, accepted: socket.socket, peer: str) -> None:
        try:
            if not self._proxies.trusts(peer):
                raise ProxyError(f"{peer} is not among the trusted proxies")
            async with asyncio.timeout(self._timeout):
                address = await self._read_address(accepted)
            await self._hand_over(accepted, address)
        except (ProxyError, OSError, TimeoutError) as error:
            logger.info("a connection from %s was closed: %s", peer or "a socket", error)
            accepted.close()
        except BaseException:
            accepted.close()
            raise

    async def _read_address(self, accepted: socket.socket) -> str | None:
        data = b""
        missing = HEADER
        while missing:
            chunk = await self._loop.sock_recv(accepted, missing)
            if not chunk:
                raise ProxyError("the connection ended within its header")
            data += chunk
            header = read_header(data)
            if header is not None:
                return header.address
            size = HEADER if len(data) < HEADER else HEADER + int.from_bytes(data[14:16])
            missing = size - len(data)
        raise ProxyError("an unreadable header")
