"""What falls due when: one heap for keep-alives, expiries, delayed wills and time-outs.

A timer that fails, fails alone: the fault is noted, the timer comes again after a pause, and those
behind it run in time. A timer that has lost its point is cancelled and leaves the heap at once, so
that neither it nor what it is about is kept.

The heap is written by hand because every connection has a place in it: a timer knows its own, so
that there is no entry beside it, and compares by plain numbers.
"""

from typing import Final

from mypy_extensions import i32, i64, mypyc_attr

from gossamer.backoff import pause_after
from gossamer.broker.loop_turns import TIMER, LoopTurns
from gossamer.session.counters import Faults

# A timer that failed is tried again after one second, then two, four, … and at most this many.
LONGEST_RETRY_SECONDS: Final = 60.0
# A crowd of timers that are due at once is fired in slices, and others are served in between.
SLICE_SECONDS: Final = 0.000_5


@mypyc_attr(allow_interpreted_subclasses=True)
class Timer:
    """Something to do at a time. It is among the timers at most once: adding it again moves it."""

    # All are for `Timers` alone.
    due: float = 0.0
    ticket: i64 = 0  # of its `add`, by which what is due at one time comes in order; 0 for none
    place: i32 = -1  # in the heap; -1 while it is not there
    failures: i32 = 0  # in a row

    def fire(self, now: float) -> float:
        """Does it; the answer is the next time it is due, 0.0 for never."""
        return 0.0


class Timers:
    """Timers by time."""

    __slots__ = ("_count", "_faults", "_heap", "_turns", "is_behind")

    def __init__(self, faults: Faults | None = None, turns: LoopTurns | None = None) -> None:
        self._heap: list[Timer] = []  # none is due before the one at half its place
        self._count: i64 = 0
        self.is_behind = False  # more is due than one slice was enough for
        self._faults = faults if faults is not None else Faults()
        self._turns = turns if turns is not None else LoopTurns()

    def add(self, due: float, timer: Timer) -> None:
        self.cancel(timer)
        self._count += 1
        timer.ticket = self._count
        timer.due = due
        self._push(timer)

    def cancel(self, timer: Timer) -> None:
        """It will not fire; nothing happens if it was not added."""
        timer.ticket = 0
        self._take_out(timer)

    def _take_out(self, timer: Timer) -> None:
        place = timer.place
        if place < 0:
            return
        timer.place = -1
        last = self._heap.pop()
        if last is timer:
            return
        # The last one takes its place, and from there finds its own.
        if place and _is_before(last, self._heap[(place - 1) >> 1]):
            self._rise(last, place)
        else:
            self._sink(last, place)

    def next_due(self) -> float:
        """0.0 when there is nothing to do."""
        heap = self._heap
        return heap[0].due if heap else 0.0

    def run(self, now: float) -> None:
        """Everything due by `now`, each timer once; what comes up meanwhile waits. Where that is
        much, as long as a slice takes: then they are behind, and go on when this is called again.
        """
        last = self._count
        later: list[Timer] = []
        turns = self._turns
        began = at = turns.read()
        self.is_behind = False
        while self._heap and self._heap[0].due <= now:
            if at - began > SLICE_SECONDS:
                self.is_behind = True
                break
            timer = self._heap[0]
            due = timer.due
            self._take_out(timer)
            if timer.ticket > last:
                later.append(timer)
                continue
            timer.ticket = 0
            again = self._fire(timer, now)
            before, at = at, turns.read()
            if turns.part(at - before):
                turns.name_part(at - before, TIMER, type(timer).__name__.lstrip("_"))
            if again:
                self.add(max(again, due), timer)
        for timer in later:
            if timer.place < 0 and timer.ticket:  # nobody has moved or cancelled it meanwhile
                self._push(timer)

    def _fire(self, timer: Timer, now: float) -> float:
        try:
            again = timer.fire(now)
            timer.failures = 0
            return again
        except Exception as error:
            self._faults.note(type(timer).__name__, error, "", now)
            pause = pause_after(timer.failures, 1.0, LONGEST_RETRY_SECONDS)
            timer.failures += 1
            return now + pause

    def __len__(self) -> int:
        return len(self._heap)

    def _push(self, timer: Timer) -> None:
        place: i32 = len(self._heap)
        self._heap.append(timer)
        self._rise(timer, place)

    def _rise(self, timer: Timer, place: i32) -> None:
        """It is put where nobody before it is due later; those that are move down."""
        heap = self._heap
        while place > 0:
            above: i32 = (place - 1) >> 1
            other = heap[above]
            if not _is_before(timer, other):
                break
            heap[place] = other
            other.place = place
            place = above
        heap[place] = timer
        timer.place = place

    def _sink(self, timer: Timer, place: i32) -> None:
        """It is put where nobody behind it is due earlier; those that are move up."""
        heap = self._heap
        end: i32 = len(heap)
        while True:
            below: i32 = 2 * place + 1
            if below >= end:
                break
            other = heap[below]
            if below + 1 < end and _is_before(heap[below + 1], other):
                below += 1
                other = heap[below]
            if not _is_before(other, timer):
                break
            heap[place] = other
            other.place = place
            place = below
        heap[place] = timer
        timer.place = place


def _is_before(one: Timer, other: Timer) -> bool:
    return one.due < other.due or (one.due == other.due and one.ticket < other.ticket)
