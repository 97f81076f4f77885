"""Operators that should be computed elsewhere, and that nobody answers for: the broker does it.

It begins with what is published from then on. A window that has begun before would be incomplete:
its result is left to those who read the archive. As soon as there is a sign of them, the operator
is theirs again, but for the results that the broker has sent meanwhile.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from gossamer.broker.operator_subscriptions import Operation
from gossamer.broker.timers import Timer
from gossamer.plus.offload import NEVER, OffloadedState

if TYPE_CHECKING:
    from gossamer.broker.operators import Operators

logger = logging.getLogger(__name__)

# So often within its patience the broker looks.
LOOKS: Final = 4


class Takeovers(Timer):
    """Of all operations of a broker; a timer that looks after them."""

    def __init__(self, operators: Operators) -> None:
        self.operators = operators
        self._covered: dict[str, list[tuple[float, float]]] = {}  # by key: what was sent before

    def begin(self, now: float) -> None:
        rule = self.operators.engine.offloads
        if rule is not None and rule.patience != NEVER:
            self.operators.core.timers.add(now + rule.patience / LOOKS, self)

    def fire(self, now: float) -> float:
        rule = self.operators.engine.offloads
        assert rule is not None
        for operation in list(self.operators.operations.values()):
            state = operation.state
            if isinstance(state, OffloadedState) and rule.is_overdue(state, now):
                self._take_over(operation, state, now)
        return now + rule.patience / LOOKS

    def heard(self, operation: Operation, now: float) -> None:
        """Somebody answers for it, or is about to."""
        if operation.taken_at:
            self._give_back(operation, now)
        state = operation.state
        if isinstance(state, OffloadedState):
            state.heard_at = now

    def count(self) -> int:
        """How many operations the broker has taken over."""
        return len([one for one in self.operators.operations.values() if one.taken_at])

    def ended(self, operation: Operation) -> None:
        self._covered.pop(operation.state.key, None)

    def _take_over(self, operation: Operation, old: OffloadedState, now: float) -> None:
        core = self.operators.core
        self._covered[old.key] = old.covered()
        state = self.operators.engine.take_over(old)
        operation.state = state
        operation.taken_at = now
        temporal = state.plan.temporal
        if temporal is not None:
            # The window that is open now is incomplete: it is over before half of the next one is.
            window = temporal.window
            end = window.end(window.start(now + core.wall_offset))
            operation.quiet_until = (end + window.end(end)) / 2
        self.operators.listen(operation, now)
        logger.warning(
            "nobody has answered %s%s for %.0f s: computing it here",
            state.plan.chain,
            f"/{state.plan.filter}",
            now - old.heard_at,
        )

    def _give_back(self, operation: Operation, now: float) -> None:
        core = self.operators.core
        old = operation.state
        after = operation.taken_at + core.wall_offset
        if old.plan.temporal is not None:
            after = operation.quiet_until
        self.operators.listen_no_more(operation)
        state = self.operators.engine.give_back(old)
        for covered in self._covered.pop(old.key, []):
            state.cover(*covered)
        state.cover(after, now + core.wall_offset)
        operation.state = state
        operation.taken_at = 0.0
        operation.quiet_until = 0.0
        logger.warning("%s/%s is answered again", old.plan.chain, old.plan.filter)
