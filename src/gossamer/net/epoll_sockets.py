"""Plain sockets under one epoll object of our own, which the event loop watches as one descriptor.

A client costs here what the kernel needs and one small object: no handle of the loop, no protocol,
no socket object of Python. Who is ready is read in one pass, and what that caused is written at its
end. The pass is one turn of the loop; it ends after half a millisecond, wherever it is, and goes on
there the next time, so that others that the loop serves (TLS, timers, the store) wait for that.

An event says no more than that it is worth a try: whether somebody said something, ended its side
or was lost is what reading answers. So an event for a descriptor that has been closed meanwhile,
and given to somebody else, does no harm. Descriptors are closed between passes.
"""

from __future__ import annotations

import logging
import os
import select
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, final

from mypy_extensions import i32, mypyc_attr, u8

from gossamer.net.socket_transport import SocketTransport, plain_address

if TYPE_CHECKING:
    from gossamer.net.transport import SocketSink
    from gossamer.net.turns import Host

    # Makes the sink of a connection, from the client's address and its ticket.
    MakeSink = Callable[[str, int], SocketSink]

logger = logging.getLogger(__name__)

# Time after which the loop looks at everything else it has; a pass that finds nothing more ends
# before.
PASS_SECONDS: Final = 0.000_5
# Events that are asked for at once: what they cause is written before the next ones are read. Fewer
# than the outboxes that one turn of the broker writes.
MOST_EVENTS: Final = 64
# Bytes read before what they caused is written: a receiver gets no more at once than from one
# client that sends all it can.
MOST_BYTES: Final = 262_144
# A client that says little gets a small buffer at each read; one that fills it a large one, until
# it says little again.
SMALL_READ: Final = 2_048
LARGE_READ: Final = 256_000
# Connections that are accepted at once; one while others wait for their turn, so that a crowd that
# comes and goes waits outside, where it costs nothing, and everybody gets in all the same.
MOST_ACCEPTED: Final = 16
# The kernel has no more descriptors: trying again at once would only burn time.
ACCEPT_PAUSE_SECONDS: Final = 0.5

_READ: Final = 1  # EPOLLIN
_WRITE: Final = 4  # EPOLLOUT

_read_from: Final[Callable[[int, int], bytes]] = os.read
_write_to: Final[Callable[[int, bytes | bytearray], int]] = os.write


def epoll_sockets(host: Host) -> EpollSockets | None:
    """For the connections of this host; None on systems without epoll, where the loop has them."""
    return EpollSockets(host) if hasattr(select, "epoll") else None


