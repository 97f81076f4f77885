"""What this broker counts for the mesh: what its own clients publish, and its bridges bring in.

What came over a link was counted where it entered. A window ends by this broker's clock; then its
counts go to each broker that wants them, if it has counted nothing, too: so they know.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from gossamer.broker.charges import charge_of_operation
from gossamer.broker.subscription_tree import Tap
from gossamer.budget.ledger import NOBODY, Charge
from gossamer.mesh.aggregates.directory import WantedWindow
from gossamer.plus.counted_windows import CountedWindows
from gossamer.plus.engine import AskedOperator
from gossamer.session.message import Message
from gossamer.session.session import Session

if TYPE_CHECKING:
    from gossamer.broker.core import Core

logger = logging.getLogger(__name__)

# Tells what windows counted that have ended.
Report = Callable[["OwnCounts", float], None]


class OwnCounts(Tap):
    """Of one wanted window."""

    def __init__(
        self, core: Core, wanted: WantedWindow, state: CountedWindows, report: Report
    ) -> None:
        self._core = core
        self._report = report
        self.wanted = wanted
        self.state = state
        self.charge: Charge | None = None

    def take(self, message: Message, origin: Session | None, now: float) -> None:
        if origin is not None and origin.is_peer:
            return
        if self.state.is_over(now):
            self._report(self, now)
        operators = self._core.operators
        self.state.accept(operators.publication(message, now), now)
        operators.settle(self.state, message.qos > 0)


class Counting:
    """All that is counted here, by the name of the window. `changes` grows with what it reads."""

    def __init__(self, core: Core, report: Report) -> None:
        self._core = core
        self._report = report
        self.counts: dict[str, OwnCounts] = {}
        self.changes = 0

    def begin(self, wanted: WantedWindow, now: float) -> bool:
        """False if there is no room to count that."""
        if wanted.name in self.counts:
            return True
        core = self._core
        asked = AskedOperator(wanted.plan, wanted.options)
        charge = charge_of_operation(core, asked, wanted.key, NOBODY)
        refusal = charge.refusal()
        if len(self.counts) >= core.settings.max_operators:
            refusal = f"no more than {core.settings.max_operators} operators are counted"
        if refusal:
            logger.warning("%s is not counted for other brokers: %s", wanted.key, refusal)
            return False
        charge.lay()
        state = core.operators.count(wanted.name, wanted.plan, now)
        counts = OwnCounts(core, wanted, state, self._report)
        counts.charge = charge
        self.counts[wanted.name] = counts
        for read in wanted.plan.reads:
            core.routes.add_tap(read, counts)
        self.changes += 1
        return True

    def end(self, name: str) -> None:
        """Nobody wants it any more."""
        counts = self.counts.pop(name, None)
        if counts is None:
            return
        if counts.charge is not None:
            counts.charge.lift()
        for read in counts.wanted.plan.reads:
            self._core.routes.remove_tap(read, counts)
        self._core.operators.count_no_more(counts.state)
        self.changes += 1

    def filters(self) -> set[str]:
        """What it reads: bridges import it, though no broker sends it to another."""
        return {read for counts in self.counts.values() for read in counts.wanted.plan.reads}
