"""An asyncio protocol around one connection of the core: it moves bytes, and reads the clock.

Compiled with the core: it runs once for every chunk read. asyncio asks for the methods of a
protocol, not for its base class, which a compiled class could not have.
"""

from __future__ import annotations

import time
from asyncio import AbstractEventLoop, Transport
from collections import deque
from collections.abc import Callable
from typing import Final

from mypy_extensions import mypyc_attr

from gossamer.broker.broker import Broker
from gossamer.broker.connection import Connection
from gossamer.broker.policy import Meter, Origin
from gossamer.broker.settings import Settings
from gossamer.net.clock import Clock
from gossamer.session.outlet import Sink

# Why a connection is not read from now; each reason ends by itself.
WRITE_BLOCKED: Final = 1  # the client does not read what we send
CORE_BUSY: Final = 2  # its login is being decided
OVER_RATE: Final = 4
TURN_OVER: Final = 8  # it has had its share of this turn

# A chunk is handled in slices of this size, with a look at the clock between them. Where one slice
# took longer than two turns (small packets, each with much work), the next ones of its connection
# are smaller.
SLICE_BYTES: Final = 8_192
SMALLEST_SLICE_BYTES: Final = 512

# Work on all that had their turn and have more, after which the loop looks at its sockets: a client
# that sends little waits for this line, and not for everybody in it.
LINE_SECONDS: Final = 0.001

# Time for last words to a client that does not read them.
CLOSING_SECONDS: Final = 5.0


class Host:
    """What all connections of a process share: the broker, and the end of each turn."""

    def __init__(
        self,
        broker: Broker,
        loop: AbstractEventLoop,
        end_turn: Callable[[], None],
        clock: Clock | None = None,
    ) -> None:
        self.broker = broker
        self.loop = loop
        self.clock = clock if clock is not None else Clock()
        self.journal = broker.core.journal
        self._end_turn = end_turn
        self._scheduled = False
        self._line: deque[SocketSink] = deque()  # connections with more than one turn of work
        self._line_moves = False

    def stand_in_line(self, sink: SocketSink) -> None:
        """Its next turn comes when those before it have had theirs."""
        self._line.append(sink)
        if not self._line_moves:
            self._line_moves = True
            self.loop.call_soon(self._serve_line)

    def _serve_line(self) -> None:
        """A turn for each at most; who is left comes first the next time."""
        line = self._line
        ends = time.perf_counter() + LINE_SECONDS
        for _ in range(len(line)):
            line.popleft().next_turn()
            if time.perf_counter() >= ends:
                break
        self._line_moves = len(line) > 0
        if self._line_moves:
            self.loop.call_soon(self._serve_line)

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
class Door:
    """What the connections of one listener share. This one lets everybody in."""

    def __init__(self, name: str, settings: Settings | None = None) -> None:
        self.name = name
        self.settings = settings  # None for the broker's own
        self.write_buffer = 1_048_576  # unsent bytes past which QoS 0 to a client is dropped
        self.turn_seconds = 0.000_25  # of work for one connection, then the others come

    def admit(self, address: str, cut: Callable[[], None]) -> int:
        """The ticket of a connection from there, 0 if it may not stay; `leave` is called with it.

        `cut` ends it, should others need its place before it has logged in.
        """
        return 1

    def recut(self, address: str, ticket: int, cut: Callable[[], None]) -> None:
        """Another way to end it."""

    def welcome(self, address: str, ticket: int) -> None:
        """It has logged in."""

    def leave(self, address: str, ticket: int) -> None:
        """It has ended."""

    def meter(self, address: str, now: float) -> Meter | None:
        """The rate limits of a new connection, None if there are none."""
        return None

    def certificate_user(self, transport: Transport) -> str:
        """The name in a verified client certificate, "" without one."""
        return ""


