"""Operators that begin late catch up from the archive: the open window, or the last values, as if
somebody had subscribed before.

A shell reads the archive up to the place where the operator began, beside the event loop
(`CatchUpPort`); the operator counts by itself what comes behind that place, so nothing is missed
and nothing counts twice. A window that ends meanwhile waits with its result. If something cannot be
read, the result of the window says since when it counts.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from mypy_extensions import mypyc_attr

from gossamer.broker.archive_port import ArchivePlace
from gossamer.broker.chores import Chore
from gossamer.broker.operator_subscriptions import Operation
from gossamer.plus.counted_windows import CountedWindows
from gossamer.plus.operators.aggregate import Aggregate
from gossamer.plus.past import Past, PastValue
from gossamer.plus.plan import OperatorPlan
from gossamer.plus.spatial import SpatialState
from gossamer.plus.state import OperatorState
from gossamer.plus.temporal import TemporalState

if TYPE_CHECKING:
    from gossamer.broker.core import Core

logger = logging.getLogger(__name__)

# Topics that are taken over in one turn: about a millisecond.
AT_ONCE: Final = 200
# So many microseconds lie between the orders of what was read and of what comes: rows of one time
# have orders that follow each other.
ORDER_GAP: Final = 1 << 16
FAILED: Final = "catch_up_failed"


class CatchUpRequest:
    """Rows before `place` with times in [start, end) of the wall clock, for `past`. Whoever reads
    them sets `trouble` if some cannot be had."""

    def __init__(
        self,
        state: OperatorState,
        operation: Operation | None,
        past: Past,
        place: ArchivePlace,
        start: float,
        end: float,
    ) -> None:
        self.state = state
        self.operation = operation
        self.past = past
        self.place = place
        self.start = start
        self.end = end
        self.reads = state.plan.reads
        self.trouble = ""


@mypyc_attr(allow_interpreted_subclasses=True)
class CatchUpPort:
    """Reads the archive. The base reads nothing, and is asked for nothing."""

    def __init__(self) -> None:
        self.is_on = False

    def start(self, request: CatchUpRequest) -> None:
        """Answered once, by `Broker.caught_up`. Must not block."""


class CatchingUp:
    """Of one broker."""

    def __init__(self, core: Core) -> None:
        self._core = core
        self.port = CatchUpPort()

    def serves(self, plan: OperatorPlan) -> bool:
        """Whether the archive has all that the operator reads."""
        if not self.port.is_on or plan.processor is not None:
            return False
        if plan.has_steps():
            return False  # what those remember begins with them
        if plan.temporal is None and plan.spatial is None:
            return False
        if plan.temporal is not None and not plan.temporal.window.tumbles:
            return False
        if plan.temporal is not None and not plan.temporal.window.tumbles:
            return False  # several are open at once, or each topic has its own
        return plan.is_within(self._core.routes.archived)

    def begin(self, state: OperatorState, operation: Operation | None, now: float) -> None:
        """For an operator that begins in this moment."""
        core = self._core
        place = core.archive.place()
        wall = now + core.wall_offset
        services = core.operators.engine.services
        vocabulary = core.operators.engine.vocabulary
        past = Past(
            state.plan,
            vocabulary,
            services.implicit_ttl,
            services.limits.topics,
            wall,
            services.encodings,
        )
        order = int(wall * 1e6) + ORDER_GAP
        if isinstance(state, TemporalState):
            start, end = state.await_past(order, now)
            request = CatchUpRequest(state, operation, past, place, start, end)
        elif isinstance(state, SpatialState):
            state.begin_after(order)
            if operation is not None and operation.early is None:
                operation.early = set()
            start = wall - services.implicit_ttl
            # Rows of the same moment come before it, whatever the clock says of them.
            request = CatchUpRequest(state, operation, past, place, start, wall + 1.0)
        else:
            return
        self.port.start(request)

    def finish(self, request: CatchUpRequest, now: float) -> None:
        """What was read is taken over, in slices."""
        if request.trouble:
            self._core.operators.engine.services.skip(FAILED)
            logger.warning(
                "%s does not have what was published before it began: %s",
                request.state.key,
                request.trouble,
            )
        taking = _TakingOver(self._core, request, now)
        if not taking.step(self._core, now):
            self._core.chores.add(taking)


class _TakingOver(Chore):
    def __init__(self, core: Core, request: CatchUpRequest, now: float) -> None:
        self._request = request
        self._counts: list[tuple[str, Aggregate]] = []
        self._values: list[PastValue] = []
        self._at = 0
        if request.trouble:
            return
        if isinstance(request.state, TemporalState):
            self._counts = list(request.past.counts().items())
        else:
            self._values = request.past.values(now + core.wall_offset)

    def step(self, core: Core, now: float) -> bool:
        state = self._request.state
        if core.operators.engine.states.get(state.key) is not state:
            return True  # nobody wants it any more
        end = self._at + AT_ONCE
        if isinstance(state, TemporalState):
            for topic, counts in self._counts[self._at : end]:
                state.merge_past(topic, counts, self._request.start)
        elif isinstance(state, SpatialState):
            self._take_values(state, core.wall_offset, end)
        self._at = end
        core.operators.settle(state, True)
        if end < max(len(self._counts), len(self._values)):
            return False
        self._end(core, now)
        return True

    def _take_values(self, state: SpatialState, wall_offset: float, end: int) -> None:
        operation = self._request.operation
        known = operation.early if operation is not None else None
        first = state.first_order() - len(self._values)
        for place, value in enumerate(self._values[self._at : end], self._at):
            if known is None or value.topic not in known:
                state.put_past(
                    value.topic, value.value, value.expires_at - wall_offset, first + place
                )

    def _end(self, core: Core, now: float) -> None:
        request = self._request
        state = request.state
        operation = request.operation
        if isinstance(state, TemporalState):
            if isinstance(state, CountedWindows) and not request.trouble:
                state.since = min(state.since, request.start)
            results = state.past_is_in(not request.trouble)
            if isinstance(state, CountedWindows):
                core.neighbours.counted(state, now)
        else:
            results = state.last_results(now)
            if operation is not None:
                operation.early = None
        if operation is not None:
            for result in results:
                operation.send(result, now)
