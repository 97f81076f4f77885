"""What dialling a neighbour and dialling a broker of another make share: a socket that belongs to
one attempt, and a caller who tries, says once why it failed, and can wait."""

from __future__ import annotations

import asyncio
import logging
from asyncio import Transport
from collections.abc import Callable
from typing import Any, Final, Generic, Protocol, TypeVar

from gossamer.backoff import Backoff
from gossamer.broker.connection import Connection
from gossamer.net.config.mesh import PeerTls
from gossamer.net.tls import client_context
from gossamer.net.transport import Door, Host, SocketSink

logger = logging.getLogger(__name__)

FIRST_PAUSE: Final = 0.1
LONGEST_PAUSE: Final = 10.0
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

    def __init__(
        self, host: Host, door: Door, begin: Callable[[OutboundSink[A], Transport, str], A]
    ) -> None:
        super().__init__(host, door)
        self._begin = begin
        self._attempt: A | None = None
        self.done: asyncio.Future[None] = host.loop.create_future()

    @property
    def attempt(self) -> A:
        assert self._attempt is not None, "there is one as soon as there is a socket"
        return self._attempt

    def connection_made(self, transport: Transport) -> None:
        self.transport = transport
        transport.set_write_buffer_limits(high=self.door.write_buffer)
        peer = transport.get_extra_info("peername")
        address = str(peer[0]) if isinstance(peer, tuple) else ""
        self._attempt = self._begin(self, transport, address)

    def takes_turns(self) -> bool:
        """A neighbour is no stranger: what it says is handled at once."""
        return False

    def data_received(self, data: bytes) -> None:
        now = self.host.clock.now()
        self.attempt.receive(data, now)
        if self.connection is None and self.attempt.connection is not None:
            self.connection = self.attempt.connection
            self.accepted()
        self.host.after_chunk(now)

    def connection_lost(self, error: Exception | None) -> None:
        self.transport = None
        if self.connection is not None:
            self.connection.outbox.is_behind(0, 0)
        self.connection = None
        now = self.host.clock.now()
        self.attempt.lost(now)
        self.closed()
        self.host.after_chunk(now)
        if not self.done.done():
            self.done.set_result(None)

    def accepted(self) -> None:
        """The other side has let us in."""

    def closed(self) -> None:
        """The socket is gone."""


class Outbound:
    """Calls one place, as often as it is told to."""

    def __init__(self, host: Host, door: str, place: str, where: tuple[str, int]) -> None:
        self.host = host
        self.door = Door(door)
        self.door.write_buffer = LINK_BUFFER
        self._place = place  # as the log calls it
        self._where = where
        self._last_failure = ""
        self._tls: dict[str, Any] = {}

    def use_tls(self, tls: PeerTls | None) -> None:
        """ConfigError if the files that it names cannot be used."""
        if tls is not None:
            name = tls.server_name or self._where[0]
            self._tls = {"ssl": client_context(tls), "server_hostname": name}

    @property
    def uses_tls(self) -> bool:
        return bool(self._tls)

    async def call(self, sink: OutboundSink[A]) -> bool:
        """Whether somebody answers there; if not, the log says why."""
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                await self.host.loop.create_connection(  # type: ignore[type-var]
                    lambda: sink, *self._where, **self._tls
                )
        except (OSError, TimeoutError) as error:
            self.say(str(error) or "no answer")
            return False
        return True

    def say(self, failure: str) -> None:
        """Once for each new reason: whoever is there may be away for days."""
        if failure != self._last_failure:
            self._last_failure = failure
            logger.warning("cannot connect to %s: %s", self._place, failure)


def backoff() -> Backoff:
    """Of those who call again and again."""
    return Backoff(FIRST_PAUSE, LONGEST_PAUSE)
