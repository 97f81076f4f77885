"""What other brokers must send here for one subscription: never less than it may take.

Rules alone let through what they pass, and areas what speaks of a place in them. Everything else is
told by its filters: aggregates, whose values that fail a rule still matter; processors; payloads
that not every broker may know how to read; fences, which hear of those who leave; groups that
several brokers share; and areas where not everybody may see where others are, since who may not
gets each message without its place.

Areas that follow a client are told with a margin, so that most of its moves tell nothing. It is
small against the areas, as wide as the client comes in some time, and never so small that a fast
one would be told much more often than once a second.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from gossamer.broker.chores import Chore
from gossamer.broker.conditions import (
    SEPARATOR,
    Condition,
    ConditionalSubscription,
    interest_of,
)
from gossamer.broker.core import Core
from gossamer.broker.geofences import LocatedSubscription
from gossamer.broker.mesh_port import Need
from gossamer.broker.operator_subscriptions import OperatorSubscription
from gossamer.geo.coverage import around, coverage_of
from gossamer.geo.earth import chord2, farthest
from gossamer.plus.filter_operator import FilterOperator
from gossamer.plus.predicate import predicate_of
from gossamer.session.subscription import Subscription

if TYPE_CHECKING:
    from gossamer.mesh.mesh import Mesh

# Of a condition as it is told; a region that takes more is told by a circle around it.
MOST_CHARACTERS: Final = 16_384
# A margin of this part of what it is put around adds a tenth to its area.
MARGIN_PART: Final = 0.048
# Around a client whose interest is the place where it is, and nothing else.
HERE_MARGIN: Final = 10.0  # metres
MARGIN_SECONDS: Final = 20.0
LEAST_SECONDS: Final = 1.0
LEAST_MARGIN: Final = 0.5
LARGEST_MARGIN: Final = 100_000.0
WALKING: Final = 1.4  # metres a second, of whom nothing is known yet
# After this time a margin that is wider than it would have to be is told anew.
SHRINK_SECONDS: Final = 60.0
# Texts of rules that are remembered; to make one takes longer than to look for it.
_MOST_RULES: Final = 256
# Subscriptions that are looked at again in one step, when rights have changed.
_AT_ONCE: Final = 20


class Needs:
    """Of the subscriptions of one broker's clients, and of its neighbours."""

    __slots__ = ("_core", "_is_on", "_mesh", "_rules")

    def __init__(self, mesh: Mesh) -> None:
        self._mesh = mesh
        self._core: Core = mesh.core
        self._is_on = mesh.settings.conditions
        self._rules: dict[str, str] = {}  # the condition of each chain

    def of(self, subscription: Subscription) -> tuple[str, ...]:
        if isinstance(subscription, ConditionalSubscription):
            return (subscription.record.filter,)
        if isinstance(subscription, LocatedSubscription):
            if subscription.need is None:
                subscription.need = self._of_located(subscription, WALKING)
            return subscription.need.interests
        if self._is_on and isinstance(subscription, OperatorSubscription):
            return self._of_operator(subscription)
        return subscription.reads()

    def moved(self, subscription: LocatedSubscription, now: float) -> None:
        """Its client is somewhere else."""
        need = subscription.need
        position = subscription.interest.position
        if need is None or position is None or not self._has_region(subscription):
            return
        speed = WALKING
        if need.centre is not None:
            moved = farthest(math.sqrt(chord2(need.centre, position)))
            passed = now - need.at
            if moved <= need.margin and not (
                passed > SHRINK_SECONDS and need.margin > 2 * _margin(subscription, 0.0)
            ):
                return
            speed = moved / max(passed, LEAST_SECONDS)
        self._tell(subscription, speed)

    def rights_changed(self) -> None:
        """In turns: what was told before stays sound for those who see what they saw."""
        self._core.chores.add(_LookingAgain(self, self._core.locations.subscriptions()))

    def look_again(self, subscription: LocatedSubscription) -> None:
        if subscription.need is not None:
            self._tell(subscription, WALKING)

    def _tell(self, subscription: LocatedSubscription, speed: float) -> None:
        """What is new comes before what is gone."""
        before = subscription.need
        assert before is not None
        need = self._of_located(subscription, speed)
        subscription.need = need
        if need.interests != before.interests:
            for interest in need.interests:
                self._mesh.wanted(interest, subscription.session)
            for interest in before.interests:
                self._mesh.unwanted(interest, subscription.session)

    def _has_region(self, subscription: LocatedSubscription) -> bool:
        return (
            self._is_on
            and not subscription.share
            and subscription.watch is None
            and not self._core.permissions.guards_positions
        )

    def _of_located(self, subscription: LocatedSubscription, speed: float) -> Need:
        interest = subscription.interest
        if not self._has_region(subscription):
            return Need(subscription.reads(), None, 0.0, 0.0)
        margin = _margin(subscription, speed) if interest.follows else 0.0
        coverage = coverage_of(interest.areas, interest.position, margin)
        if len(coverage.text) > MOST_CHARACTERS:
            coverage = around(coverage)
        told = interest_of(subscription.filter, Condition(None, coverage))
        centre = interest.position if interest.follows else None
        return Need((told,), centre, margin, interest.position_at)

    def _of_operator(self, subscription: OperatorSubscription) -> tuple[str, ...]:
        state = subscription.operation.state
        plan = state.plan
        reads = subscription.reads()
        if not isinstance(state, FilterOperator) or plan.processor is not None:
            return reads
        if any(state.services.encodings.touch(read) for read in reads):
            return reads  # a broker of an earlier version would read the payload as it came
        text = self._rules.get(plan.chain)
        if text is None:
            text = Condition(predicate_of(plan.outer), None).text
            if len(self._rules) >= _MOST_RULES:
                self._rules.clear()
            self._rules[plan.chain] = text
        if not text or SEPARATOR in text:  # an operand may have that character
            return reads
        return tuple([read + SEPARATOR + text for read in reads])


class _LookingAgain(Chore):
    def __init__(self, needs: Needs, subscriptions: list[LocatedSubscription]) -> None:
        self._needs = needs
        self._left = subscriptions

    def step(self, core: Core, now: float) -> bool:
        for _ in range(min(_AT_ONCE, len(self._left))):
            subscription = self._left.pop()
            name = subscription.record.filter
            if subscription.session.subscriptions.get(name) is subscription:
                self._needs.look_again(subscription)
        return not self._left


def _margin(subscription: LocatedSubscription, speed: float) -> float:
    """Around what follows a client of this speed."""
    interest = subscription.interest
    most = HERE_MARGIN
    if not interest.areas.is_position:
        reaches = [shape.balls()[0].reach for shape in interest.followers]
        most = MARGIN_PART * max(reaches, default=0.0)
    margin = max(min(speed * MARGIN_SECONDS, most), speed * LEAST_SECONDS, LEAST_MARGIN)
    return min(margin, LARGEST_MARGIN)
