"""MQTT+ in the broker: operator subscriptions, where they read, and who gets their results.

An *operation* is one distinct operator subscription. It taps the routes of the filters it reads
and has subscribers and shared groups of its own. All of it is off the road of plain subscriptions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gossamer.broker.agenda import Duty
from gossamer.broker.routes import Group, Tap
from gossamer.broker.sharing import give_to_group
from gossamer.broker.showing import is_shown
from gossamer.broker.workshop import Workshop
from gossamer.plus.engine import Asked, Engine, read_key
from gossamer.plus.errors import PlusError
from gossamer.plus.filtering import Filtering
from gossamer.plus.jobs import Job
from gossamer.plus.nodes import Plan
from gossamer.plus.options import Options
from gossamer.plus.publication import Publication
from gossamer.plus.state import OperatorState, Result, Services
from gossamer.plus.values import INFINITY
from gossamer.session.journal import Part, PartSource
from gossamer.session.message import Message
from gossamer.session.records import SubscriptionRecord
from gossamer.session.session import Session
from gossamer.session.subscription import Receiver, Subscription

if TYPE_CHECKING:
    from gossamer.broker.core import Core

# A subscriber that comes back within this time (twice it, at most) finds its windows as they were.
LINGER_SECONDS: Final = 300.0
# What QoS 0 publications changed is written this often; a crash loses no more than that of them.
SAVE_SECONDS: Final = 1.0
# Results are made by the broker, so each subscriber gets them at the QoS that it asked for.
RESULT_QOS: Final = 2


class OperatorSubscription(Subscription):
    """A session's subscription to an operation."""

    __slots__ = ("operation",)

    def __init__(
        self,
        session: Session,
        record: SubscriptionRecord,
        share: str,
        filter: str,
        operation: Operation,
    ) -> None:
        super().__init__(session, record, share, filter)
        self.operation = operation

    def reads(self) -> tuple[str, ...]:
        return self.operation.state.plan.reads


class Operation(Tap):
    __slots__ = ("_receivers", "groups", "owner", "state", "subscriptions", "was_idle")

    def __init__(self, owner: Operators, state: OperatorState) -> None:
        self.owner = owner
        self.state = state
        self.subscriptions: dict[str, OperatorSubscription] = {}  # by client id
        self.groups: dict[str, Group] = {}  # by the whole `$share/group/filter`
        self.was_idle = False  # at the last sweep
        self._receivers: list[Receiver] = []

    def take(self, message: Message, origin: Session | None, now: float) -> None:
        owner = self.owner
        state = self.state
        for result in state.accept(owner.publication(message), now):
            if result.forwarded:
                self._send(_forwarded(message, result), origin, now)
            else:
                self.send(result, now)
        owner.settle(state, message.qos > 0)

    def send(self, result: Result, now: float) -> None:
        self._send(_made(result), None, now)

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

    def is_idle(self) -> bool:
        return not self.subscriptions and not self.groups

    def _changed(self) -> None:
        self._receivers = [Receiver(one) for one in self.subscriptions.values()]

    def _send(self, message: Message, origin: Session | None, now: float) -> None:
        for receiver in self._receivers:
            if receiver.session is not origin or not receiver.no_local:
                receiver.session.deliver(message, receiver, now)
        for group in self.groups.values():
            give_to_group(group, message, now)


