"""An asyncio protocol around one connection of the core: it moves bytes, and reads the clock.

Compiled with the core: it runs once for every chunk read. asyncio asks for the methods of a
protocol, not for its base class, which a compiled class could not have.
"""

from __future__ import annotations

import time
from asyncio import AbstractEventLoop, Transport
from collections.abc import Callable

from mypy_extensions import mypyc_attr

from gossamer.broker.broker import Broker
from gossamer.broker.connection import Connection
from gossamer.broker.policy import Origin
from gossamer.session.outlet import Sink

# Bytes that may wait for a client that does not read, before QoS 0 to it is dropped.
WRITE_BUFFER = 1_048_576


class Host:
    """What all connections of a process share: the broker, and the end of each turn."""

    def __init__(
        self, broker: Broker, loop: AbstractEventLoop, end_turn: Callable[[], None]
    ) -> None:
        self.broker = broker
        self.loop = loop
        self.journal = broker.core.journal
        self._end_turn = end_turn
        self._scheduled = False

    def after_chunk(self, now: float) -> None:
        """Writes what the chunk caused; the journal gets its turn when the loop has read all."""
        self.broker.flush(now)
        if self.journal.dirty and not self._scheduled:
            self._scheduled = True
            self.loop.call_soon(self._finish_turn)

    def _finish_turn(self) -> None:
        self._scheduled = False
        self._end_turn()


@mypyc_attr(allow_interpreted_subclasses=True)
class SocketSink(Sink):
    """One client's socket."""

    def __init__(self, host: Host, listener: str) -> None:
        self.host = host
        self.listener = listener
        self.transport: Transport | None = None
        self.connection: Connection | None = None
        self._reading_paused = False

    # What asyncio calls -------------------------------------------------------------------------

    def connection_made(self, transport: Transport) -> None:
        self.transport = transport
        transport.set_write_buffer_limits(high=WRITE_BUFFER)
        self.connection = self.host.broker.open(self, self.origin(transport), time.time())

    def data_received(self, data: bytes) -> None:
        connection = self.connection
        assert connection is not None
        now = time.time()
        connection.receive(data, now)
        self.host.after_chunk(now)

    def eof_received(self) -> bool:
        return False  # closes the transport

    def connection_lost(self, error: Exception | None) -> None:
        connection = self.connection
        self.transport = None
        if connection is not None:
            now = time.time()
            connection.lost(now)
            self.host.after_chunk(now)

    def pause_writing(self) -> None:
        """The client does not read: QoS 0 to it is dropped, and it is not listened to either."""
        connection = self.connection
        if connection is not None:
            connection.outlet.blocked = True
            self._set_reading(False)

    def resume_writing(self) -> None:
        connection = self.connection
        if connection is not None:
            now = time.time()
            self._set_reading(True)
            connection.unblocked(now)
            self.host.after_chunk(now)

    # What the core calls ------------------------------------------------------------------------

    def write(self, data: bytes) -> None:
        transport = self.transport
        if transport is not None:
            transport.write(data)

    def close(self) -> None:
        transport = self.transport
        if transport is not None:
            transport.close()

    def abort(self) -> None:
        transport = self.transport
        if transport is not None:
            transport.abort()

    def pause_reading(self) -> None:
        self._set_reading(False)

    def resume_reading(self) -> None:
        self._set_reading(True)

    def origin(self, transport: Transport) -> Origin:
        """Where the connection comes from."""
        peer = transport.get_extra_info("peername")
        address = str(peer[0]) if isinstance(peer, tuple) else "local"
        return Origin(address, self.listener)

    def _set_reading(self, wanted: bool) -> None:
        transport = self.transport
        if transport is None or transport.is_closing() or wanted != self._reading_paused:
            return
        self._reading_paused = not wanted
        if wanted:
            transport.resume_reading()
        else:
            transport.pause_reading()
