"""One distinct operator subscription among the routes, and who gets its results.

It taps the routes of the filters that it reads, and has subscribers and shared groups of its own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mypy_extensions import mypyc_attr

from gossamer.broker.sharing import Group, give_to_group
from gossamer.broker.subscription_tree import Tap
from gossamer.budget.ledger import Charge
from gossamer.geo.geolocation import Located
from gossamer.plus.spatial import SpatialState
from gossamer.plus.state import OperatorResult, OperatorState
from gossamer.plus.values import INFINITY
from gossamer.session.message import Message
from gossamer.session.queue import count_dropped
from gossamer.session.records import SubscriptionRecord
from gossamer.session.session import Session
from gossamer.session.subscription import Receiver, Subscription
from gossamer.wire.properties import Properties

if TYPE_CHECKING:
    from gossamer.broker.operators import Operators

# Results are made by the broker, so each subscriber gets them at the QoS that it asked for.
RESULT_QOS: Final = 2


@mypyc_attr(acyclic=True)
class OperatorSubscription(Subscription):
    """A session's subscription to an operation."""

    __slots__ = ("located", "operation")

    def __init__(
        self,
        session: Session,
        record: SubscriptionRecord,
        share: str,
        filter: str,
        operation: Operation,
        located: Located | None = None,
    ) -> None:
        super().__init__(session, record, share, filter)
        self.operation = operation
        self.located = located  # what it said about places

    def reads(self) -> tuple[str, ...]:
        return self.operation.state.plan.reads


class Operation(Tap):
    __slots__ = (
        "_receivers",
        "charge",
        "drawn_bytes",
        "drawn_messages",
        "draws",
        "early",
        "gathers_from",
        "gathers_until",
        "groups",
        "learner",
        "notes",
        "owner",
        "quiet_until",
        "state",
        "subscriptions",
        "taken_at",
        "was_idle",
    )

    def __init__(self, owner: Operators, state: OperatorState) -> None:
        self.owner = owner
        self.state = state
        self.subscriptions: dict[str, OperatorSubscription] = {}  # by client id
        self.groups: dict[str, Group] = {}  # by the whole `$share/group/filter`
        self.was_idle = False  # at the last sweep
        self.charge: Charge | None = None
        # Topics that it had something on before it could begin with what is retained: until then it
        # has no results.
        self.early: set[str] | None = None
        # Whether other brokers must send what it reads. Of windows that begin at or after the one
        # time of the wall clock and before the other, each broker counts its part instead: then
        # nothing that is published concerns it.
        self.draws = True
        self.gathers_from = INFINITY
        self.gathers_until = INFINITY
        # The state itself, where other brokers may tell it what their clients publish; and what
        # came over links as it was published.
        self.learner: SpatialState | None = None
        self.drawn_messages = 0
        self.drawn_bytes = 0
        self.notes: list[tuple[str, str]] | None = None  # User Properties of all its results
        # Of one that somebody else should compute: since when the broker does, and until when, by
        # the wall clock, results would be of windows that it has not seen all of.
        self.taken_at = 0.0
        self.quiet_until = 0.0
        self._receivers: list[Receiver] = []

    def is_quiet(self, now: float) -> bool:
        return now + self.owner.core.wall_offset < self.quiet_until

    def take(self, message: Message, origin: Session | None, now: float) -> None:
        owner = self.owner
        state = self.state
        if self.gathers_from <= now + owner.core.wall_offset < self.gathers_until:
            return
        if self.learner is not None:
            self._note_origin(self.learner, message, origin)
        owner.core.counters.operators_bytes_read += self._bytes_for_all(message)
        if self.early is not None:
            self.early.add(message.topic)
            self.accept(message, now)
            owner.settle(state, message.qos > 0)
            return
        results = self.accept(message, now)
        if results or state.remembers:
            owner.core.counters.taken += 1
        for result in results:
            if result.forwarded:
                self._send(forwarded(message, result), origin, now)
            else:
                self.send(result, now)
        owner.settle(state, message.qos > 0)

    def _note_origin(self, learner: SpatialState, message: Message, origin: Session | None) -> None:
        learner.is_drawn = origin is not None and origin.is_peer
        if learner.is_drawn:
            self.drawn_messages += 1
            self.drawn_bytes += len(message.topic_bytes) + len(message.payload)

    def accept(self, message: Message, now: float) -> list[OperatorResult]:
        """What the state makes of it."""
        return self.state.accept(self.owner.publication(message, now), now)

    def admits(self, message: Message, now: float) -> bool:
        """Whether the message is about places that the subscription is interested in."""
        return True

    def send(
        self, result: OperatorResult, now: float, user: list[tuple[str, str]] | None = None
    ) -> None:
        """With these User Properties, or those that all its results have."""
        self._send(made(result, self.notes if user is None else user), None, now)

    def members(self) -> list[Subscription]:
        """Its own subscriptions, and those of shared groups."""
        found: list[Subscription] = list(self.subscriptions.values())
        for group in self.groups.values():
            found += group.members
        return found

    def add(self, subscription: OperatorSubscription) -> None:
        """Adds or replaces the session's subscription."""
        if not subscription.share:
            self.subscriptions[subscription.session.client_id] = subscription
            self._changed()
            return
        name = subscription.record.filter
        group = self.groups.get(name)
        if group is None:
            group = Group(name)
            self.groups[name] = group
        group.put(subscription)

    def remove(self, subscription: OperatorSubscription) -> None:
        if not subscription.share:
            self.subscriptions.pop(subscription.session.client_id, None)
            self._changed()
            return
        name = subscription.record.filter
        group = self.groups.get(name)
        if group is not None:
            group.drop(subscription.session)
            if not group.members:
                del self.groups[name]

    def pass_on(self, gone: Session) -> None:
        """Whoever it was charged to has left it: it goes on in the name of another."""
        charge = self.charge
        if charge is None or charge.owner is not gone.owner:
            return
        for heir in self.members():
            if heir.session is not gone:
                charge.lift()
                charge.owner = heir.session.owner
                charge.lay()
                return

    def is_idle(self) -> bool:
        return not self.subscriptions and not self.groups

    def _changed(self) -> None:
        self._receivers = [Receiver(one) for one in self.subscriptions.values()]

    def _bytes_for_all(self, message: Message) -> int:
        """What all subscribers together get if they get this."""
        copies = len(self._receivers) + len(self.groups)
        return copies * (len(message.topic_bytes) + len(message.payload))

    def _send(self, message: Message, origin: Session | None, now: float) -> None:
        if self.is_quiet(now):
            return
        self.owner.core.counters.operators_bytes_sent += self._bytes_for_all(message)
        before = len(self.owner.core.hub.refusing)
        for receiver in self._receivers:
            if receiver.session is not origin or not receiver.no_local:
                receiver.session.deliver(message, receiver, now)
        for group in self.groups.values():
            if self.owner.core.routes.sharing.leads(group.name):
                give_to_group(group, message, now)
        refusing = self.owner.core.hub.refusing
        while len(refusing) > before:  # a result is not its publisher's: nobody can be told
            count_dropped(refusing.pop().queue)


def made(result: OperatorResult, user: list[tuple[str, str]] | None = None) -> Message:
    properties: Properties | None = None
    if user or result.user:
        properties = Properties()
        properties.user = result.user + (user or [])
    return Message(result.topic, result.payload, RESULT_QOS, False, properties, 0.0, "", "")


def forwarded(message: Message, result: OperatorResult) -> Message:
    return Message(
        result.topic,
        result.payload,
        message.qos,
        message.retain,
        message.properties,
        message.expires_at,
        message.publisher,
        message.user,
    )
