"""How long the turns of the event loop are, and what held it when one was long.

A turn is one callback of the loop: until it ends, nobody else is served. The shell says when each
begins and ends and, where it is asked, whose it was; parts of a turn (a timer, a queue, a run of
the collector) are measured where one of them may be all of it. It is for the hot path: a turn that
is nothing special costs a few native operations, and nothing is allocated.
"""

from __future__ import annotations

import logging
from typing import Final

from mypy_extensions import i64, mypyc_attr

logger = logging.getLogger(__name__)

# A turn over this is counted by what held it, and logged: longer than clients of a broker nearby
# should ever wait.
LONG_SECONDS: Final = 0.05
# Between two lines in the log.
LOG_SECONDS: Final = 10.0
# A part below this has no name: together with its likes it may make a long turn, but it was not it.
PART_SECONDS: Final = 0.001
# "The last minute" is so many slots, and the one that is being filled.
SLOT_SECONDS: Final = 10.0
SLOTS: Final = 6
# Upper bounds of the histogram's buckets: each is twice the one before, from 64 µs to 8.4 s.
FIRST_BOUND: Final = 0.000_064
BOUNDS: Final = 18
# Of a name in the log; a client id may have 65,535 bytes.
NAME_CHARACTERS: Final = 100

# What can hold the loop: a label of the metric, and how the log says it with a name and without.
ADMIN: Final = "admin"
ARCHIVE: Final = "archive"
CLIENT: Final = "client"
COLLECTOR: Final = "collector"
JOURNAL: Final = "journal"
LINK: Final = "link"
LOGIN: Final = "login"
PROCESSOR: Final = "processor"
QUEUE: Final = "queue"
RELOAD: Final = "reload"
TIMER: Final = "timer"
TEXTS: Final = {
    ADMIN: ("the admin request %s", "an admin request"),
    ARCHIVE: ("upkeep of the archive (%s)", "upkeep of the archive"),
    CLIENT: ("input of client %s", "input of clients"),
    COLLECTOR: ("Python's garbage collector (%s)", "Python's garbage collector"),
    JOURNAL: ("the journal (%s)", "the journal"),
    LINK: ("the link to %s", "a link"),
    LOGIN: ("the login of client %s", "a login"),
    PROCESSOR: ("the answer of processor %s", "the answer of a processor"),
    QUEUE: ("the queue of client %s", "queues of clients"),
    RELOAD: ("reloading %s", "reloading the configuration"),
    TIMER: ("the timer %s", "timers"),
}


@mypyc_attr(allow_interpreted_subclasses=True)
class Stopwatch:
    """Where the shell's clock comes in. This one stands still: in a simulation turns take no
    time."""

    def read(self) -> float:
        """Seconds since some moment; it never goes back."""
        return 0.0


class TurnBucket:
    """Turns that took no longer than `bound`, and longer than the bucket before allows."""

    __slots__ = ("bound", "count")

    def __init__(self, bound: float) -> None:
        self.bound = bound
        self.count: i64 = 0


class HeldTurn:
    """One turn, and what held it."""

    __slots__ = ("about", "kind", "seconds")

    def __init__(self, seconds: float, kind: str, about: str) -> None:
        self.seconds = seconds
        self.kind = kind
        self.about = about


class LongTurns:
    """Those that one kind of work has made."""

    __slots__ = ("count", "longest")

    def __init__(self) -> None:
        self.count = 0
        self.longest = 0.0


