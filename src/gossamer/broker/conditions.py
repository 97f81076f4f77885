"""What a neighbour wants on a filter only under a condition, and who judges it for each message.

An interest is told as one string: the filter, U+0000, and the parts of the condition, each with a
letter before it and U+0000 between them. No filter has that character, so interests with conditions
and those without are told, compared and stored alike.

A message goes to a neighbour once, if any of its conditions lets it through. A condition is sound:
it lets through whatever somebody behind the neighbour may want. What says no place passes every
region, and what cannot be judged with the effort that a message may cost is forwarded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mypy_extensions import mypyc_attr

from gossamer.broker.subscription_tree import NODE_BYTES, Tap
from gossamer.budget.ledger import Charge
from gossamer.geo.coverage import Coverage, read_coverage
from gossamer.geo.earth import Point, chord2, longest_chord
from gossamer.geo.enclosing import circle_around
from gossamer.geo.geolocation import Place
from gossamer.geo.overlap import Effort
from gossamer.geo.shape import Ball
from gossamer.plus.predicate import Predicate, read_predicate
from gossamer.plus.publication import Publication
from gossamer.session.message import Message
from gossamer.session.records import SubscriptionRecord
from gossamer.session.session import Session
from gossamer.session.subscription import Receiver, Subscription

if TYPE_CHECKING:
    from gossamer.broker.core import Core

SEPARATOR: Final = "\0"
# The parts of a condition.
RULES: Final = "p"
REGION: Final = "c"
# A neighbour whose conditions on one topic are more gets what is published there: each costs time.
MOST_JUDGED: Final = 256
_NOWHERE: Final = Ball(Point(0.0, 0.0), 0.0)
# Objects of a condition, of one of its rules, and of a number in what describes its region.
_CONDITION_BYTES: Final = 1_536
_RULE_BYTES: Final = 768
_COORDINATE_BYTES: Final = 192


@mypyc_attr(acyclic=True)
class Condition:
    """A predicate on the payload, a region, both or neither; never changes."""

    __slots__ = ("_around", "_outer2", "coverage", "predicate", "text")

    def __init__(self, predicate: Predicate | None, coverage: Coverage | None) -> None:
        if predicate is not None and not predicate.rules:
            predicate = None
        self.predicate = predicate
        self.coverage = coverage
        # All of the region lies in this ball, and nothing with a longer squared chord in the ball.
        balls = [] if coverage is None else coverage.region.balls()
        self._around = circle_around(balls) if balls else _NOWHERE
        self._outer2 = longest_chord(self._around.reach) ** 2
        parts: list[str] = []
        if predicate is not None:
            parts.append(RULES + predicate.text)
        if coverage is not None:
            parts.append(REGION + coverage.text)
        self.text = SEPARATOR.join(parts)

    def __repr__(self) -> str:
        return f"Condition({self.text!r})"

    def contains(self, other: Condition, effort: Effort | None = None) -> bool:
        """Sure: it lets through whatever the other does. False where that is not known."""
        if self.predicate is not None and (
            other.predicate is None or not other.predicate.implies(self.predicate)
        ):
            return False
        if self.coverage is None:
            return True
        if other.coverage is None:
            return False
        if not other.coverage.pieces:
            return True  # no place at all
        if self._is_apart(other):
            return False
        return self.coverage.contains(other.coverage, effort)

    def _is_apart(self, other: Condition) -> bool:
        """Whether the regions are too far from each other to have anything in common."""
        chord = longest_chord(self._around.reach + other._around.reach)
        return chord2(self._around.centre, other._around.centre) > chord * chord

    def meets(self, place: Place, effort: Effort) -> bool:
        """Whether the place may be in the region; yes too if the effort does not suffice."""
        coverage = self.coverage
        if coverage is None:
            return True
        point = place.point
        if point is None:
            return coverage.meets(place, effort)
        if chord2(point, self._around.centre) > self._outer2:
            return False
        effort.begin_pair()
        if not effort.spend(coverage.region.weight()):
            effort.undecided += 1
            return True
        return coverage.region.contains(point)


def read_condition(text: str) -> Condition:
    """What another broker wrote. Raises PlusError, GlpError or ValueError for what none writes."""
    predicate: Predicate | None = None
    coverage: Coverage | None = None
    for part in text.split(SEPARATOR) if text else []:
        if part.startswith(RULES) and predicate is None:
            predicate = read_predicate(part[1:])
        elif part.startswith(REGION) and coverage is None:
            coverage = read_coverage(part[1:])
        else:
            raise ValueError("a condition of an unknown kind")
    return Condition(predicate, coverage)


def interest_of(filter: str, condition: Condition) -> str:
    return filter + SEPARATOR + condition.text


def filter_of(interest: str) -> str:
    """Of an interest with a condition or without: what it is where conditions are not known."""
    end = interest.find(SEPARATOR)
    return interest if end < 0 else interest[:end]


def condition_text(interest: str) -> str:
    """Of an interest that has a condition."""
    return interest[interest.index(SEPARATOR) + 1 :]


# At the other end ---------------------------------------------------------------------------------


class Judgements:
    """What came of the messages that one neighbour wants under conditions alone."""

    __slots__ = ("judged", "rejected", "rejected_bytes", "unjudged")

    def __init__(self) -> None:
        self.judged = 0
        self.rejected = 0  # no condition let them through
        self.rejected_bytes = 0  # their topics and payloads
        self.unjudged = 0  # forwarded because to judge them was too much


@mypyc_attr(acyclic=True)
class ConditionalSubscription(Subscription):
    """A neighbour's. `record.filter` is the whole interest, `condition` None if there was no room
    to keep it: then all that the filter matches is wanted."""

    __slots__ = ("condition", "core")

    def __init__(
        self,
        core: Core,
        session: Session,
        record: SubscriptionRecord,
        condition: Condition | None,
    ) -> None:
        super().__init__(session, record, "", filter_of(record.filter))
        self.core = core
        self.condition = condition

    def charge_for(self) -> Charge:
        """In the account of what brokers of the mesh keep for each other."""
        text = self.record.filter
        size = _CONDITION_BYTES + 2 * len(text.encode())
        if self.condition is not None:
            size += _condition_bytes(text)
        nodes = NODE_BYTES * self.core.routes.tree.growth(self.filter)
        return Charge(self.core.ledger.mesh, size + nodes, 0, self.session.owner)


class ConditionTap(Tap):
    """Stands in the tree for a conditional subscription; audiences ask its neighbour's receiver."""

    __slots__ = ("subscription",)

    def __init__(self, subscription: ConditionalSubscription) -> None:
        self.subscription = subscription