class Operators:
    """All operations of one broker, by the key of their state."""

    def __init__(self, core: Core, engine: Engine) -> None:
        self.core = core
        self.engine = engine
        self.workshop = Workshop()
        self.operations: dict[str, Operation] = {}
        self._message: Message | None = None
        self._publication = Publication("", b"")
        self._awaited = INFINITY  # when the alarm goes
        self._alarm = _Alarm(self)
        self._parts = _ChangedParts(engine.services)
        engine.services.saves = core.journal.keeps
        core.journal.parts = self._parts

    def begin(self, now: float) -> None:
        """The duties that come round."""
        self.core.agenda.add(now + LINGER_SECONDS, _Sweep(self))
        if self.core.journal.keeps:
            self.core.agenda.add(now + SAVE_SECONDS, _Save(self))

    # Operations ---------------------------------------------------------------------------------

    def has_room(self, asked: Asked) -> bool:
        return (
            len(self.operations) < self.core.settings.max_operators
            or self._key(asked) in self.operations
        )

    def open(self, asked: Asked, now: float) -> Operation:
        """The operation, made if it is new; then it begins with what is retained."""
        known = self.operations.get(self._key(asked))
        if known is not None:
            return known
        plan = asked.plan
        operation = self._make(plan, asked.options)
        if plan.spatial is not None and plan.temporal is None and plan.processor is None:
            for message in self._retained(plan, now):
                operation.state.accept(self.publication(message), now)
            self.settle(operation.state, False)
        return operation

    def attach(self, subscription: OperatorSubscription) -> None:
        subscription.operation.add(subscription)

    def detach(self, subscription: OperatorSubscription) -> None:
        """The last one leaves behind what was counted, for a while."""
        operation = subscription.operation
        operation.remove(subscription)
        if operation.is_idle() and not operation.state.remembers:
            self._dismiss(operation)

    def group(self, name: str) -> Group | None:
        """A shared group by its whole `$share/group/filter`."""
        for operation in self.operations.values():
            group = operation.groups.get(name)
            if group is not None:
                return group
        return None

    def last_messages(self, subscription: OperatorSubscription, now: float) -> list[Message]:
        """What a new subscriber is sent at once: the last results, and retained ones that pass."""
        state = subscription.operation.state
        messages = {result.topic: _made(result) for result in state.last_results(now)}
        if isinstance(state, Filtering) and state.plan.processor is None:
            for message in self._retained(state.plan, now):
                result = state.judge(self.publication(message))
                if result is not None and result.topic not in messages:
                    messages[result.topic] = _forwarded(message, result)
        return list(messages.values())

    def restore(self, parts: list[tuple[str, str, bytes]], now: float) -> None:
        """What an earlier process counted; subscribers come to it with their sessions, or soon."""
        by_key: dict[str, list[tuple[str, bytes]]] = {}
        for key, name, data in parts:
            by_key.setdefault(key, []).append((name, data))
        for key, named in by_key.items():
            try:
                filter, options = read_key(key)
                plan = self.engine.parse(filter)
            except (PlusError, ValueError):
                # The window or the processor it needs is configured no more.
                self._parts.drop(key)
                self.core.journal.dirty = True
                continue
            operation = self._make(plan, options)
            operation.state.restore(named, now)
            self.settle(operation.state, True)

    def sweep(self) -> None:
        """Ends operations that had no subscriber for a whole round."""
        for operation in list(self.operations.values()):
            is_idle = operation.is_idle()
            if is_idle and operation.was_idle:
                self._dismiss(operation)
            operation.was_idle = is_idle

    # Time and work ------------------------------------------------------------------------------

    def publication(self, message: Message) -> Publication:
        """One for all operations that a message touches."""
        if self._message is not message:
            self._message = message
            self._publication = Publication(
                message.topic, message.payload, message.expires_at, message.properties
            )
        return self._publication

    def settle(self, state: OperatorState, at_once: bool) -> None:
        """After a state took something in: what it wants saved, done and woken for."""
        if at_once and self.engine.services.changed:
            self.core.journal.dirty = True
        if state.plan.processor is not None:
            for job in self.engine.take_jobs():
                self.workshop.start(job)
        self._set_alarm()

    def processed(self, job: Job, answer: bytes | None, now: float) -> None:
        self._send(self.engine.processed(job, answer, now), now)

    def tick(self, now: float) -> None:
        self._awaited = INFINITY
        self._send(self.engine.tick(now), now)

    def save(self) -> None:
        """What was put off is saved with this turn."""
        if self.engine.services.changed:
            self.core.journal.dirty = True

    def _send(self, results: list[tuple[OperatorState, Result]], now: float) -> None:
        for state, result in results:
            self.operations[state.key].send(result, now)
        self.save()
        self._set_alarm()

    def _set_alarm(self) -> None:
        due = self.engine.next_due()
        if due < self._awaited:
            self._awaited = due
            self.core.agenda.add(due, self._alarm)

    def _key(self, asked: Asked) -> str:
        return self.engine.key(asked.plan, asked.options)

    def _retained(self, plan: Plan, now: float) -> list[Message]:
        found: list[Message] = []
        permissions = self.core.permissions
        for read in plan.reads:
            for message in self.core.retained.search(read, now):
                if not permissions.restricts or is_shown(permissions, message):
                    found.append(message)
        return found

    def _make(self, plan: Plan, options: Options) -> Operation:
        state = self.engine.subscribe(plan, options)
        operation = Operation(self, state)
        self.operations[state.key] = operation
        self.core.counters.operators = len(self.operations)
        for read in plan.reads:
            self.core.routes.add_tap(read, operation)
        return operation

    def _dismiss(self, operation: Operation) -> None:
        state = operation.state
        del self.operations[state.key]
        self.core.counters.operators = len(self.operations)
        for read in state.plan.reads:
            self.core.routes.remove_tap(read, operation)
        self.engine.release(state)
        if state.remembers and self.core.journal.keeps:
            self._parts.drop(state.key)
            self.core.journal.dirty = True


class _ChangedParts(PartSource):
    """What has to be saved, made into bytes once for each transaction."""

    def __init__(self, services: Services) -> None:
        self._services = services
        self._dropped: list[str] = []

    def drop(self, key: str) -> None:
        self._services.changed.pop(key, None)
        self._dropped.append(key)

    def take_changed(self) -> list[Part]:
        changed = self._services.changed
        self._services.changed = {}
        return [
            (key, name, data)
            for key, state in changed.items()
            for name, data in state.take_changes()
        ]

    def take_dropped(self) -> list[str]:
        dropped = self._dropped
        self._dropped = []
        return dropped


class _Alarm(Duty):
    def __init__(self, operators: Operators) -> None:
        self.operators = operators

    def fire(self, now: float) -> float:
        self.operators.tick(now)
        return 0.0


class _Sweep(Duty):
    def __init__(self, operators: Operators) -> None:
        self.operators = operators

    def fire(self, now: float) -> float:
        self.operators.sweep()
        return now + LINGER_SECONDS


class _Save(Duty):
    def __init__(self, operators: Operators) -> None:
        self.operators = operators

    def fire(self, now: float) -> float:
        self.operators.save()
        return now + SAVE_SECONDS


def _made(result: Result) -> Message:
    return Message(result.topic, result.payload, RESULT_QOS, False, None, 0.0, "", "")


def _forwarded(message: Message, result: Result) -> Message:
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
