"""What this broker counts for the mesh: what its own clients publish, and its bridges bring in.

What came over a link was counted where it entered. A window ends by this broker's clock; then its
counts go to each broker that wants them, if it has counted nothing, too: so they know. Last values
of topics go to them some at once.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from gossamer.broker.charges import charge_of_operation
from gossamer.broker.subscription_tree import Tap
from gossamer.budget.ledger import NOBODY, Charge
from gossamer.mesh.aggregates.directory import Wanted, WantedValues, WantedWindow
from gossamer.plus.counted_windows import CountedWindows
from gossamer.plus.engine import AskedOperator
from gossamer.plus.entered_values import EnteredValues
from gossamer.plus.state import OperatorState
from gossamer.session.message import Message
from gossamer.session.session import Session

if TYPE_CHECKING:
    from gossamer.broker.core import Core

logger = logging.getLogger(__name__)


class OwnTap(Tap):
    """Of one wanted aggregate."""

    def __init__(self, core: Core, wanted: Wanted, state: OperatorState) -> None:
        self._core = core
        self.wanted = wanted
        self.state = state
        self.charge: Charge | None = None

    def take(self, message: Message, origin: Session | None, now: float) -> None:
        if origin is not None and origin.is_peer:
            return
        self.begin_taking(now)
        operators = self._core.operators
        self.state.accept(operators.publication(message, now), now)
        operators.settle(self.state, message.qos > 0)

    def begin_taking(self, now: float) -> None:
        """Something enters."""


# Tells what windows counted that have ended, and that there are values to tell.
Report = Callable[["OwnCounts", float], None]
Announce = Callable[["OwnValues", float], None]


class OwnCounts(OwnTap):
    """Windows of time."""

    def __init__(
        self, core: Core, wanted: WantedWindow, counted: CountedWindows, report: Report
    ) -> None:
        super().__init__(core, wanted, counted)
        self.window = wanted
        self.counted = counted
        self._report = report

    def begin_taking(self, now: float) -> None:
        if self.counted.is_over(now):
            self._report(self, now)


class OwnValues(OwnTap):
    """Last values of topics. `due` is when they are told, 0.0 while there are none to tell;
    `greeted` are brokers that know that they are told, with the life in which they asked."""

    def __init__(
        self, core: Core, wanted: WantedValues, entered: EnteredValues, announce: Announce
    ) -> None:
        super().__init__(core, wanted, entered)
        self.entered = entered
        self.due = 0.0
        self.greeted: dict[str, int] = {}
        self._announce = announce

    def begin_taking(self, now: float) -> None:
        if self.due == 0.0:
            self._announce(self, now)


class Counting:
    """All that is counted here, by its name. `changes` grows with what it reads."""

    def __init__(self, core: Core, report: Report, announce: Announce) -> None:
        self._core = core
        self._report = report
        self._announce = announce
        self.counts: dict[str, OwnCounts] = {}
        self.values: dict[str, OwnValues] = {}
        self.changes = 0

    def begin(self, wanted: Wanted, now: float) -> bool:
        """False if there is no room to count that."""
        if wanted.name in self.counts or wanted.name in self.values:
            return True
        core = self._core
        asked = AskedOperator(wanted.plan, wanted.options)
        charge = charge_of_operation(core, asked, wanted.key, NOBODY)
        refusal = charge.refusal()
        if len(self.counts) + len(self.values) >= core.settings.max_operators:
            refusal = f"no more than {core.settings.max_operators} operators are counted"
        if refusal:
            logger.warning("%s is not counted for other brokers: %s", wanted.key, refusal)
            return False
        charge.lay()
        tap = self._made(wanted, now)
        tap.charge = charge
        for read in wanted.plan.reads:
            core.routes.add_tap(read, tap)
        self.changes += 1
        return True

    def _made(self, wanted: Wanted, now: float) -> OwnTap:
        operators = self._core.operators
        if isinstance(wanted, WantedWindow):
            counted = operators.count(wanted.name, wanted.plan, now)
            counts = OwnCounts(self._core, wanted, counted, self._report)
            self.counts[wanted.name] = counts
            return counts
        assert isinstance(wanted, WantedValues)
        entered = operators.note_values(wanted.name, wanted.plan, now)
        values = OwnValues(self._core, wanted, entered, self._announce)
        self.values[wanted.name] = values
        return values

    def end(self, name: str) -> None:
        """Nobody wants it any more."""
        tap: OwnTap | None = self.counts.pop(name, None)
        if tap is None:
            tap = self.values.pop(name, None)
        if tap is None:
            return
        if tap.charge is not None:
            tap.charge.lift()
        for read in tap.wanted.plan.reads:
            self._core.routes.remove_tap(read, tap)
        self._core.operators.count_no_more(tap.state)
        self.changes += 1

    def filters(self) -> set[str]:
        """What it reads: bridges import it, though no broker sends it to another."""
        taps: list[OwnTap] = [*self.counts.values(), *self.values.values()]
        return {read for tap in taps for read in tap.wanted.plan.reads}
