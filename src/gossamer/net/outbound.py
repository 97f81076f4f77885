"""What dialling a neighbour and dialling a broker of another make share: one attempt on one socket,
kept awake while it stands; a log that says once why an attempt failed; and pauses between them.
"""

from __future__ import annotations

import asyncio
import logging
import socket
import time
from math import inf
from typing import Any, Final, Generic, Protocol, TypeVar

from gossamer.backoff import Backoff
from gossamer.broker.connection import Connection
from gossamer.broker.loop_turns import LINK, MeasuredTurn
from gossamer.broker.policy import Origin
from gossamer.net.config.mesh import BridgeSection, Peer
from gossamer.net.epoll_sockets import EpollSockets
from gossamer.net.socket_transport import SocketTransport, plain_address
from gossamer.net.tls import certificate_user, client_context
from gossamer.net.transport import ConnectionPolicy, SocketSink
from gossamer.net.turns import Host

logger = logging.getLogger(__name__)

FIRST_PAUSE: Final = 0.1
LONGEST_PAUSE: Final = 10.0
# Pauses that grow like this are a tenth of all before them: who was away for five seconds is called
# within half of one, and not after as long again as it was away.
PAUSE_GROWTH: Final = 1.1
CONNECT_SECONDS: Final = 5.0
# Bytes that may wait in the socket of a link, before QoS 0 over it is dropped.
LINK_BUFFER: Final = 8 * 1_048_576


class DialAttempt(Protocol):
    """The core's side of one try; its connection is there once the other side has accepted."""

    connection: Connection | None
    failure: str

    def receive(self, data: bytes, now: float) -> None: ...

    def lost(self, now: float) -> None: ...

    def ping(self) -> None: ...


A = TypeVar("A", bound=DialAttempt)


class OutboundSink(SocketSink, Generic[A]):
    """The socket of one attempt; `done` when it is closed."""

    def __init__(self, outbound: Outbound[A]) -> None:
        super().__init__(outbound.host, outbound.policy)
        self._outbound = outbound
        self._attempt: A | None = None
        self.done: asyncio.Future[None] = outbound.host.loop.create_future()

    @property
    def attempt(self) -> A:
        assert self._attempt is not None, "there is one as soon as there is a socket"
        return self._attempt

    def begin(self, transport: SocketTransport) -> None:
        self.transport = transport
        transport.set_write_buffer_limit(self.policy.write_buffer)
        address = transport.peer_address() if self.address is None else self.address
        origin = Origin(address, self.policy.name, certificate_user(transport.certificate()))
        self._attempt = self._outbound.begin(self, origin, self.host.clock.now())

    def takes_turns(self) -> bool:
        """A neighbour is no stranger: what it says is handled at once. But what it has compressed
        may be any amount."""
        connection = self.connection
        return connection is not None and connection.inflater is not None

    def data_received(self, data: bytes) -> None:
        now = self.host.clock.at(self.host.begin_turn())
        self.attempt.receive(data, now)
        if self.connection is None and self.attempt.connection is not None:
            self.connection = self.attempt.connection
            self._outbound.accepted(self.attempt)
        connection = self.connection
        if connection is not None and connection.is_unfinished():
            self.wait_for_turn()
        self.host.after_chunk(now)
        self.host.link_turn_over(self._outbound.place)

    def connection_lost(self, error: Exception | None) -> None:
        self.transport = None
        if self.connection is not None:
            self.connection.outbox.is_behind(0, 0)
        self.connection = None
        with self._outbound.turn():
            now = self.host.clock.now()
            self.attempt.lost(now)
            self._outbound.ended()
            self.host.after_chunk(now)
        if not self.done.done():
            self.done.set_result(None)


class Outbound(Generic[A]):
    """One place that is dialled, as often as its owner calls `attempt`."""

    def __init__(self, host: Host, listener: str, place: str, where: Peer | BridgeSection) -> None:
        """ConfigError if the files that TLS names cannot be used."""
        self.host = host
        self.policy = ConnectionPolicy(listener)
        self.policy.write_buffer = LINK_BUFFER
        self.sink: OutboundSink[A] | None = None  # of the attempt that is being made
        self.place = place  # as the log calls it
        self._where = (where.host, where.port)
        self._last_failure = ""
        self._tls: dict[str, Any] = {}
        if where.tls is not None:
            name = where.tls.server_name or where.host
            self._tls = {"ssl": client_context(where.tls), "server_hostname": name}

    def begin(self, sink: OutboundSink[A], origin: Origin, now: float) -> A:
        """The core's side of an attempt, on a socket that stands."""
        raise NotImplementedError

    def accepted(self, attempt: A) -> None:
        """The other side has let us in."""

    def ended(self) -> None:
        """The socket is gone, or none came about."""

    def turn(self) -> MeasuredTurn:
        """One turn of the event loop for this link."""
        return MeasuredTurn(self.host.turns, LINK, self.place)

    async def attempt(self, keep_alive: float, login_seconds: float = inf) -> A | None:
        """One attempt, to its end; None if nobody answers there."""
        sink = OutboundSink(self)
        if not await self._call(sink):
            self.ended()
            return None
        self.sink = sink
        started = time.monotonic()
        try:
            while not sink.done.done():
                await asyncio.wait((sink.done,), timeout=keep_alive / 3)
                if sink.connection is not None:
                    with self.turn():
                        sink.attempt.ping()
                        self.host.after_chunk(self.host.clock.now())
                elif time.monotonic() - started > login_seconds:
                    sink.abort()
        finally:
            self.sink = None
            sink.abort()
        self._say(sink.attempt.failure)
        return sink.attempt

    async def _call(self, sink: OutboundSink[A]) -> bool:
        """Whether somebody answers there; if not, the log says why."""
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                if self._tls or self.host.sockets is None:
                    await self.host.loop.create_connection(  # type: ignore[type-var]
                        lambda: sink, *self._where, **self._tls
                    )
                else:
                    await self._connect(self.host.sockets, sink)
        except (OSError, TimeoutError) as error:
            self._say(str(error) or "no answer")
            return False
        return True

    async def _connect(self, sockets: EpollSockets, sink: OutboundSink[A]) -> None:
        """To the first address of that name where somebody answers."""
        loop = self.host.loop
        found = await loop.getaddrinfo(*self._where, type=socket.SOCK_STREAM)
        failure: OSError | None = None
        for family, kind, protocol, _, address in found:
            opened = socket.socket(family, kind, protocol)
            try:
                opened.setblocking(False)
                opened.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                await loop.sock_connect(opened, address)
            except OSError as error:
                opened.close()
                failure = error
                continue
            except BaseException:
                opened.close()
                raise
            sink.address = plain_address(address)
            sockets.connect(opened.detach(), sink)
            return
        raise failure or OSError(f"{self._where[0]} has no address")

    def _say(self, failure: str) -> None:
        """Once for each new reason: whoever is there may be away for days."""
        if failure != self._last_failure:
            self._last_failure = failure
            logger.warning("cannot connect to %s: %s", self.place, failure)


def backoff() -> Backoff:
    """Of those who call again and again."""
    return Backoff(FIRST_PAUSE, LONGEST_PAUSE, growth=PAUSE_GROWTH)
