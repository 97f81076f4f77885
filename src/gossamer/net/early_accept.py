"""Accepts connections that start with something else than MQTT: a PROXY header, a TLS handshake.

Such a connection is counted against its listener's limits from the moment that its address is
known, so at once where no proxy has to name it, and it has one deadline for everything up to its
login. A PROXY header comes before TLS: it is read from the bare socket, byte for byte and no
further; then the socket goes on as if it had just been accepted, to asyncio or to our own poll.
"""

import asyncio
import logging
import socket
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

from gossamer.net.connection_limits import ListenerPolicy
from gossamer.net.epoll_sockets import EpollSockets
from gossamer.net.proxy_protocol import HEADER, ProxyError, TrustedProxies, read_header
from gossamer.net.socket_transport import plain_address
from gossamer.net.transport import SocketSink

logger = logging.getLogger(__name__)

# Makes the sink of a connection, from the client's address and its ticket.
MakeSink = Callable[[str, int], SocketSink]
# The kernel has no more descriptors: trying again at once would only burn time.
ACCEPT_PAUSE_SECONDS = 0.5


class EarlyAcceptor:
    """Owns the listening socket's accept loop; `close()` ends it.

    `proxies` are those that may name the client, None where clients come themselves; `tls` is what
    asyncio is told of TLS. Without TLS a socket goes on to `sockets`, where there are any.
    """

    def __init__(
        self,
        listening: socket.socket,
        policy: ListenerPolicy,
        proxies: TrustedProxies | None,
        tls: dict[str, Any],
        sockets: EpollSockets | None,
        make_sink: MakeSink,
    ) -> None:
        self._listening = listening
        self._policy = policy
        self._proxies = proxies
        self._tls = tls
        self._sockets = sockets
        self._make_sink = make_sink
        self._loop = asyncio.get_running_loop()
        self._greetings: set[asyncio.Task[None]] = set()
        self._accepting = self._loop.create_task(self._accept())

    def close(self) -> None:
        """Accepts no more; handshakes that have begun go on, to their deadline."""
        self._accepting.cancel()
        self._listening.close()

    async def _accept(self) -> None:
        while True:
            try:
                accepted, peer = await self._loop.sock_accept(self._listening)
            except OSError as error:
                logger.warning("cannot accept a connection: %s", error)
                await asyncio.sleep(ACCEPT_PAUSE_SECONDS)
                continue
            try:
                accepted.setblocking(False)
                self._take(accepted, plain_address(peer))
            except Exception:  # of one connection; the next ones are accepted all the same
                logger.exception("a connection could not be set up")
                accepted.close()

    def _take(self, accepted: socket.socket, address: str) -> None:
        if self._proxies is None:
            if ticket := self._admit(accepted, address):
                self._start(self._hand_over(accepted, address, ticket))
        elif len(self._greetings) < self._policy.limits.connections:
            self._start(self._greet(accepted, address, self._proxies))
        else:
            self._policy.counters.connections_refused_early += 1
            accepted.close()

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        greeting = self._loop.create_task(work)
        self._greetings.add(greeting)
        greeting.add_done_callback(self._greetings.discard)

    def _admit(self, accepted: socket.socket, address: str) -> int:
        """Its ticket; 0, and the socket is closed, if there is no place for it."""
        ticket = self._policy.admit(address, lambda: _cut(accepted))
        if not ticket:
            self._policy.counters.connections_refused_early += 1
            accepted.close()
            return 0
        seconds = self._policy.limits.connect_timeout
        self._loop.call_later(seconds, self._policy.overdue, address, ticket)
        return ticket

    async def _greet(self, accepted: socket.socket, peer: str, proxies: TrustedProxies) -> None:
        try:
            if not proxies.trusts(peer):
                raise ProxyError(f"{peer} is not among the trusted proxies")
            async with asyncio.timeout(self._policy.limits.connect_timeout):
                named = await self._read_address(accepted)
        except (ProxyError, OSError, TimeoutError) as error:
            self._policy.counters.handshakes_failed += 1
            logger.info("a connection from %s was closed: %s", peer or "a socket", error)
            accepted.close()
            return
        except BaseException:
            accepted.close()
            raise
        address = peer if named is None else named
        if ticket := self._admit(accepted, address):
            await self._hand_over(accepted, address, ticket)

    async def _hand_over(self, accepted: socket.socket, address: str, ticket: int) -> None:
        sink = self._make_sink(address, ticket)
        if self._sockets is not None and not self._tls:
            self._sockets.connect(accepted.detach(), sink)
            return
        made: Any = lambda: sink  # noqa: E731  a protocol by its methods, not by its class
        try:
            await self._loop.connect_accepted_socket(made, accepted, **self._tls)
        except (OSError, TimeoutError) as error:
            logger.debug("no handshake with %s: %s", address or "a socket", error)
        finally:
            if not sink.was_made:
                self._policy.counters.handshakes_failed += 1
                self._policy.leave(address, ticket)
                accepted.close()

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


def _cut(accepted: socket.socket) -> None:
    """Whoever reads from it finds its end."""
    with suppress(OSError):
        accepted.shutdown(socket.SHUT_RDWR)