@mypyc_attr(allow_interpreted_subclasses=True)
class SocketSink(Sink):
    """One client's socket. With a ticket it was admitted before, as `address`."""

    def __init__(self, host: Host, door: Door, address: str | None = None, ticket: int = 0) -> None:
        self.host = host
        self.door = door
        self.address = address
        self.transport: Transport | None = None
        self.connection: Connection | None = None
        self._meter: Meter | None = None
        self.was_made = False
        self._ticket = ticket
        self._pauses = 0
        self._rest = b""  # of a chunk that took longer than the connection's turn
        self._rest_at = 0
        self._slice = SLICE_BYTES

    # What asyncio calls -------------------------------------------------------------------------

    def connection_made(self, transport: Transport) -> None:
        self.transport = transport
        address = self.address
        if address is None:
            address = _peer_address(transport)
        door = self.door
        self.was_made = True
        if self._ticket:
            door.recut(address, self._ticket, self.cut)
        else:
            self._ticket = door.admit(address, self.cut)
        if not self._ticket:
            self.host.broker.core.counters.connections_refused += 1
            transport.abort()
            return
        now = self.host.clock.now()
        transport.set_write_buffer_limits(high=door.write_buffer)
        self._meter = door.meter(address, now)
        origin = Origin(address, door.name, door.certificate_user(transport), door.settings)
        self.connection = self.host.broker.open(self, origin, now)

    def data_received(self, data: bytes) -> None:
        connection = self.connection
        if connection is None:
            return
        if self._rest:
            self._rest = self._rest[self._rest_at :] + data
            self._rest_at = 0
            return
        now = self.host.clock.now()
        if len(data) <= self._slice and self._meter is None:
            connection.receive(data, now)
        else:
            self._receive_slices(connection, data, 0, now)
        self.host.after_chunk(now)

    def eof_received(self) -> bool:
        return False  # closes the transport

    def connection_lost(self, error: Exception | None) -> None:
        connection = self.connection
        self.transport = None
        if connection is not None:
            self.connection = None
            self.door.leave(connection.origin.address, self._ticket)
            now = self.host.clock.now()
            if self._rest:
                connection.receive(self._rest[self._rest_at :], now)
                self._rest = b""
            connection.lost(now)
            self.host.after_chunk(now)

    def cut(self) -> None:
        """Ends it now, for the core too: its place is free when this returns."""
        self.host.broker.core.counters.connections_refused += 1
        self.abort()
        self.connection_lost(None)

    def pause_writing(self) -> None:
        """The client does not read: QoS 0 to it is dropped, and it is not listened to either.

        A neighbour is: two brokers that each wait for the other to read would wait for ever.
        """
        connection = self.connection
        if connection is not None:
            connection.outlet.blocked = True
            if not connection.is_peer:
                self._pause(WRITE_BLOCKED)

    def resume_writing(self) -> None:
        connection = self.connection
        if connection is not None:
            now = self.host.clock.now()
            self._resume(WRITE_BLOCKED)
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
            connection = self.connection
            if connection is not None and connection.outlet.blocked:
                self.host.loop.call_later(CLOSING_SECONDS, transport.abort)

    def abort(self) -> None:
        transport = self.transport
        if transport is not None:
            transport.abort()

    def welcomed(self) -> None:
        connection = self.connection
        if connection is not None:
            self.door.welcome(connection.origin.address, self._ticket)

    def unsent_bytes(self) -> int:
        transport = self.transport
        return 0 if transport is None else transport.get_write_buffer_size()

    def unread_bytes(self) -> int:
        return len(self._rest)

    def pause_reading(self) -> None:
        self._pause(CORE_BUSY)

    def resume_reading(self) -> None:
        self._resume(CORE_BUSY)

    # How fast it may be -------------------------------------------------------------------------

    def _receive_slices(self, connection: Connection, data: bytes, start: int, now: float) -> None:
        """Handles as much as the turn and the rates allow; the rest waits in `_rest`."""
        end = len(data)
        began = time.perf_counter()
        turn_seconds = self.door.turn_seconds
        turn_ends = began + turn_seconds
        while start < end:
            stop = start + self._slice
            part = data if start == 0 and stop >= end else data[start:stop]
            if self._meter is None:
                connection.receive(part, now)
            else:
                self._receive_metered(connection, self._meter, part, now)
            start = stop
            done = time.perf_counter()
            if done - began > 2.0 * turn_seconds:
                self._slice = max(self._slice >> 1, SMALLEST_SLICE_BYTES)
            elif self._slice < SLICE_BYTES:
                self._slice <<= 1
            began = done
            if start < end and (self._pauses & OVER_RATE or done >= turn_ends):
                self._rest = data
                self._rest_at = start
                self._pause(TURN_OVER)
                if not self._pauses & OVER_RATE:
                    self.host.stand_in_line(self)
                return
        self._rest = b""
        self._resume(TURN_OVER)

    def next_turn(self) -> None:
        connection = self.connection
        if connection is None or not self._rest:
            return
        now = self.host.clock.now()
        self._receive_slices(connection, self._rest, self._rest_at, now)
        self.host.after_chunk(now)

    def _receive_metered(
        self, connection: Connection, meter: Meter, data: bytes, now: float
    ) -> None:
        if connection.is_peer:
            self._meter = None  # rates are for clients; a neighbour speaks for many
            connection.receive(data, now)
            return
        counters = self.host.broker.core.counters
        before = counters.messages_received
        connection.receive(data, now)
        seconds = meter.pause_after(counters.messages_received - before, len(data), now)
        if seconds > 0.0:
            connection.last_seen = now + seconds  # it is we who do not listen
            self._pause(OVER_RATE)
            self.host.loop.call_later(seconds, self._rate_is_kept)

    def _rate_is_kept(self) -> None:
        self._resume(OVER_RATE)
        self.next_turn()

    def _pause(self, reason: int) -> None:
        transport = self.transport
        was_reading = self._pauses == 0
        self._pauses |= reason
        if was_reading and transport is not None and not transport.is_closing():
            transport.pause_reading()

    def _resume(self, reason: int) -> None:
        transport = self.transport
        was_paused = self._pauses != 0
        self._pauses &= ~reason
        if transport is None or transport.is_closing():
            return
        if was_paused and self._pauses == 0:
            transport.resume_reading()


def _peer_address(transport: Transport) -> str:
    """The peer's address; "" if it has none (a Unix socket)."""
    return plain_address(transport.get_extra_info("peername"))


def plain_address(peer: object) -> str:
    """Of what a socket says about its peer: the address, "" if it has none."""
    if not isinstance(peer, tuple):
        return ""
    address = str(peer[0])
    return address[7:] if address.startswith("::ffff:") and "." in address else address