class EpollSockets:
    """All of one event loop, until `close`."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self.epoll: Any = select.epoll()
        self._poll: Callable[[float, int], list[tuple[int, int]]] = self.epoll.poll
        self._by_descriptor: list[EpollTransport | None] = []
        self._acceptors: dict[int, EpollAcceptor] = {}
        self._events: list[tuple[int, int]] = []
        self._next = 0  # of these events, the first that was not looked at
        self._ended: list[EpollTransport] = []  # to be told of, and closed
        self._is_closed = False
        host.loop.add_reader(self.epoll.fileno(), self._pass)

    def connect(self, descriptor: int, sink: SocketSink) -> None:
        """A connection stands, on a socket that does not block and is ours from now on."""
        transport = EpollTransport(self, descriptor, sink)
        known = self._by_descriptor
        while len(known) <= descriptor:
            known.append(None)
        known[descriptor] = transport
        try:
            sink.begin(transport)
        except Exception:
            transport.abort()
            raise
        transport.watch()

    def remove(self, descriptor: int) -> None:
        """Nobody is told of its events any more; it can be closed."""
        self._by_descriptor[descriptor] = None

    def accept(self, listening: socket.socket, make_sink: MakeSink) -> EpollAcceptor:
        """From now on whoever connects there."""
        acceptor = EpollAcceptor(self, listening, make_sink)
        self._acceptors[listening.fileno()] = acceptor
        return acceptor

    def accept_no_more(self, descriptor: int) -> None:
        del self._acceptors[descriptor]

    def end_soon(self, transport: EpollTransport) -> None:
        self._ended.append(transport)
        if len(self._ended) == 1:
            self.host.loop.call_soon(self._end)

    def close(self) -> None:
        """The loop ends, and with it every connection that is left."""
        if self._is_closed:
            return
        self._is_closed = True
        self.host.loop.remove_reader(self.epoll.fileno())
        self._end()
        for acceptor in list(self._acceptors.values()):
            acceptor.close()
        for transport in self._by_descriptor:
            if transport is not None:
                transport.abort()
        self._end()
        self.epoll.close()

    def _end(self) -> None:
        while self._ended:
            ended = self._ended
            self._ended = []
            for transport in ended:
                try:
                    transport.end()
                except Exception as error:
                    self.host.failed("the end of a connection", error)
            if not self._is_closed:
                return

    def _pass(self) -> None:
        host = self.host
        ends = host.begin_pass() + PASS_SECONDS
        try:
            while True:
                if self._next >= len(self._events):
                    self._events = self._poll(0.0, MOST_EVENTS)
                    self._next = 0
                    if not self._events:
                        break
                is_over = self._serve(ends)
                host.write_pass()
                if is_over or host.pass_at >= ends:
                    break
        finally:
            host.end_pass()

    def _serve(self, ends: float) -> bool:
        """Those that are ready; True if the pass was over before all had been looked at."""
        host = self.host
        events = self._events
        known = self._by_descriptor
        count = 0
        at = self._next
        while at < len(events):
            descriptor, event = events[at]
            at += 1
            self._next = at
            transport = known[descriptor] if descriptor < len(known) else None
            if transport is None:
                self._accept_from(descriptor)
            else:
                try:
                    count += transport.ready(event)
                except Exception as error:
                    host.failed("a turn", error)
                    transport.abort()
            if count >= MOST_BYTES:
                host.write_pass()
                count = 0
            if host.pass_at >= ends:
                return True
        return False

    def _accept_from(self, descriptor: int) -> None:
        """Nobody, if it was that of a connection which has ended."""
        acceptor = self._acceptors.get(descriptor)
        if acceptor is not None:
            try:
                acceptor.accept()
            except Exception as error:
                self.host.failed("a turn", error)


@final
@mypyc_attr(acyclic=True)
class EpollTransport(SocketTransport):
    """One connection; it and its sink know each other until `end`."""

    def __init__(self, sockets: EpollSockets, descriptor: int, sink: SocketSink) -> None:
        self._sockets = sockets
        self._sink: SocketSink | None = sink
        self._unsent: bytearray | None = None
        self._descriptor: i32 = descriptor
        self._most_unsent: i32 = 65_536
        # Of one byte, and so together: between wider fields each would take eight.
        self._watched: u8 = 0  # the events that the poll was asked for
        self._is_read = True
        self._reads_much = False
        self._is_closing = False
        self._is_ending = False
        self._is_behind = False  # more than `_most_unsent` is, and the sink was told

    # What the poll calls ------------------------------------------------------------------------

    def ready(self, event: int) -> int:
        if self._unsent is not None and event & ~_READ:
            self._send_more()
        if event == _WRITE or self._is_ending:
            return 0
        if not self._is_read:
            self.watch()  # no longer for that: what pauses for a moment is not worth a system call
            return 0
        return self._read()

    def _read(self) -> int:
        sink = self._sink
        try:
            data = _read_from(self._descriptor, LARGE_READ if self._reads_much else SMALL_READ)
        except BlockingIOError:
            return 0  # the event was for somebody who had this descriptor before
        except OSError:
            self.abort()
            return 0
        size = len(data)
        if sink is None:
            return 0
        if size == 0:
            self._is_read = False
            self.watch()
            if not sink.eof_received():
                self.close()
            return 0
        self._reads_much = size >= SMALL_READ
        sink.data_received(data)
        return size

    def _send_more(self) -> None:
        unsent = self._unsent
        sink = self._sink
        if unsent is None or sink is None:
            return
        sent = self._send(unsent)
        if sent < 0:
            return
        left = len(unsent) - sent
        if left:
            del unsent[:sent]
        else:
            self._unsent = None
        if self._is_behind and left <= self._most_unsent // 2:
            self._is_behind = False
            sink.resume_writing()
        if self.get_write_buffer_size():
            return
        if self._is_closing:
            self._finish()
        else:
            self.watch()

    def _send(self, data: bytes | bytearray) -> int:
        """How much the socket took; less than nothing if it is lost."""
        try:
            return _write_to(self._descriptor, data)
        except BlockingIOError:
            return 0
        except OSError:
            self.abort()
            return -1

    def watch(self) -> None:
        """Has the poll tell what is waited for now. What nothing is waited for is not in it: there
        a socket that is lost would be told of again and again."""
        if self._is_ending:
            return
        wanted: u8 = _READ if self._is_read else 0
        if self._unsent is not None:
            wanted |= _WRITE
        watched = self._watched
        if wanted == watched:
            return
        epoll = self._sockets.epoll
        self._watched = wanted
        if not watched:
            epoll.register(self._descriptor, wanted)
        elif wanted:
            epoll.modify(self._descriptor, wanted)
        else:
            epoll.unregister(self._descriptor)

    def _finish(self) -> None:
        """Its sink hears of the end in the loop's next turn."""
        if self._is_ending:
            return
        self._unsent = None
        self._is_read = False
        self.watch()
        self._is_ending = True
        self._sockets.end_soon(self)

    def end(self) -> None:
        """Tells its sink, and closes the descriptor."""
        sink = self._sink
        self._sink = None
        self._sockets.remove(self._descriptor)
        try:
            if sink is not None:
                sink.connection_lost(None)
        finally:
            os.close(self._descriptor)

    # What the sink calls ------------------------------------------------------------------------

    def write(self, data: bytes) -> None:
        if self._is_closing:
            return
        unsent = self._unsent
        if unsent is None:
            sent = self._send(data)
            if sent < 0 or sent == len(data):
                return
            unsent = bytearray(memoryview(data)[sent:])
            self._unsent = unsent
            self.watch()
        else:
            unsent += data
        if not self._is_behind and len(unsent) > self._most_unsent:
            self._is_behind = True
            if self._sink is not None:
                self._sink.pause_writing()

    def get_write_buffer_size(self) -> int:
        unsent = self._unsent
        return 0 if unsent is None else len(unsent)

    def set_write_buffer_limit(self, most: int) -> None:
        self._most_unsent = most

    def pause_reading(self) -> None:
        self._is_read = False

    def resume_reading(self) -> None:
        if not self._is_closing:
            self._is_read = True
            self.watch()

    def close(self) -> None:
        if self._is_closing:
            return
        self._is_closing = True
        self._is_read = False
        if self._unsent is None:
            self._finish()

    def abort(self) -> None:
        self._is_closing = True
        self._finish()

    def is_closing(self) -> bool:
        return self._is_closing


