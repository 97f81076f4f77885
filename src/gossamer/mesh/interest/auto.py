"""Mode `auto`: each branch is advertised by filters or flooded, whichever takes fewer bytes.

A branch is what begins with one level. Where a branch is flooded, a neighbour is sent `branch/#` as
soon as anybody behind this broker wants anything of it, and hears of no subscription there until
the last is gone. That asks for more than is wanted and never for less, so each broker may choose at
its own time, and no two need to agree.

By the paper's equation 5, advertising subscriptions takes this part of the bytes of flooding
publications:

    (IBR · m - 1) / (m - 1) + SPR

of m brokers, IBR is the part that is interested, and SPR the size of all subscriptions over that of
all publications. What brokers measure of the busiest branches is added up over the mesh, and all
compute the same. A branch changes only when the other way is clearly better, and not again soon.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gossamer.broker.conditions import filter_of
from gossamer.broker.timers import Timer
from gossamer.mesh.interest.branch_meter import BUSIEST, BranchMeter
from gossamer.mesh.interest.branch_sums import BranchSums, TreeSums, branch_of
from gossamer.mesh.interest.filter_advertiser import SelectiveAdvertiser, WantedConditions
from gossamer.session.session import Session

if TYPE_CHECKING:
    from gossamer.mesh.mesh import Mesh

LOOK_SECONDS: Final = 10.0
# The part of the bytes of flooding above which a branch is flooded, and below which it is not more.
FLOOD_ABOVE: Final = 1.2
FILTER_BELOW: Final = 0.9
DWELL_SECONDS: Final = 30.0
# Bytes that must have been measured, in the whole mesh: a few messages decide nothing.
LEAST_BYTES: Final = 4_096.0


class AutoAdvertiser(SelectiveAdvertiser):
    """`flooded` is shared by the advertisers of all links; `choose` tells each of its changes."""

    def __init__(
        self, flooded: dict[str, None], conditions: WantedConditions | None = None
    ) -> None:
        super().__init__(conditions)
        self._flooded: dict[str, None] = dict(flooded)
        self._branches: dict[str, dict[str, int]] = {}  # filters and how often each is wanted

    def add(self, filter: str) -> None:
        branch = branch_of(filter_of(filter))
        if branch is None:
            super().add(filter)
            return
        filters = self._branches.get(branch)
        is_first = filters is None
        if filters is None:
            filters = self._branches[branch] = {}
        filters[filter] = filters.get(filter, 0) + 1
        if branch not in self._flooded:
            super().add(filter)
        elif is_first:
            super().add(branch + "/#")

    def remove(self, filter: str) -> None:
        branch = branch_of(filter_of(filter))
        if branch is None:
            super().remove(filter)
            return
        filters = self._branches[branch]
        filters[filter] -= 1
        if not filters[filter]:
            del filters[filter]
        if not filters:
            del self._branches[branch]
        if branch not in self._flooded:
            super().remove(filter)
        elif not filters:
            super().remove(branch + "/#")

    def choose(self, branch: str, is_flooded: bool) -> None:
        """What is new is entered before what was is taken out, so that nothing is uncovered."""
        if is_flooded == (branch in self._flooded):
            return
        filters = self._branches.get(branch)
        if is_flooded:
            self._flooded[branch] = None
        else:
            del self._flooded[branch]
        if filters is None:
            return
        if is_flooded:
            super().add(branch + "/#")
        for filter, count in filters.items():
            for _ in range(count):
                if is_flooded:
                    super().remove(filter)
                else:
                    super().add(filter)
        if not is_flooded:
            super().remove(branch + "/#")


class BranchChoice:
    """One branch: what was chosen, and the numbers it was chosen by."""

    __slots__ = (
        "brokers",
        "changed_at",
        "interested",
        "is_flooded",
        "published",
        "ratio",
        "subscribed",
    )

    def __init__(self) -> None:
        self.is_flooded = False
        self.changed_at = 0.0
        self.interested = 0  # brokers
        self.brokers = 0
        self.published = 0.0  # bytes, fading with a half-life of a minute
        self.subscribed = 0.0
        self.ratio = 0.0

    def ibr(self) -> float:
        return self.interested / self.brokers if self.brokers else 0.0

    def spr(self) -> float:
        return self.subscribed / max(self.published, 1.0)

    def measure(self, interested: int, brokers: int, published: float, subscribed: float) -> None:
        self.interested = interested
        self.brokers = brokers
        self.published = published
        self.subscribed = subscribed
        self.ratio = max(0, interested - 1) / max(1, brokers - 1) + self.spr()

    def wants_flooding(self) -> bool:
        if self.published + self.subscribed < LEAST_BYTES:
            return self.is_flooded
        return self.ratio > (FILTER_BELOW if self.is_flooded else FLOOD_ABOVE)


class AutoChoice:
    """One broker's part in it, while the mode is `auto`."""

    def __init__(self, mesh: Mesh) -> None:
        self.choices: dict[str, BranchChoice] = {}
        self.flooded: dict[str, None] = {}
        self.gathering = TreeSums(mesh)
        self._mesh = mesh
        self.timer: Timer | None = None  # the one that looks; an earlier life's is void
        self._meter: BranchMeter | None = None

    def start(self) -> None:
        """From nothing but what is wanted now."""
        core = self._mesh.core
        self.choices.clear()
        self.flooded.clear()
        meter = BranchMeter(core.routes)
        for session in core.sessions.values():
            if not session.is_peer:
                for read in self._mesh.needed_by(session):
                    meter.wanted(filter_of(read), False)
        self._meter = meter
        self.timer = _ChoiceTimer(self)
        core.timers.add(core.started_at, self.timer)

    def stop(self) -> None:
        self._meter = None
        self.timer = None
        self.choices.clear()
        self.flooded.clear()
        self.gathering.own = BranchSums()
        self.gathering.own.brokers = 1

    def wanted(self, filter: str, by: Session) -> None:
        if self._meter is not None and not by.is_peer:
            self._meter.wanted(filter_of(filter), True)

    def unwanted(self, filter: str, by: Session) -> None:
        if self._meter is not None and not by.is_peer:
            self._meter.unwanted(filter_of(filter))

    def look(self, now: float) -> None:
        """Measures, tells, and chooses."""
        meter = self._meter
        if meter is None:
            return
        gathering = self.gathering
        gathering.own = meter.look(now, gathering.known)
        total = gathering.total()
        busiest = total.busiest(BUSIEST, {})
        gathering.known = {name: None for name in busiest if total.branches[name].weight() > 0}
        gathering.tell_soon(now)
        self._choose(total, now)

    def _choose(self, total: BranchSums, now: float) -> None:
        branches = self.gathering.known
        for branch in sorted(branches):
            choice = self.choices.get(branch)
            if choice is None:
                choice = self.choices[branch] = BranchChoice()
            part = total.branches[branch]
            choice.measure(total.interested(branch), total.brokers, part.published, part.subscribed)
            is_flooded = choice.wants_flooding()
            if is_flooded != choice.is_flooded and now - choice.changed_at >= DWELL_SECONDS:
                choice.changed_at = now
                self._set(branch, choice, is_flooded)
        for branch in list(self.choices):
            if branch not in branches:  # nobody has measured anything there for long
                choice = self.choices.pop(branch)
                if choice.is_flooded:
                    self._set(branch, choice, False)

    def _set(self, branch: str, choice: BranchChoice, is_flooded: bool) -> None:
        choice.is_flooded = is_flooded
        if is_flooded:
            self.flooded[branch] = None
        else:
            self.flooded.pop(branch, None)
        self._mesh.advertisements.chosen(branch, is_flooded)


class _ChoiceTimer(Timer):
    def __init__(self, choosing: AutoChoice) -> None:
        self._choosing = choosing

    def fire(self, now: float) -> float:
        if self._choosing.timer is not self:
            return 0.0
        self._choosing.look(now)
        return now + LOOK_SECONDS
