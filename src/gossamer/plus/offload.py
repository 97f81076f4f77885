"""Operators that are left to somebody else: which ones, and what is kept of the answers."""

from __future__ import annotations

from typing import Final

from gossamer.plus.filter_operator import LastResults
from gossamer.plus.operators.kinds import Options
from gossamer.plus.operators.plus_every import PLUS_EVERY
from gossamer.plus.operators.plus_least import PLUS_LEAST
from gossamer.plus.plan import OperatorPlan, PlusError
from gossamer.plus.publication import Publication
from gossamer.plus.state import OperatorResult, OperatorState, Services
from gossamer.plus.values import INFINITY
from gossamer.topics.containment import contains

# Instead of a length: no window is left to others for its length, and nobody's silence is too long.
NEVER: Final = 0.0
# Times that were answered for here; a driver that was away for all of them says the rest.
MOST_COVERED: Final = 8


class OffloadRule:
    """`keywords` are operators as chains spell them, `seconds` is the shortest window that counts.

    Whoever answers reads the archive, which has what is published under `archived`. After so much
    `patience` without a sign of one who does, the broker computes itself; but it has not got the
    processors `missing`.
    """

    def __init__(
        self,
        keywords: list[str],
        seconds: float,
        archived: list[str],
        patience: float = NEVER,
        missing: list[str] | None = None,
    ) -> None:
        self.keywords = keywords
        self.seconds = seconds
        self.archived = archived
        self.patience = patience
        self.missing = missing if missing is not None else []

    def is_overdue(self, state: OffloadedState, now: float) -> bool:
        """Whether the broker should compute it now, and can."""
        processor = state.plan.processor
        if processor is not None and processor.keyword in self.missing:
            return False
        return self.patience != NEVER and now - state.heard_at >= self.patience

    def takes(self, plan: OperatorPlan) -> bool:
        if not _is_for_others(plan):
            return False
        temporal = plan.temporal
        is_long = (
            temporal is not None
            and self.seconds != NEVER
            and temporal.window.seconds >= self.seconds
        )
        return is_long or any(keyword in self.keywords for keyword in keywords_of(plan))

    def check(self, plan: OperatorPlan, options: Options) -> None:
        """Raises PlusError for what cannot be answered elsewhere."""
        if not self.takes(plan):
            processor = plan.processor
            if processor is not None and processor.keyword in self.keywords:
                raise PlusError(
                    f"${processor.keyword} is computed elsewhere, and not with sequences or "
                    "windows that slide, end with a gap or have a time zone"
                )
            return
        if options.every > 0.0 and plan.temporal is None:
            raise PlusError(
                f"{PLUS_EVERY.keyword} is not offered: {plan.chain} is computed elsewhere"
            )
        if options.least:
            raise PlusError(
                f"{PLUS_LEAST.keyword} is not offered: {plan.chain} is computed elsewhere"
            )
        for read in plan.reads:
            if not any(contains(filter, read) for filter in self.archived):
                raise PlusError(
                    f"{plan.chain} is computed from the archive, which does not have all of {read}"
                )


def _is_for_others(plan: OperatorPlan) -> bool:
    """What follows each topic is computed here: no stream of Spark goes on with it. Windows are
    told by name and length."""
    temporal = plan.temporal
    return not plan.has_steps() and (temporal is None or temporal.window.is_plain())


def keywords_of(plan: OperatorPlan) -> list[str]:
    """Of everything in the chain but rules."""
    found: list[str] = []
    if plan.spatial is not None:
        found.append(plan.spatial.function)
    if plan.temporal is not None:
        found.append(plan.temporal.window.keyword + plan.temporal.function)
    if plan.processor is not None:
        found.append(plan.processor.keyword)
    return found


class OffloadedState(OperatorState):
    """Computes nothing. The last answers are kept for those who subscribe later.

    What was counted and saved while the broker computed it is not continued.
    """

    def __init__(self, key: str, plan: OperatorPlan, services: Services) -> None:
        super().__init__(key, plan, services)
        self._last = LastResults()
        self.heard_at = 0.0  # when there last was a sign of somebody who answers
        # By the wall clock, from and until: the results of these times are out already.
        self._covered: list[tuple[float, float]] = []

    def cover(self, after: float, until: float) -> None:
        """The broker has sent the results of this time itself."""
        self._covered.append((after, until))
        del self._covered[:-MOST_COVERED]

    def covers(self, time: float) -> bool:
        return any(after <= time <= until for after, until in self._covered)

    def covered(self) -> list[tuple[float, float]]:
        return list(self._covered)

    def enter(self, publication: Publication, now: float) -> list[OperatorResult]:
        """A processor's answer to what was asked while the broker computed it."""
        return []

    def answered(self, result: OperatorResult) -> None:
        self._last.put(self, result.topic, result, INFINITY)

    def accept(self, publication: Publication, now: float) -> list[OperatorResult]:
        return []

    def last_results(self, now: float) -> list[OperatorResult]:
        return self._last.valid(now)