class EpollAcceptor:
    """Accepts connections from a listening socket that does not block, until `close`."""

    def __init__(
        self, sockets: EpollSockets, listening: socket.socket, make_sink: MakeSink
    ) -> None:
        self._sockets = sockets
        self._listening = listening
        # What `accept` is made of: a descriptor, and no object around it.
        self._accept: Callable[[], tuple[int, Any]] = listening._accept  # type: ignore[attr-defined]
        self._make_sink = make_sink
        self._descriptor = listening.fileno()
        self._is_closed = False
        self._is_watched = False
        self._watch()

    def accept(self) -> None:
        sockets = self._sockets
        for _ in range(1 if sockets.host.has_line() else MOST_ACCEPTED):
            if not self._is_watched:
                break
            try:
                descriptor, peer = self._accept()
            except (BlockingIOError, ConnectionAbortedError):
                break
            except OSError as error:
                logger.warning("cannot accept a connection: %s", error)
                self._ignore()
                sockets.host.loop.call_later(ACCEPT_PAUSE_SECONDS, self._watch)
                break
            os.set_blocking(descriptor, False)
            sockets.connect(descriptor, self._make_sink(plain_address(peer), 0))

    def _watch(self) -> None:
        if not self._is_closed:
            self._is_watched = True
            self._sockets.epoll.register(self._descriptor, _READ)

    def _ignore(self) -> None:
        if self._is_watched:
            self._is_watched = False
            self._sockets.epoll.unregister(self._descriptor)

    def close(self) -> None:
        if not self._is_closed:
            self._is_closed = True
            self._ignore()
            self._sockets.accept_no_more(self._descriptor)
            self._listening.close()
