"""What all connections of a process share: the broker, and whose turn it is to be read.

A connection that has more to do than one turn takes stands in line, so that one that sends little
waits for a fraction of a millisecond and not for everybody. What a turn caused is written at its
end, and the journal gets it when the loop has read all.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from gossamer.broker.broker import Broker
from gossamer.broker.connection import Connection
from gossamer.broker.loop_turns import CLIENT, JOURNAL, LINK, QUEUE
from gossamer.broker.mesh_port import PEER_PREFIX
from gossamer.net.clock import Clock

if TYPE_CHECKING:
    from gossamer.net.epoll_sockets import EpollSockets
    from gossamer.net.transport import SocketSink

# Work on all that stand in line, after which the loop looks at its sockets: a client that sends
# little waits for this, and not for everybody. Once so much was done for those that have just sent,
# the others among them stand in line as well, before those who had their turn and have more.
LINE_SECONDS: Final = 0.000_5

# Work of the core after which what it has made counts as old for the collector: some thousand
# objects, which a walk over what is new takes a millisecond for.
AGEING_SECONDS: Final = 0.005

# How long a transaction collects that nobody waits for: what a client or a neighbour acknowledges
# until then is never written.
COLLECTING_SECONDS: Final = 0.005

# Input of all connections that may wait in line; beyond it a chunk is handled to its end.
MOST_WAITING_BYTES: Final = 64 << 20


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
        broker.divides = True
        self.loop = loop
        self.clock = clock if clock is not None else Clock()
        self.read_clock = self.clock.monotonic  # a stopwatch; `Clock.at` makes a time of it
        self.turns = broker.core.turns
        self.turns.measure_with(self.clock)
        self._collecting_since = 0.0
        self.count_as_old: Callable[[], None] | None = None  # asked now and then, of the collector
        self._old_at = 0.0  # when the turns will have taken so many seconds
        self.journal = broker.core.journal
        self._end_turn = end_turn
        self._scheduled = False
        self._collects = False  # a transaction that nobody waits for
        self._newcomers: deque[SocketSink] = deque()  # connections that wait for their first turn
        self._line: deque[SocketSink] = deque()  # those with more than one turn of work
        self._leavers: deque[SocketSink] = deque()  # those that the network has closed
        self._line_moves = False
        self.waiting_bytes = 0  # of input of those in line
        self._spent = 0.0  # seconds of work since the line was served, while it moves
        self.sockets: EpollSockets | None = None  # where plain sockets have a poll of their own
        self.is_pass = False  # within one over all of them that are ready
        self.pass_at = 0.0  # when that last looked at the stopwatch

    def stand_in_line(self, sink: SocketSink, is_first: bool = False) -> None:
        """Its next turn comes when those before it have had theirs; a first turn comes sooner."""
        if is_first:
            self._newcomers.append(sink)
        else:
            self._line.append(sink)
        self._move_line()

    def leave_in_line(self, sink: SocketSink) -> None:
        """It is lost, like many others at this moment: it has a turn for what is left to do."""
        self._leavers.append(sink)
        self._move_line()

    def is_late(self, seconds: float) -> bool:
        """So much was done for somebody: whether the others had better stand in line."""
        self._spent += seconds
        if self._spent < LINE_SECONDS:
            return False
        self._move_line()
        return not self.is_crowded()

    def has_line(self) -> bool:
        """Whether connections wait for their first turn, or for their last."""
        return bool(self._newcomers) or bool(self._leavers)

    def is_crowded(self) -> bool:
        """Whether no more input should wait in line."""
        return self.waiting_bytes > MOST_WAITING_BYTES

    def _move_line(self) -> None:
        if not self._line_moves:
            self._line_moves = True
            self.loop.call_soon(self._serve_line)

    def _serve_line(self) -> None:
        """A turn for each at most; who is left comes first the next time. Somebody who had a turn
        before has another one every time. Queues that have more to send take turns with them."""
        newcomers = self._newcomers
        leavers = self._leavers
        line = self._line
        broker = self.broker
        clock = self.clock
        turns = self.turns
        self._spent = 0.0
        at = self.read_clock()
        turns.begin(at)
        ends = at + LINE_SECONDS
        waiting = len(line)
        if waiting > 0:
            waiting -= 1
            at = self._serve(line.popleft(), at)
        broker.write_more(clock.at(at))
        while at < ends:
            if leavers:
                at = self._serve(leavers.popleft(), at)
            has_more = broker.has_more()
            if has_more:
                began = at
                client_id = broker.go_on(clock.at(began))
                at = self.read_clock()
                if turns.part(at - began):
                    turns.name_part(at - began, QUEUE, client_id)
            if newcomers:
                at = self._serve(newcomers.popleft(), at)
            elif waiting > 0:
                waiting -= 1
                at = self._serve(line.popleft(), at)
            elif not has_more and not leavers:
                break
        self._line_moves = (
            len(line) > 0
            or len(newcomers) > 0
            or len(leavers) > 0
            or broker.has_more()
            or broker.has_unwritten()
        )
        if self._line_moves:
            self.loop.call_soon(self._serve_line)
        self._end_turn_soon()
        if turns.end(at):
            turns.name(at, CLIENT, "")
        if turns.seconds >= self._old_at:
            self._grow_old()

    def _serve(self, sink: SocketSink, began: float) -> float:
        """The stopwatch after it."""
        connection = sink.connection  # it may be gone after this turn
        try:
            sink.next_turn()
        except Exception as error:  # it ends its connection, and not the line
            self.failed("a turn", error)
            sink.cut()
        ended = self.read_clock()
        if self.turns.part(ended - began):
            self.turns.name_part(ended - began, kind_of(connection), name_of(connection))
        return ended

    def begin_pass(self) -> float:
        """The turn of all plain sockets that are ready; each has a part of it."""
        at = self.read_clock()
        self.turns.begin(at)
        self.is_pass = True
        self.pass_at = at
        return at

    def write_pass(self) -> None:
        """Writes what was caused until now."""
        self.broker.end_turn(self.clock.at(self.pass_at))
        self.pass_at = self.read_clock()

    def failed(self, place: str, error: Exception) -> None:
        """It ends what it happened to, and nothing else."""
        self.broker.core.faults.note(place, error, "", self.clock.now())

    def end_pass(self) -> None:
        self.is_pass = False
        self.go_on_later()
        self.turn_over(None)

    def begin_turn(self) -> float:
        """The turn of one connection begins, or its part of a pass: what the stopwatch shows."""
        if self.is_pass:
            return self.pass_at
        at = self.read_clock()
        self.turns.begin(at)
        return at

    def turn_over(self, connection: Connection | None) -> None:
        """The end of a turn that was this connection's, or of its part of a pass."""
        at = self.read_clock()
        if self.is_pass:
            self.part_over(connection, at)
            return
        if self.turns.end(at):
            self.turns.name(at, kind_of(connection), name_of(connection))
        if self.turns.seconds >= self._old_at:
            self._grow_old()

    def part_over(self, connection: Connection | None, at: float) -> None:
        """The end of its part of a pass."""
        seconds = at - self.pass_at
        self.pass_at = at
        if self.turns.part(seconds):
            self.turns.name_part(seconds, kind_of(connection), name_of(connection))

    def link_turn_over(self, place: str) -> None:
        """The same of a link that this broker dialled."""
        at = self.read_clock()
        if self.is_pass:
            if self.turns.part(at - self.pass_at):
                self.turns.name_part(at - self.pass_at, LINK, place)
            self.pass_at = at
        elif self.turns.end(at):
            self.turns.name(at, LINK, place)

    def _grow_old(self) -> None:
        self._old_at = self.turns.seconds + AGEING_SECONDS
        if self.count_as_old is not None:
            self.count_as_old()

    def collector_ran(self, phase: str, info: dict[str, int]) -> None:
        """For `gc.callbacks`. It stops every thread, so it counts whichever began it."""
        if phase == "start":
            self._collecting_since = self.read_clock()
        else:
            found = info["collected"] + info["uncollectable"]
            ended = self.read_clock()
            self.turns.collected(self._collecting_since, ended, info["generation"], found)

    def after_chunk(self, now: float) -> None:
        """Writes what the chunk caused, and sees to what is left; a pass does that at its end."""
        if self.is_pass:
            return
        self.broker.end_turn(now)
        self.go_on_later()

    def go_on_later(self) -> None:
        """Who has more to send than one turn takes stands in line; the journal gets its turn when
        the loop has read all, or a little later if nobody waits for it."""
        if self.broker.has_more() or self.broker.has_unwritten():
            self._move_line()
        self._end_turn_soon()

    def _end_turn_soon(self) -> None:
        journal = self.journal
        if not journal.dirty or self._scheduled:
            return
        if journal.is_awaited:
            self._scheduled = True
            self.loop.call_soon(self._finish_turn)
        elif not self._collects:
            self._collects = True
            self.loop.call_later(COLLECTING_SECONDS, self._finish_collecting)

    def _finish_collecting(self) -> None:
        self._collects = False
        self._finish_turn()

    def _finish_turn(self) -> None:
        self._scheduled = False
        self.turns.begin(self.read_clock())
        self._end_turn()
        at = self.read_clock()
        if self.turns.end(at):
            self.turns.name(at, JOURNAL, "a transaction begins")


def kind_of(connection: Connection | None) -> str:
    """What the turn of a connection is counted as."""
    return LINK if connection is not None and connection.is_peer else CLIENT


def name_of(connection: Connection | None) -> str:
    """Its client or neighbour; before its login its address."""
    if connection is None:
        return ""
    name = connection.identity.client_id or connection.origin.address
    return name.removeprefix(PEER_PREFIX) if connection.is_peer else name