class LoopTurns:
    """All turns of one loop. Times are readings of the stopwatch."""

    __slots__ = (
        "_bar",
        "_began",
        "_buckets",
        "_collected",
        "_left_out",
        "_logged_at",
        "_part_about",
        "_part_kind",
        "_part_seconds",
        "_slot_ends",
        "_slot_worst",
        "_stopwatch",
        "_worst",
        "collector_found",
        "collector_runs",
        "collector_seconds",
        "is_open",
        "long",
        "seconds",
    )

    def __init__(self) -> None:
        self._stopwatch = Stopwatch()
        self.is_open = False  # within a turn
        self.seconds = 0.0  # of all turns
        self._buckets = [TurnBucket(FIRST_BOUND * (1 << step)) for step in range(BOUNDS)]
        self._buckets.append(TurnBucket(float("inf")))
        self.long = {kind: LongTurns() for kind in TEXTS}
        self.collector_runs = 0
        self.collector_seconds = 0.0
        self.collector_found = 0  # objects that only it could free
        self._began = 0.0
        self._slot_worst = HeldTurn(0.0, "", "")  # the longest of this slot
        self._bar = 0.0  # a turn over this wants a name: it is long, or the longest of its slot
        self._slot_ends = 0.0
        self._worst: list[HeldTurn] = []  # of the slots before, the newest last
        self._part_seconds = PART_SECONDS  # the longest part of this turn
        self._part_kind = ""
        self._part_about = ""
        self._collected = 0.0  # by the collector within this turn
        self._logged_at = -LOG_SECONDS
        self._left_out = 0  # long turns since then

    def measure_with(self, stopwatch: Stopwatch) -> None:
        self._stopwatch = stopwatch

    def read(self) -> float:
        """The stopwatch."""
        return self._stopwatch.read()

    # A turn -------------------------------------------------------------------------------------

    def begin(self, at: float) -> None:
        """A turn that was not ended, because it failed, is forgotten."""
        self._began = at
        self.is_open = True
        self._part_seconds = PART_SECONDS
        self._collected = 0.0

    def end(self, at: float) -> bool:
        """Whether it wants a name: then `name` is called, before the next turn begins."""
        self.is_open = False
        seconds = at - self._began
        self.seconds += seconds
        buckets = self._buckets
        index = 0
        while seconds > buckets[index].bound:
            index += 1
        buckets[index].count += 1
        if at >= self._slot_ends:
            self._next_slot(at)
        return seconds > self._bar

    def name(self, at: float, kind: str, about: str) -> None:
        """The turn that ended `at` was this, unless most of it was one of its parts."""
        seconds = at - self._began
        part = self._longest_part()
        is_part = 2.0 * part.seconds >= seconds
        if is_part:
            turn = HeldTurn(seconds, part.kind, part.about)
        else:
            turn = HeldTurn(seconds, kind, about)
        if seconds > self._slot_worst.seconds:
            self._slot_worst = turn
            self._bar = min(seconds, LONG_SECONDS)
        if seconds > LONG_SECONDS:
            long = self.long[turn.kind]
            long.count += 1
            long.longest = max(long.longest, seconds)
            self._log(turn, None if is_part or not part.kind else part, at)

    # Its parts ----------------------------------------------------------------------------------

    def part(self, seconds: float) -> bool:
        """Whether a part of so long wants a name: then `name_part` is called."""
        return seconds > self._part_seconds

    def name_part(self, seconds: float, kind: str, about: str) -> None:
        self._part_seconds = seconds
        self._part_kind = kind
        self._part_about = about

    def collected(self, began: float, ended: float, generation: int, found: int = 0) -> None:
        """The collector ran: within a turn it is a part of that, and else a turn of its own."""
        seconds = ended - began
        self.collector_runs += 1
        self.collector_seconds += seconds
        self.collector_found += found
        if self.is_open:
            self._collected += seconds
        elif seconds > PART_SECONDS:
            self.begin(began)
            if self.end(ended):
                self.name(ended, COLLECTOR, f"generation {generation}")

    def _longest_part(self) -> HeldTurn:
        """Its kind is empty if no part is worth a word."""
        if self._collected > self._part_seconds:
            return HeldTurn(self._collected, COLLECTOR, "")
        if self._part_seconds > PART_SECONDS:
            return HeldTurn(self._part_seconds, self._part_kind, self._part_about)
        return HeldTurn(0.0, "", "")

    # What is told -------------------------------------------------------------------------------

    def buckets(self) -> list[tuple[float, int]]:
        """Upper bounds, the last one infinite, and how many turns took no longer."""
        found: list[tuple[float, int]] = []
        total = 0
        for bucket in self._buckets:
            total += int(bucket.count)
            found.append((bucket.bound, total))
        return found

    def worst(self) -> HeldTurn:
        """The longest turn of the last minute; with an empty kind if there was none."""
        found = self._slot_worst
        for turn in self._worst:
            if turn.seconds > found.seconds:
                found = turn
        return found

    def long_turns(self) -> int:
        return sum([one.count for one in self.long.values()])

    def _next_slot(self, at: float) -> None:
        if at >= self._slot_ends + SLOTS * SLOT_SECONDS:
            self._worst.clear()  # nothing happened for a minute, or this is the first turn
        else:
            self._worst.append(self._slot_worst)
            del self._worst[:-SLOTS]
        self._slot_worst = HeldTurn(0.0, "", "")
        self._bar = 0.0
        self._slot_ends = at + SLOT_SECONDS

    def _log(self, turn: HeldTurn, part: HeldTurn | None, at: float) -> None:
        if at - self._logged_at < LOG_SECONDS:
            self._left_out += 1
            return
        left_out = self._left_out
        self._logged_at = at
        self._left_out = 0
        logger.warning(
            "the event loop was held for %.0f ms by %s%s%s",
            turn.seconds * 1e3,
            described(turn),
            "" if part is None else f", {part.seconds * 1e3:.0f} ms of it {described(part)}",
            f" ({left_out} more long turns since it was last logged)" if left_out else "",
        )


def described(turn: HeldTurn) -> str:
    """What held it. Names come from the network: they are cut and quoted."""
    with_name, without = TEXTS[turn.kind]
    about = turn.about
    if not about:
        return without
    if turn.kind in (CLIENT, LINK, LOGIN, QUEUE):
        about = repr(about[:NAME_CHARACTERS])
    return with_name % about[: NAME_CHARACTERS + 2]


class MeasuredTurn:
    """`with MeasuredTurn(turns, ADMIN, "GET /health"):` is one turn; for what is not often done."""

    __slots__ = ("_about", "_kind", "_turns")

    def __init__(self, turns: LoopTurns, kind: str, about: str = "") -> None:
        self._turns = turns
        self._kind = kind
        self._about = about

    def __enter__(self) -> None:
        self._turns.begin(self._turns.read())

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        at = self._turns.read()
        if self._turns.end(at):
            self._turns.name(at, self._kind, self._about)
