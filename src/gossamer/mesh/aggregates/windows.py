"""Aggregates over time, counted by the whole mesh: each broker counts what enters there, and sends
one broker for each operator and window what it counted, in place of every message.

The brokers that want a window are in the directory that everybody keeps. At its end each broker
sends them its part as a directed message, which arrives once, over whatever links stand then. The
broker with the subscribers puts the parts together.
"""

from __future__ import annotations

import logging
import math
from typing import TYPE_CHECKING, Final

from gossamer.broker.operator_subscriptions import Operation
from gossamer.broker.timers import Timer
from gossamer.mesh.aggregates.counting import Counting, OwnCounts
from gossamer.mesh.aggregates.directory import WantedWindow, WindowDirectory, wanted_window
from gossamer.mesh.aggregates.partial import KIND, MOST_PIECES, Partial, read_partial
from gossamer.mesh.aggregates.subscribed import (
    GRACE_SECONDS,
    ROOM,
    START_SECONDS,
    SubscribedWindow,
    is_fired_place,
    kept_seconds,
)
from gossamer.mesh.aggregates.values import COUNTING_MODES, MeshValues
from gossamer.mesh.directed.message import DirectedMessage
from gossamer.mesh.directed.router import DirectedHandler
from gossamer.mesh.json_fields import malformed
from gossamer.mesh.link import Link
from gossamer.mesh.settings import WINDOWS
from gossamer.plus.counted_windows import CountedWindows, EndedWindow
from gossamer.plus.engine import AskedOperator, read_key
from gossamer.plus.partial_codec import Counts, packed_pieces, unpacked_piece
from gossamer.plus.plan import PlusError
from gossamer.plus.temporal import TemporalState
from gossamer.plus.values import INFINITY
from gossamer.wire.errors import ProtocolError

if TYPE_CHECKING:
    from gossamer.mesh.mesh import Mesh

logger = logging.getLogger(__name__)

# What is counted leaves when the store has it: told earlier, it might be counted once more by a
# broker that was killed and does not know that it told it.
_QOS: Final = 2