def conditional_subscription(
    core: Core, session: Session, record: SubscriptionRecord
) -> ConditionalSubscription:
    """Raises PlusError, GlpError or ValueError if the condition is none."""
    text = condition_text(record.filter)
    account = core.ledger.mesh
    condition: Condition | None = read_condition(text)
    if account.held + _condition_bytes(text) > account.budget:
        account.refused += 1
        condition = None
    return ConditionalSubscription(core, session, record, condition)


def restored_subscription(
    core: Core, session: Session, record: SubscriptionRecord
) -> ConditionalSubscription:
    """As an earlier process had it; without its condition, if that was of a later version."""
    try:
        return conditional_subscription(core, session, record)
    except ValueError:
        return ConditionalSubscription(core, session, record, None)


def _condition_bytes(text: str) -> int:
    numbers = text.count(";") + text.count(",")
    return _RULE_BYTES * text.count("$") + _COORDINATE_BYTES * numbers


def attach(core: Core, subscription: ConditionalSubscription) -> None:
    """Routes find it from now on."""
    core.routes.add_tap(subscription.filter, ConditionTap(subscription))


def detach(core: Core, subscription: ConditionalSubscription) -> None:
    for tap in core.routes.tree.taps(subscription.filter):
        if isinstance(tap, ConditionTap) and tap.subscription is subscription:
            core.routes.remove_tap(subscription.filter, tap)
            return


class ConditionalReceiver:
    """How one neighbour gets messages of one topic that it wants under conditions alone."""

    __slots__ = ("_conditions", "_core", "_judgements", "_takes_all", "receiver")

    def __init__(self, subscriptions: list[ConditionalSubscription]) -> None:
        first = subscriptions[0]
        self._core = first.core
        self.receiver = Receiver(first)
        self._judgements = judgements_for(first.core, first.session)
        self._takes_all = len(subscriptions) > MOST_JUDGED
        self._conditions: list[Condition] = []
        for subscription in subscriptions:
            if subscription.condition is None:
                self._takes_all = True
            else:
                self._conditions.append(subscription.condition)

    def take(self, message: Message, origin: Session | None, now: float) -> None:
        """Not back to where it came from; at QoS 0 only to neighbours that are in the tree."""
        session = self.receiver.session
        if session is origin or (message.qos == 0 and not session.takes_plain):
            return
        if self._wants(message, now):
            self._core.counters.taken += 1
            session.deliver(message, self.receiver, now)
        else:
            self._judgements.rejected += 1
            self._judgements.rejected_bytes += len(message.topic_bytes) + len(message.payload)

    def _wants(self, message: Message, now: float) -> bool:
        judgements = self._judgements
        judgements.judged += 1
        if self._takes_all:
            judgements.unjudged += 1
            return True
        core = self._core
        publication: Publication | None = None
        for condition in self._conditions:
            predicate = condition.predicate
            if predicate is not None:
                if publication is None:
                    publication = core.operators.publication(message, now)
                if not predicate.passes(publication):
                    continue
            if condition.coverage is None:
                return True
            place = core.locations.place(message, now)
            if place is None:
                return True
            effort = core.locations.effort
            undecided = effort.undecided
            if condition.meets(place, effort):
                judgements.unjudged += effort.undecided > undecided
                return True
        return False


def judgements_for(core: Core, session: Session) -> Judgements:
    """The neighbour's."""
    found = core.judgements.get(session.client_id)
    if found is None:
        found = core.judgements[session.client_id] = Judgements()
    return found
