"""What moves the bytes of one connection of the core, in turns (`turns.py`), over a socket that the
event loop has, or our own poll (`socket_transport.py`).

Compiled with the core: it runs once for every chunk read. asyncio asks for the methods of a
protocol, not for its base class, which a compiled class could not have; the poll calls the same.
"""

from __future__ import annotations

from asyncio import Transport
from collections.abc import Callable
from typing import Final

from mypy_extensions import mypyc_attr

from gossamer.broker.connection import Connection
from gossamer.broker.core import CLOSED, OPEN
from gossamer.broker.policy import Origin, RateMeter
from gossamer.broker.settings import Settings
from gossamer.net.socket_transport import LoopTransport, SocketTransport
from gossamer.net.turns import Host
from gossamer.session.sink import Sink

# Why a connection is not read from now; each reason ends by itself.
WRITE_BLOCKED: Final = 1  # the client does not read what we send
CORE_BUSY: Final = 2  # its login is being decided
OVER_RATE: Final = 4
TURN_OVER: Final = 8  # it has had its share of this turn

# A chunk is handled in slices, with a look at the clock between them. They grow to this size where
# packets are little work, and shrink where one slice takes longer than a turn. What a newcomer's
# packets cost is not known yet, so its first slices are small; the smallest is one packet.
SLICE_BYTES: Final = 8_192
FIRST_SLICE_BYTES: Final = 128
SMALLEST_SLICE_BYTES: Final = 8

# So much at once is handled when it comes, whoever else is in line; where its sender is known for
# packets that are much work, so little.
SMALL_BYTES: Final = 1_024
LITTLE_BYTES: Final = 64

# Unsent bytes past which a client is behind, and what it has not read is counted.
BEHIND_BYTES: Final = 65_536

# About what the end of a connection takes that closes by itself.
ENDING_SECONDS: Final = 0.000_02

# Time for last words to a client that does not read them.
CLOSING_SECONDS: Final = 5.0


@mypyc_attr(allow_interpreted_subclasses=True)
class ConnectionPolicy:
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

    def meter(self, address: str, now: float) -> RateMeter | None:
        """The rate limits of a new connection, None if there are none."""
        return None

    def certificate_user(self, transport: SocketTransport) -> str:
        """The name in a verified client certificate, "" without one."""
        return ""


