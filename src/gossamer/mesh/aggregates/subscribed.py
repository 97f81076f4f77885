"""An aggregate over time that this broker's clients subscribed to, as long as somebody is.

It has two forms. *Raw*: other brokers send what it reads, and the operator counts it. *Partial*:
every broker counts its own part, and the parts are put together here. The form changes between two
windows only, so that each counts in one of them: what the next form needs is told to the others at
least `LEAD_SECONDS` before.

A result is sent when all brokers have answered that are known and can be reached, at the latest
`GRACE_SECONDS` after the end. Brokers that are missing in it are named in User Properties. What
comes later corrects it, once for each broker; nothing more is expected after `kept_seconds`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from gossamer.broker.operator_subscriptions import Operation
from gossamer.mesh.aggregates.directory import WantedWindow
from gossamer.mesh.aggregates.drawing import set_draws
from gossamer.mesh.aggregates.gathering import Gathering
from gossamer.mesh.aggregates.partial import Partial
from gossamer.plus.engine import read_key
from gossamer.plus.partial_codec import Counts
from gossamer.plus.temporal import SINCE_PROPERTY, TemporalState, written_time
from gossamer.plus.values import INFINITY

if TYPE_CHECKING:
    from gossamer.broker.core import Core

# For clocks that differ, and for the way.
GRACE_SECONDS: Final = 2.0
# After a start links have to come up first.
START_SECONDS: Final = 10.0
LEAD_SECONDS: Final = 2.0
# How far ahead another broker's clock may be: what it counted waits for the window to end here.
_EARLY_SECONDS: Final = 60.0
# How long a window may still be corrected: so many seconds, or windows, whichever is longer.
_KEPT_SECONDS: Final = 600.0
_KEPT_WINDOWS: Final = 3
# The room of the store that has what came of windows that are not complete.
ROOM: Final = "mesh/windows"
# Beside that, the windows whose results were sent; no broker's name is empty.
_FIRED: Final = "//fired"
# In the User Properties of a result.
MISSING_PROPERTY: Final = "plus_missing"  # a broker whose counts are not in it
CORRECTION_PROPERTY: Final = "plus_correction"  # the window whose result this corrects
MOST_NAMED: Final = 100


class SubscribedWindow:
    """One operation. `missing`, `corrections` and `late` are for those who look after it."""

    def __init__(
        self, core: Core, operation: Operation, state: TemporalState, wanted: WantedWindow
    ) -> None:
        self._core = core
        self.operation = operation
        self._state = state
        self.wanted = wanted
        self.gatherings: dict[int, Gathering] = {}
        self._kept_windows = math.ceil(kept_seconds(wanted.seconds) / wanted.seconds)
        self._early_windows = math.ceil(_EARLY_SECONDS / wanted.seconds)
        self._done: dict[int, None] = {}  # windows that are complete
        self._last = -1  # the latest window with a result
        self.missing: list[str] = []  # in the last window that ended
        self.windows = 0  # that had a result, or would have
        self.corrections = 0
        self.late = 0  # counts that came when nothing was expected any more

    def operator(self) -> str:
        """The filter, as it was subscribed."""
        return read_key(self.wanted.key)[0]

    # The form -----------------------------------------------------------------------------------

    def is_partial(self) -> bool:
        """Now, or from a next window on."""
        return self.operation.gathers_from != INFINITY

    def gather(self) -> None:
        """From the beginning; what was remembered here is in what this broker counts."""
        self._state.released()
        self.operation.gathers_from = 0.0
        self._set_draws(False)

    def choose(self, is_partial: bool, now: float) -> bool:
        """Takes that form as soon as it may. Whether others have to count for it."""
        operation = self.operation
        wall = now + self._core.wall_offset
        until = operation.gathers_until
        if until + GRACE_SECONDS <= wall and not self._is_gathering(until):
            operation.gathers_from = operation.gathers_until = INFINITY
        if is_partial:
            if operation.gathers_from == INFINITY:
                operation.gathers_from = self._next_start(wall)
            elif operation.gathers_until > wall:
                operation.gathers_until = INFINITY
        elif wall < operation.gathers_from:
            operation.gathers_from = INFINITY
        elif operation.gathers_until == INFINITY:
            operation.gathers_until = self._next_start(wall)
        self._set_draws(wall < operation.gathers_from or operation.gathers_until != INFINITY)
        return self.is_partial()

    def _next_start(self, wall: float) -> float:
        seconds = self.wanted.seconds
        return math.ceil((wall + LEAD_SECONDS) / seconds) * seconds

    def _is_gathering(self, until: float) -> bool:
        return any(
            not gathering.is_fired and gathering.number * self.wanted.seconds < until
            for gathering in self.gatherings.values()
        )

    def _set_draws(self, draws: bool) -> None:
        """Tells the neighbours what has to be sent here, or need not be any more."""
        set_draws(self._core, self.operation, draws)

    # Counts -------------------------------------------------------------------------------------

    def accepts(self, partial: Partial, now: float) -> bool:
        """Whether the piece is of a window that is open here, and new."""
        number = partial.number
        seconds = self.wanted.seconds
        operation = self.operation
        if not operation.gathers_from <= number * seconds < operation.gathers_until:
            return False
        current = self._current(now)
        latest = current + self._early_windows
        if number in self._done or not current - self._kept_windows <= number <= latest:
            self.late += 1
            return False
        gathering = self.gatherings.get(number)
        return gathering is None or not gathering.has_piece(partial.broker, partial.piece)

    def take(self, partial: Partial, counts: Counts) -> None:
        """A piece that it accepts."""
        gathering = self._gathering(partial.number)
        self._keep(gathering, partial)
        gathering.take(partial.broker, partial.since, partial.piece, partial.pieces, counts)

    def take_own(self, partials: list[Partial], counts: Counts) -> None:
        """All pieces of what was counted here; it accepts them."""
        first = partials[0]
        gathering = self._gathering(first.number)
        for partial in partials:
            self._keep(gathering, partial)
        gathering.take(first.broker, first.since, 0, 1, counts)

    def _keep(self, gathering: Gathering, partial: Partial) -> None:
        if self._core.journal.keeps:
            place = partial.place()
            self._core.journal.keep(ROOM, place, partial.packed())
            gathering.places.append(place)

    def end(self, number: int, deadline: float, is_hurried: bool) -> None:
        """The window has ended here."""
        if number not in self._done:
            gathering = self._gathering(number)
            if not gathering.is_fired:
                gathering.deadline = min(gathering.deadline, deadline)
                gathering.is_hurried = is_hurried

    def was_fired(self, number: int) -> None:
        """An earlier process sent the result of what it had then."""
        gathering = self._gathering(number)
        gathering.is_fired = True
        gathering.counted = len(gathering.since)
        for result in self._state.results_from(gathering.topics):
            gathering.note_sent(result)

    def next_deadline(self) -> float:
        return min(
            [each.deadline for each in self.gatherings.values() if not each.is_fired],
            default=INFINITY,
        )

    def settle(self, brokers: set[str], reached: set[str], now: float) -> None:
        """Sends the results that are due, of these `brokers`, of whom the others are not waited
        for, and lets go of what nothing is expected of any more."""
        seconds = self.wanted.seconds
        for number in sorted(self.gatherings):
            gathering = self.gatherings[number]
            missing = gathering.missing(brokers, (number + 1) * seconds)
            if gathering.is_fired:
                self._correct(gathering, missing, now)
            elif gathering.is_due(missing, reached, now):
                self._fire(gathering, missing, now)
        oldest = self._current(now) - self._kept_windows
        for number in [number for number in self.gatherings if number < oldest]:
            self._release(number)
        for number in [number for number in self._done if number < oldest]:
            del self._done[number]

    def close(self) -> None:
        """Nobody has subscribed to it for a while."""
        for number in list(self.gatherings):
            self._release(number)

    def _gathering(self, number: int) -> Gathering:
        gathering = self.gatherings.get(number)
        if gathering is None:
            gathering = Gathering(self._state, number, INFINITY)
            self.gatherings[number] = gathering
        return gathering

    def _fire(self, gathering: Gathering, missing: list[str], now: float) -> None:
        start = gathering.number * self.wanted.seconds
        gathering.is_fired = True
        gathering.counted = len(gathering.since)
        self.windows += 1
        self.missing = missing
        user = [(MISSING_PROPERTY, broker) for broker in missing[:MOST_NAMED]]
        since = gathering.counted_since(start, start + self.wanted.seconds)
        if since > start:
            user.append((SINCE_PROPERTY, written_time(since)))
        results = self._state.results_from(gathering.topics)
        for result in results:
            if missing:
                gathering.note_sent(result)
            self.operation.send(result, now, user)
        if results and gathering.number > self._last:
            self._last = gathering.number
            self._state.remember(results)
        if missing:
            if self._core.journal.keeps:
                place = self._fired_place(gathering.number)
                self._core.journal.keep(ROOM, place, b"%d" % gathering.number)
        else:
            self._release(gathering.number)

    def _correct(self, gathering: Gathering, missing: list[str], now: float) -> None:
        """What has changed since the last result, if anything came that was missing then."""
        if len(gathering.since) == gathering.counted:
            return
        gathering.counted = len(gathering.since)
        start = gathering.number * self.wanted.seconds
        user = [(CORRECTION_PROPERTY, written_time(start))]
        user += [(MISSING_PROPERTY, broker) for broker in missing[:MOST_NAMED]]
        results = self._state.results_from(gathering.topics)
        for result in results:
            if gathering.sent.get(result.topic) != result.payload:
                gathering.note_sent(result)
                self.corrections += 1
                self.operation.send(result, now, user)
        if gathering.number == self._last and results:
            self._state.remember(results)
        if not missing:
            self._release(gathering.number)

    def _release(self, number: int) -> None:
        gathering = self.gatherings.pop(number)
        self._done[number] = None
        if self._core.journal.keeps:
            for place in gathering.places:
                self._core.journal.drop(ROOM, place)
            if gathering.is_fired:
                self._core.journal.drop(ROOM, self._fired_place(number))
        gathering.release()

    def _fired_place(self, number: int) -> str:
        return f"{self.wanted.name}/{number}{_FIRED}"

    def _current(self, now: float) -> int:
        return math.floor((now + self._core.wall_offset) / self.wanted.seconds)


def kept_seconds(seconds: float) -> float:
    """For how long a window of that length may be corrected."""
    return max(_KEPT_SECONDS, _KEPT_WINDOWS * seconds)


def is_fired_place(place: str) -> bool:
    return place.endswith(_FIRED)