class MeshWindows(DirectedHandler):
    """One broker's part in it, as a handler of what others counted."""

    def __init__(self, mesh: Mesh) -> None:
        self._mesh = mesh
        self._core = mesh.core
        self._name = mesh.settings.name
        self.directory = WindowDirectory(mesh)
        self.values = MeshValues(mesh, self.directory)
        self.counting = Counting(mesh.core, self._report_ended, self.values.announce)
        self.values.counting = self.counting
        self.subscribed: dict[str, SubscribedWindow] = {}  # by the name of the window
        self.ignored = 0  # counts of windows that nobody here asked for
        self._by_key: dict[str, SubscribedWindow] = {}
        self._ends: dict[float, _WindowEnds] = {}  # by the length of windows
        self._deadline = _Deadline(self)
        self._look = _Look(self)
        self._seen = (-1, -1, "")  # what the forms of operators were chosen by
        self._seen_members = (-1, -1)
        self._brokers: set[str] = set()
        self._reached: set[str] = set()
        self._checked: tuple[DirectedMessage, Partial, Counts] | None = None
        mesh.router.handlers[KIND] = self

    def is_on(self) -> bool:
        """Whether this broker takes part."""
        return self._mesh.settings.is_joint and WINDOWS in self._mesh.settings.capabilities

    def load(self, now: float) -> None:
        """What an earlier life left, and what was subscribed to before there was a mesh."""
        self.directory.load(now)
        for wanted in list(self.directory.wanted.values()):
            if self._name in wanted.brokers:
                try:
                    plan = self._core.operators.engine.parse(read_key(wanted.key)[0])
                except PlusError:
                    self.directory.want_no_more(wanted.name)  # configured no more
                    continue
                self._core.operators.reopen(AskedOperator(plan, wanted.options), now)
        for operation in list(self._core.operators.operations.values()):
            if operation.state.key not in self._by_key:
                self.opened(operation, now)
        self._look_at_touched(now)
        self._load_gathered(now)

    def _load_gathered(self, now: float) -> None:
        """Pieces that came, and, by themselves, the windows whose results were sent already."""
        fired: list[tuple[SubscribedWindow, int]] = []
        for place, stored in self._core.rooms.pop(ROOM, {}).items():
            subscribed = self.subscribed.get(place.partition("/")[0])
            try:
                if subscribed is None:
                    raise ValueError("nobody is subscribed to it any more")
                if is_fired_place(place):
                    fired.append((subscribed, int(stored)))
                    continue
                partial = read_partial(stored)
                counts = unpacked_piece(partial.data, subscribed.wanted.function)
            except (ProtocolError, ValueError):
                self._core.journal.drop(ROOM, place)
                continue
            subscribed.take(partial, counts)
            if partial.broker == self._name:
                subscribed.end(partial.number, now + START_SECONDS, False)
        for subscribed, number in fired:
            subscribed.was_fired(number)
        self._expect_deadline()

    # Operations ---------------------------------------------------------------------------------

    def opened(self, operation: Operation, now: float) -> None:
        """Somebody subscribes to an operator, or may come back to it."""
        state = operation.state
        temporal = state.plan.temporal
        self.values.opened(operation, now)
        if temporal is None or not isinstance(state, TemporalState):
            return
        if not temporal.window.is_plain():
            return  # it has no number: other brokers send what it reads
        engine = self._core.operators.engine
        try:
            wanted = wanted_window(
                engine, state.key, temporal.window.keyword, temporal.window.seconds
            )
        except ValueError:
            return
        was_told = wanted.name in self.directory.wanted and (
            self._name in self.directory.wanted[wanted.name].brokers
        )
        subscribed = SubscribedWindow(self._core, operation, state, wanted)
        self._by_key[state.key] = subscribed
        self.subscribed[wanted.name] = subscribed
        self._expect_end(wanted.seconds, now)
        if was_told or (self._is_partial_wanted(now) and not state.is_open()):
            subscribed.gather()
            self._want(subscribed, now)
        else:
            self._choose(subscribed, now)
        self._expect_look(now)

    def closed(self, operation: Operation) -> None:
        self.values.closed(operation)
        subscribed = self._by_key.pop(operation.state.key, None)
        if subscribed is not None:
            subscribed.close()
            del self.subscribed[subscribed.wanted.name]
            self.directory.want_no_more(subscribed.wanted.name)

    def _want(self, subscribed: SubscribedWindow, now: float) -> None:
        """Here too it is counted from now on, not from when the turn ends."""
        self.counting.begin(self.directory.want(subscribed.wanted), now)

    def _choose(self, subscribed: SubscribedWindow, now: float) -> None:
        if subscribed.choose(self._is_partial_wanted(now), now):
            self._want(subscribed, now)
        else:
            self.directory.want_no_more(subscribed.wanted.name)

    def _is_partial_wanted(self, now: float) -> bool:
        """Only if all brokers that can be reached count; the others are named as missing."""
        mesh = self._mesh
        return (
            mesh.settings.aggregates != "raw"
            and mesh.settings.mode in COUNTING_MODES
            and all(self.directory.counts(name, now) for name in mesh.tree_links.view.tree)
        )

    # Turns and times ----------------------------------------------------------------------------

    def end_turn(self, now: float) -> None:
        self.directory.end_turn(now)
        if self.directory.touched:
            self._look_at_touched(now)
        seen = (self.directory.changes, self._mesh.reachability.changes, self._mesh.settings.mode)
        if seen != self._seen:
            self._seen = seen
            for subscribed in self.subscribed.values():
                self._choose(subscribed, now)
            self.settle(now)
            self._expect_look(now)
            self.values.members_changed(now)

    def look_again(self, now: float) -> None:
        """A broker may have had its time to say that it counts."""
        self.directory.changes += 1
        self.end_turn(now)

    def _expect_look(self, now: float) -> None:
        at = self.directory.next_look(now)
        if self.subscribed and at != INFINITY:
            self._core.timers.add(at, self._look)

    def clock_set(self, now: float) -> None:
        for seconds, timer in self._ends.items():
            self._core.timers.add(self._next_end(seconds, now), timer)

    def forget(self, broker: str, now: float) -> None:
        """That broker will not come back."""
        self.directory.forget(broker, now)

    def _look_at_touched(self, now: float) -> None:
        """Counts what somebody wants now, and no more what nobody does."""
        touched = list(self.directory.touched)
        self.directory.touched.clear()
        for name in touched:
            wanted = self.directory.wanted.get(name)
            if not isinstance(wanted, WantedWindow):
                self.values.touched(name, wanted, now)
            elif self.counting.begin(wanted, now):
                self._expect_end(wanted.seconds, now)
            if wanted is None:
                self.counting.end(name)

    def _expect_end(self, seconds: float, now: float) -> None:
        timer = self._ends.get(seconds)
        due = self._next_end(seconds, now)
        if timer is None:
            timer = self._ends[seconds] = _WindowEnds(self, seconds)
            due = now  # after a start, windows may have ended already
        elif timer.ticket:
            due = min(due, timer.due)
        self._core.timers.add(due, timer)

    def _next_end(self, seconds: float, now: float) -> float:
        offset = self._core.wall_offset
        return (math.floor((now + offset) / seconds) + 1) * seconds - offset

    def ended(self, seconds: float, now: float) -> float:
        """Windows of this length have ended. When the next ones do; 0.0 if there are none."""
        counts = [each for each in self.counting.counts.values() if each.wanted.seconds == seconds]
        for each in counts:
            self._report_ended(each, now)
        subscribed = [each for each in self.subscribed.values() if each.wanted.seconds == seconds]
        for one in subscribed:
            self._choose(one, now)
        self._core.operators.save()
        if not counts and not subscribed:
            del self._ends[seconds]
            return 0.0
        self.settle(now)
        return self._next_end(seconds, now)

    def counted(self, state: CountedWindows, now: float) -> None:
        """What it had to wait for is in."""
        for each in list(self.counting.counts.values()):
            if each.state is state:
                self.ended(each.wanted.seconds, now)

    def settle(self, now: float) -> None:
        """Sends the results that are due."""
        if not self.subscribed:
            return
        brokers, reached = self._members(now)
        for subscribed in self.subscribed.values():
            subscribed.settle(brokers, reached, now)
        self._expect_deadline()

    def _members(self, now: float) -> tuple[set[str], set[str]]:
        """All brokers that are known, and those of them that can answer."""
        directory = self.directory
        reaching = self._mesh.reachability
        seen = (directory.changes, reaching.changes)
        if seen != self._seen_members:
            self._seen_members = seen
            self._brokers = directory.brokers()
            self._reached = {
                name
                for name in self._brokers
                if name == self._name or (reaching.is_reached(name) and directory.counts(name, now))
            }
        return self._brokers, self._reached

    def _expect_deadline(self) -> None:
        due = min([each.next_deadline() for each in self.subscribed.values()], default=INFINITY)
        if due != INFINITY:
            self._core.timers.add(due, self._deadline)

    # Counts -------------------------------------------------------------------------------------

    def _report_ended(self, counts: OwnCounts, now: float) -> None:
        """In the turn in which they are taken: a killed broker has told them, or still has them."""
        for ended in counts.counted.take_ended(now):
            self._report(counts.window, ended, counts.counted.since, now)

    def _report(self, wanted: WantedWindow, ended: EndedWindow, since: float, now: float) -> None:
        """To all who want it."""
        packed = packed_pieces(ended.topics)[:MOST_PIECES]
        partials = [
            Partial(wanted.name, ended.number, self._name, since, piece, len(packed), data)
            for piece, data in enumerate(packed)
        ]
        own = self.subscribed.get(wanted.name)
        for broker in wanted.brokers:
            if broker != self._name:
                for partial in partials:
                    directed = partial.directed(broker, kept_seconds(wanted.seconds), now)
                    self._mesh.router.send(directed, _QOS, now)
        if own is not None and own.accepts(partials[0], now):
            own.take_own(partials, ended.topics)
            own.end(ended.number, now + GRACE_SECONDS, True)

    def check(self, directed: DirectedMessage) -> None:
        self._checked = self._read(directed)

    def _read(self, directed: DirectedMessage) -> tuple[DirectedMessage, Partial, Counts] | None:
        """ProtocolError if it is malformed; None if nobody here wants it."""
        partial = read_partial(directed.message.payload)
        if partial.broker == self._name:
            raise malformed("a window that was counted here")
        subscribed = self.subscribed.get(partial.window)
        if subscribed is None:
            return None
        try:
            counts = unpacked_piece(partial.data, subscribed.wanted.function)
        except ValueError as error:
            raise malformed(f"a malformed window: {error}") from None
        return directed, partial, counts

    def run(self, directed: DirectedMessage, origin: Link, now: float) -> None:
        """Checked before, if somebody here wants it; else, after a change, it is checked here."""
        checked = self._checked
        self._checked = None
        if checked is None or checked[0] is not directed:
            checked = self._read(directed)
        if checked is None:
            self.ignored += 1
            return
        _, partial, counts = checked
        subscribed = self.subscribed.get(partial.window)
        if subscribed is not None and subscribed.accepts(partial, now):
            subscribed.take(partial, counts)
            subscribed.settle(*self._members(now), now)
        else:
            self.ignored += 1


class _WindowEnds(Timer):
    """Of all windows of one length."""

    def __init__(self, windows: MeshWindows, seconds: float) -> None:
        self._windows = windows
        self._seconds = seconds

    def fire(self, now: float) -> float:
        return self._windows.ended(self._seconds, now)


class _Deadline(Timer):
    """When a result is sent without what is missing."""

    def __init__(self, windows: MeshWindows) -> None:
        self._windows = windows

    def fire(self, now: float) -> float:
        self._windows.settle(now)
        return 0.0


class _Look(Timer):
    """When it is known better who counts."""

    def __init__(self, windows: MeshWindows) -> None:
        self._windows = windows

    def fire(self, now: float) -> float:
        self._windows.look_again(now)
        return 0.0