@mypyc_attr(allow_interpreted_subclasses=True)
class SocketSink(Sink):
    """One client's socket. With a ticket it was admitted before, as `address`."""

    def __init__(
        self, host: Host, policy: ConnectionPolicy, address: str | None = None, ticket: int = 0
    ) -> None:
        self.host = host
        self.policy = policy
        self.address = address
        self.transport: SocketTransport | None = None
        self.connection: Connection | None = None
        self._meter: RateMeter | None = None
        self.was_made = False
        self._ticket = ticket
        self._pauses = 0
        self._rest = b""  # of a chunk that took longer than the connection's turn
        self._rest_at = 0
        self._slice = FIRST_SLICE_BYTES
        self._is_behind = False  # more is unsent than a socket should need
        self._is_lost = False  # by the network, while something that it said is still to be handled

    # What asyncio and the poll call -------------------------------------------------------------

    def connection_made(self, transport: Transport) -> None:
        self.begin(LoopTransport(transport))

    def begin(self, transport: SocketTransport) -> None:
        """The connection stands."""
        host = self.host
        began = host.begin_turn()
        self._begin(transport, host.clock.at(began))
        host.turn_over(self.connection)

    def _begin(self, transport: SocketTransport, now: float) -> None:
        self.transport = transport
        address = self.address
        if address is None:
            address = transport.peer_address()
        policy = self.policy
        self.was_made = True
        if self._ticket:
            policy.recut(address, self._ticket, self.cut)
        else:
            self._ticket = policy.admit(address, self.cut)
        if not self._ticket:
            self.host.broker.core.counters.connections_refused += 1
            transport.abort()
            return
        transport.set_write_buffer_limit(min(policy.write_buffer, BEHIND_BYTES))
        self._meter = policy.meter(address, now)
        origin = Origin(address, policy.name, policy.certificate_user(transport), policy.settings)
        self.connection = self.host.broker.open(self, origin, now)

    def data_received(self, data: bytes) -> None:
        connection = self.connection
        if connection is None:
            return
        if self._rest or self._pauses & (TURN_OVER | CORE_BUSY):
            self._keep(self._rest[self._rest_at :] + data, 0)
            return
        host = self.host
        began = host.begin_turn()
        now = host.clock.at(began)
        small = SMALL_BYTES if self._slice >= FIRST_SLICE_BYTES else LITTLE_BYTES
        is_login = connection.stage < OPEN
        if len(data) <= small and self._meter is None and not (is_login and host.is_late(0.0)):
            connection.receive(data, now)
            ended = host.read_clock()
            seconds = ended - began
            self._note_cost(len(data), seconds)
            if is_login:  # logins of a crowd stand in line, once they have taken long enough
                host.is_late(seconds)
            if connection.is_unfinished():
                self._wait_for_turn(b"", 0)
            if host.is_pass:  # one look at the clock for each chunk
                host.part_over(connection, ended)
                return
        elif host.is_late(0.0):
            self._wait_for_turn(data, 0, is_first=True)
        else:
            self._receive_slices(connection, data, 0, began)
        if not host.is_pass:  # which writes at its end
            host.broker.end_turn(now)
            host.go_on_later()
        host.turn_over(connection)

    def eof_received(self) -> bool:
        """The client says no more: what it said is handled, and then it is gone. True if the
        transport is closed then; it closes by itself at once where that cannot be (TLS), and where
        nobody else does the same at this moment."""
        connection = self.connection
        transport = self.transport
        is_late = self.host.is_late(ENDING_SECONDS)
        if connection is None or transport is None or not is_late:
            return False
        if self._is_lost or transport.is_encrypted():
            return False
        self._lose()
        return True

    def connection_lost(self, error: Exception | None) -> None:
        """What it said before is still handled, in its turns; then it is gone. Of a crowd that is
        lost at once, each has a turn for that."""
        self.transport = None
        self._is_behind = False
        connection = self.connection
        if connection is None or self._is_lost:
            return
        connection.outbox.is_behind(0, 0)
        host = self.host
        if self._pauses & TURN_OVER or host.is_late(0.0):
            self._lose()
            return
        began = host.begin_turn()
        self._gone(host.clock.at(began))
        host.is_late(host.read_clock() - began)
        host.turn_over(connection)

    def _lose(self) -> None:
        """What is left to do for it has its turns; the last of them ends it."""
        self._is_lost = True
        self._meter = None
        if not self._pauses & TURN_OVER:
            self._pauses |= TURN_OVER
            self.host.leave_in_line(self)
        elif self._pauses & OVER_RATE:  # or it stands in line already
            self._pauses &= ~OVER_RATE
            self.host.stand_in_line(self)

    def _gone(self, now: float) -> None:
        connection = self.connection
        if connection is not None:
            self._leave(connection, now)
            self.host.after_chunk(now)

    def _leave(self, connection: Connection, now: float) -> None:
        self.connection = None
        self._keep(b"", 0)
        transport = self.transport
        if transport is not None:  # the client has ended its side, and waited for this turn
            transport.close()
        connection.outbox.is_behind(0, 0)
        self.policy.leave(connection.origin.address, self._ticket)
        connection.lost(now)

    def cut(self) -> None:
        """Ends it now, for the core too: its place is free when this returns."""
        self.host.broker.core.counters.connections_refused += 1
        self.abort()
        self.transport = None
        self._gone(self.host.clock.now())

    def pause_writing(self) -> None:
        """The client is behind: from now on what it has not read is counted."""
        self._is_behind = True
        transport = self.transport
        if transport is not None:
            self._count_unsent(transport)

    def _count_unsent(self, transport: SocketTransport) -> None:
        """Past what it may have unsent, QoS 0 to it is dropped, and it is not listened to either.

        A neighbour is: two brokers that each wait for the other to read would wait for ever.
        """
        connection = self.connection
        if connection is None:
            return
        unsent = transport.get_write_buffer_size()
        if connection.outbox.is_behind(unsent, self.policy.write_buffer):
            connection.outbox.blocked = True
            if not connection.is_peer:
                self._pause(WRITE_BLOCKED)

    def resume_writing(self) -> None:
        self._is_behind = False
        connection = self.connection
        if connection is not None:
            connection.outbox.is_behind(0, 0)
            if connection.outbox.blocked:
                host = self.host
                began = host.read_clock()
                is_part = host.turns.is_open  # of the turn that wrote, and had room at once
                if not is_part:
                    host.turns.begin(began)
                now = host.clock.at(began)
                self._resume(WRITE_BLOCKED)
                connection.unblocked(now)
                host.after_chunk(now)
                if not is_part:
                    host.turn_over(connection)

    # What the core calls ------------------------------------------------------------------------

    def write(self, data: bytes) -> None:
        transport = self.transport
        if transport is not None:
            transport.write(data)
            if self._is_behind:
                self._count_unsent(transport)

    def close(self) -> None:
        transport = self.transport
        if transport is not None:
            transport.close()
            connection = self.connection
            if connection is not None and connection.outbox.blocked:
                self.host.loop.call_later(CLOSING_SECONDS, transport.abort)

    def abort(self) -> None:
        transport = self.transport
        if transport is not None:
            transport.abort()

    def welcomed(self) -> None:
        connection = self.connection
        if connection is not None:
            self.policy.welcome(connection.origin.address, self._ticket)

    def unsent_bytes(self) -> int:
        transport = self.transport
        return 0 if transport is None else transport.get_write_buffer_size()

    def unread_bytes(self) -> int:
        return len(self._rest)

    def takes_turns(self) -> bool:
        return True

    def settle(self) -> None:
        connection = self.connection
        if connection is None or not self._is_lost:
            return
        now = self.host.clock.now()
        connection.receive(self._rest[self._rest_at :], now)
        while connection.is_unfinished():
            connection.proceed(now)
        self._leave(connection, now)

    def pause_reading(self) -> None:
        self._pause(CORE_BUSY)

    def resume_reading(self) -> None:
        """What came meanwhile has its turns from now on."""
        connection = self.connection
        is_unfinished = connection is not None and connection.is_unfinished()
        if (self._rest or is_unfinished) and not self._pauses & TURN_OVER:
            self._wait_for_turn(self._rest, self._rest_at)
        self._resume(CORE_BUSY)

    # How fast it may be -------------------------------------------------------------------------

    def _receive_slices(
        self, connection: Connection, data: bytes, start: int, first: float
    ) -> None:
        """Handles as much as the turn and the rates allow; the rest waits in `_rest`. It began
        when the stopwatch showed `first`."""
        host = self.host
        now = host.clock.at(first)
        end = len(data)
        began = first
        turn_seconds = self.policy.turn_seconds
        turn_ends = began + turn_seconds
        is_over = False
        while start < end:
            # A packet that is all here is not left in pieces, which are charged to its sender; a
            # turn that is over ends with that packet.
            missing = connection.missing()
            stop = start + (missing if is_over else max(self._slice, missing))
            part = data if start == 0 and stop >= end else data[start:stop]
            if self._meter is None:
                connection.receive(part, now)
            else:
                self._receive_metered(connection, self._meter, part, now)
            start = stop
            done = host.read_clock()
            if self._slice < SLICE_BYTES and done - began < 0.25 * turn_seconds:
                self._slice <<= 1
            else:
                self._note_cost(self._slice, done - began)
            began = done
            if self._pauses & CORE_BUSY:
                self._keep(data if start < end else b"", start)
                self._pauses &= ~TURN_OVER
                return
            is_over = done >= turn_ends and not host.is_crowded()
            is_between = not 0 < connection.missing() <= end - start
            if connection.is_unfinished() or (
                start < end and (bool(self._pauses & OVER_RATE) or (is_over and is_between))
            ):
                host.is_late(done - first)
                self._wait_for_turn(data if start < end else b"", start)
                return
        host.is_late(began - first)
        self._keep(b"", 0)
        self._resume(TURN_OVER)

    def _note_cost(self, size: int, seconds: float) -> None:
        """So many bytes were so much work: the next slice is what one turn is enough for."""
        turn_seconds = self.policy.turn_seconds
        if seconds > turn_seconds:
            fits = int(size * turn_seconds / seconds)
            self._slice = max(min(self._slice >> 1, fits), SMALLEST_SLICE_BYTES)

    def _keep(self, data: bytes, start: int) -> None:
        """What follows `start` is to be handled later."""
        self.host.waiting_bytes += len(data) - len(self._rest)
        self._rest = data
        self._rest_at = start

    def _wait_for_turn(self, data: bytes, start: int, is_first: bool = False) -> None:
        """There is more to do for it than one turn takes: what follows `start`, and what the core
        has not finished."""
        self._keep(data, start)
        self._pause(TURN_OVER)
        if not self._pauses & OVER_RATE:
            self.host.stand_in_line(self, is_first)

    def wait_for_turn(self) -> None:
        """The core has not finished with what it was given."""
        if not self._pauses & TURN_OVER:
            self._wait_for_turn(b"", 0)

    def next_turn(self) -> None:
        connection = self.connection
        if connection is None or not self._pauses & TURN_OVER:
            return
        began = self.host.read_clock()
        now = self.host.clock.at(began)
        if connection.is_unfinished():
            connection.proceed(now)
            if connection.is_unfinished() or (self._rest and connection.stage != CLOSED):
                self._wait_for_turn(self._rest, self._rest_at)
                self.host.after_chunk(now)
                return
            began = self.host.read_clock()
        if connection.stage == CLOSED:
            self._keep(b"", 0)
        self._receive_slices(connection, self._rest, self._rest_at, began)
        if self._is_lost and not self._pauses & TURN_OVER:
            self._gone(now)
        else:
            self.host.after_chunk(now)

    def _receive_metered(
        self, connection: Connection, meter: RateMeter, data: bytes, now: float
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
        connection = self.connection
        self.host.turns.begin(self.host.read_clock())
        self._resume(OVER_RATE)
        self.next_turn()
        self.host.turn_over(connection)

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
        if transport is None or self._is_lost or transport.is_closing():
            return
        if was_paused and self._pauses == 0:
            transport.resume_reading()
