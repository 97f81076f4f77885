"""What falls due when: one heap for keep-alives, expiries, delayed wills and time-outs.

A timer that fails, fails alone: the fault is noted, the timer comes again after a pause, and those
behind it run in time. A timer that has lost its point is cancelled, so that
neither it nor what it is about is kept.
"""

import heapq
from typing import Final

from mypy_extensions import mypyc_attr

from gossamer.backoff import pause_after
from gossamer.broker.loop_turns import TIMER, LoopTurns
from gossamer.session.counters import Faults

# A timer that failed is tried again after one second, then two, four, … and at most this many.
LONGEST_RETRY_SECONDS: Final = 60.0
# Cancelled entries are swept out once there are more of them than of the others, and than this.
_FEW: Final = 64
# A crowd of timers that are due at once is fired in slices, and others are served in between; the
# clock is read for each timer, and once for so many entries that are passed over.
SLICE_SECONDS: Final = 0.000_5
_PASSED: Final = 256


@mypyc_attr(allow_interpreted_subclasses=True)
class Timer:
    """Something to do at a time. It is among the timers at most once: adding it again moves it."""

    # Both are for `Timers` alone.
    ticket: int = 0  # of its entry; 0 while it has none
    failures: int = 0  # in a row

    def fire(self, now: float) -> float:
        """Does it; the answer is the next time it is due, 0.0 for never."""
        return 0.0


class Timers:
    """Timers by time."""

    __slots__ = ("_count", "_faults", "_heap", "_stale", "_turns", "is_behind")

    def __init__(self, faults: Faults | None = None, turns: LoopTurns | None = None) -> None:
        self._heap: list[tuple[float, int, Timer]] = []
        self._count = 0
        self._stale = 0  # entries whose timer was moved or cancelled
        self.is_behind = False  # more is due than one slice was enough for
        self._faults = faults if faults is not None else Faults()
        self._turns = turns if turns is not None else LoopTurns()

    def add(self, due: float, timer: Timer) -> None:
        self.cancel(timer)
        self._count += 1
        timer.ticket = self._count
        heapq.heappush(self._heap, (due, self._count, timer))

    def cancel(self, timer: Timer) -> None:
        """It will not fire; nothing happens if it was not added."""
        if not timer.ticket:
            return
        timer.ticket = 0
        self._stale += 1
        if self._stale > _FEW and 2 * self._stale > len(self._heap):
            self._heap = [entry for entry in self._heap if entry[1] == entry[2].ticket]
            heapq.heapify(self._heap)
            self._stale = 0

    def next_due(self) -> float:
        """0.0 when there is nothing to do."""
        heap = self._heap
        while heap and heap[0][1] != heap[0][2].ticket:
            heapq.heappop(heap)
            self._stale -= 1
        return heap[0][0] if heap else 0.0

    def run(self, now: float) -> None:
        """Everything due by `now`, each timer once; what comes up meanwhile waits. Where that is
        much, as long as a slice takes: then they are behind, and go on when this is called again.
        """
        last = self._count
        later: list[tuple[float, int, Timer]] = []
        turns = self._turns
        began = at = turns.read()
        self.is_behind = False
        passed = 0
        while self._heap and self._heap[0][0] <= now:
            if at - began > SLICE_SECONDS:
                self.is_behind = True
                break
            entry = heapq.heappop(self._heap)
            timer = entry[2]
            if entry[1] != timer.ticket:
                self._stale -= 1
                passed += 1
                if passed % _PASSED == 0:
                    at = turns.read()
            elif entry[1] > last:
                later.append(entry)
            else:
                timer.ticket = 0
                again = self._fire(timer, now)
                before, at = at, turns.read()
                if turns.part(at - before):
                    turns.name_part(at - before, TIMER, type(timer).__name__.lstrip("_"))
                if again:
                    self.add(max(again, entry[0]), timer)
        for entry in later:
            heapq.heappush(self._heap, entry)

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
        return len(self._heap) - self._stale
