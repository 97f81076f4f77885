"""MQTT+ in the broker: all operations, from their first subscriber to the time they are forgotten.

All of it is off the road of plain subscriptions.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gossamer.broker.capabilities import too_busy
from gossamer.broker.catch_up import CatchingUp, CatchUpPort
from gossamer.broker.charges import charge_of_operation
from gossamer.broker.delivery import is_shown
from gossamer.broker.located_operators import LocatedOperation, OperatorArea
from gossamer.broker.offload import ANSWER, OffloadAnswers, want, want_no_more
from gossamer.broker.operator_memory import OperatorMemory
from gossamer.broker.operator_subscriptions import Operation, OperatorSubscription, forwarded, made
from gossamer.broker.ports import ProcessorPort
from gossamer.broker.sharing import Group
from gossamer.broker.takeover import Takeovers
from gossamer.broker.timers import Timer
from gossamer.budget.ledger import NOBODY
from gossamer.plus.counted_windows import COUNTED, CountedWindows
from gossamer.plus.engine import AskedOperator, Engine, read_key
from gossamer.plus.entered_values import EnteredValues
from gossamer.plus.filter_operator import FilterOperator
from gossamer.plus.jobs import Job
from gossamer.plus.located import LOCATED_KEY
from gossamer.plus.memory import REMEMBERED
from gossamer.plus.offload import OffloadedState
from gossamer.plus.plan import OperatorPlan, PlusError
from gossamer.plus.publication import Publication
from gossamer.plus.state import OperatorResult, OperatorState, Services
from gossamer.plus.temporal import TemporalState
from gossamer.plus.values import INFINITY
from gossamer.session.journal import Part, PartSource
from gossamer.session.message import Message
from gossamer.session.session import Session

if TYPE_CHECKING:
    from gossamer.broker.core import Core


# A subscriber that comes back within this time (twice it, at most) finds its windows as they were.
LINGER_SECONDS: Final = 300.0
# What QoS 0 publications changed is written this often; a crash loses no more than that of them.
SAVE_SECONDS: Final = 1.0


class Operators:
    """All operations of one broker, by the key of their state."""

    def __init__(self, core: Core, engine: Engine) -> None:
        self.core = core
        self.engine = engine
        self.processors = ProcessorPort()
        self.operations: dict[str, Operation] = {}
        self.awaits_retained = False  # at the start: not all retained messages are known
        self._early: list[Operation] = []  # opened since, that begin with them
        self._message: Message | None = None
        self._message_at = 0.0
        self._publication = Publication("", b"")
        self.catching_up = CatchingUp(core)
        self.memory: OperatorMemory | None = None
        if engine.memory is not None:
            self.memory = OperatorMemory(core, engine.memory)
        # What an earlier process counted for the mesh, or in areas, until somebody counts on.
        self._counted: dict[str, list[tuple[str, bytes]]] = {}
        self._awaited = INFINITY  # when the alarm goes
        self._alarm = _WindowTimer(self)
        self._parts = ChangedParts(engine.services)
        self.takeovers = Takeovers(self)
        engine.services.charge(core.ledger.operators)
        engine.services.saves = core.journal.keeps
        core.journal.parts = self._parts

    def begin(self, now: float) -> None:
        """The timers that come round, and the reader of others' answers."""
        if self.engine.offloads is not None:
            self.core.routes.add_tap(ANSWER, OffloadAnswers(self.core))
            self.takeovers.begin(now)
        if self.memory is not None:
            self.memory.begin(now)
        self.core.timers.add(now + LINGER_SECONDS, _OperatorSweep(self))
        if self.core.journal.keeps:
            self.core.timers.add(now + SAVE_SECONDS, _Save(self))

    # Operations ---------------------------------------------------------------------------------

    def refusal(self, asked: AskedOperator, session: Session) -> str:
        """Why this session cannot have the operation; "" if it can."""
        key = self._key(asked)
        if key in self.operations:
            return ""
        most = self.core.settings.max_operators
        if len(self.operations) >= most:
            return f"no more than {most} operator subscriptions"
        busy = too_busy(self.core, asked.plan)
        if busy:
            return busy
        return charge_of_operation(self.core, asked, key, session.owner).refusal()

    def offloaded(self) -> int:
        """How many of them somebody else computes."""
        states = [operation.state for operation in self.operations.values()]
        return len([state for state in states if isinstance(state, OffloadedState)])

    def open(self, asked: AskedOperator, session: Session, now: float) -> Operation:
        """The operation, made if it is new; then it begins with what is retained.

        What it costs is charged to the session that is the first to ask for it.
        """
        known = self.operations.get(self._key(asked))
        if known is not None:
            self._put_area(known, asked, now)
            return known
        plan = asked.plan
        charge = charge_of_operation(self.core, asked, self._key(asked), session.owner)
        operation = self._make(asked, now)
        operation.charge = charge
        charge.lay()
        if isinstance(operation, LocatedOperation):
            operation.reader = session
            self.core.locations.follow(operation, now)
            if self._count_on(operation, now):
                return operation
        if isinstance(operation.state, OffloadedState):
            return operation
        if plan.starts_retained():
            if self.awaits_retained:
                operation.early = set()
                self._early.append(operation)
            else:
                self._begin_with_retained(operation, set(), now)
        if not isinstance(operation, LocatedOperation):  # nobody knows where that was
            self._look_back(operation, now)
        return operation

    def _look_back(self, operation: Operation, now: float) -> None:
        """It takes up what was published before: from memory if that has all of it, else from the
        archive if that has."""
        state = operation.state
        memory = self.memory
        if memory is not None and memory.memory.covers(state.plan):
            memory.show(operation, now)
        elif self.catching_up.serves(state.plan):
            if not isinstance(state, TemporalState) or operation.gathers_from == INFINITY:
                self.catching_up.begin(state, operation, now)
                self.settle(state, True)
        elif memory is not None:
            memory.show(operation, now)

    def begin_catching_up(self, port: CatchUpPort, now: float) -> None:
        """From now on there is somebody who reads the archive."""
        port.is_on = True
        self.catching_up.port = port
        for operation in self.operations.values():
            state = operation.state
            if isinstance(state, TemporalState) and state.is_to_be_read_again():
                self.catching_up.begin(state, operation, now)
                self.settle(state, True)

    def all_retained(self, now: float) -> None:
        """All retained messages are known now: what was opened before begins with them."""
        self.awaits_retained = False
        opened = self._early
        self._early = []
        for operation in opened:
            known = operation.early
            operation.early = None
            if self.operations.get(operation.state.key) is operation and known is not None:
                self._begin_with_retained(operation, known, now)
                if known:  # it would have had results by now: the last of them stand for all
                    for result in operation.state.last_results(now):
                        operation.send(result, now)

    def _begin_with_retained(self, operation: Operation, known: set[str], now: float) -> None:
        """But for topics on which it has something later."""
        state = operation.state
        for message in self._retained(state.plan, now):
            if message.topic not in known:
                operation.accept(message, now)
        self.settle(state, False)

    def _put_area(self, known: Operation, asked: AskedOperator, now: float) -> None:
        """Somebody asks for it again, for the areas that it has now."""
        if isinstance(known, LocatedOperation) and isinstance(asked.area, OperatorArea):
            known.put_areas(asked.area.located, now)
            self.core.locations.follow(known, now)

    def _count_on(self, operation: LocatedOperation, now: float) -> bool:
        """Whether an earlier process left something of it."""
        state = operation.state
        parts = self._counted.pop(state.key, None)
        if parts is None:
            return False
        state.restore(parts, now)
        operation.area_changed(now)
        self.settle(state, True)
        return True

    def attach(self, subscription: OperatorSubscription) -> None:
        subscription.operation.add(subscription)

    def detach(self, subscription: OperatorSubscription, is_replaced: bool = False) -> None:
        """The last one leaves behind what was counted, for a while; not if it asked for another
        area instead."""
        operation = subscription.operation
        operation.remove(subscription)
        operation.pass_on(subscription.session)
        comes_back = operation.state.remembers and not (
            is_replaced and isinstance(operation, LocatedOperation)
        )
        if operation.is_idle() and not comes_back and not operation.taken_at:
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
        operation = subscription.operation
        state = operation.state
        if operation.is_quiet(now) or operation.early is not None:
            return []  # it has no results yet
        messages = {result.topic: made(result) for result in state.last_results(now)}
        if isinstance(state, FilterOperator) and state.plan.processor is None:
            for message in self._retained(state.plan, now):
                if not operation.admits(message, now):
                    continue
                result = state.judge(self.publication(message, now))
                if result is not None and result.topic not in messages:
                    messages[result.topic] = forwarded(message, result)
        return list(messages.values())

    def restore(self, parts: list[tuple[str, str, bytes]], now: float) -> None:
        """What an earlier process counted; subscribers come to it with their sessions, or soon."""
        by_key: dict[str, list[tuple[str, bytes]]] = {}
        for key, name, data in parts:
            by_key.setdefault(key, []).append((name, data))
        for key in [key for key in by_key if key.startswith(REMEMBERED)]:
            named = by_key.pop(key)
            if key in self.engine.states:
                self.engine.states[key].restore(named, now)
            else:  # remembered no more
                self._parts.drop(key)
                self.core.journal.dirty = True
        for key, named in by_key.items():
            if key.startswith((COUNTED, LOCATED_KEY)):
                self._counted[key] = named
                continue
            try:
                filter, options = read_key(key)
                plan = self.engine.parse(filter)
            except (PlusError, ValueError):
                # The window or the processor it needs is configured no more.
                self._parts.drop(key)
                self.core.journal.dirty = True
                continue
            operation = self.reopen(AskedOperator(plan, options), now)
            operation.state.restore(named, now)
            if self.memory is not None and isinstance(operation.state, TemporalState):
                self.memory.show(operation, now)
            self.settle(operation.state, True)

    def reopen(self, asked: AskedOperator, now: float) -> Operation:
        """For subscribers that may come back, if it is not there; charged to nobody until then."""
        known = self.operations.get(self._key(asked))
        if known is not None:
            return known
        operation = self._make(asked, now)
        charge = charge_of_operation(self.core, asked, operation.state.key, NOBODY)
        operation.charge = charge
        charge.lay()
        return operation

    def sweep(self, now: float) -> None:
        """Ends operations that had no subscriber for a whole round."""
        self.drop_counted()
        for operation in list(self.operations.values()):
            is_idle = operation.is_idle()
            if is_idle and operation.was_idle:
                self._dismiss(operation)
                if operation.taken_at or isinstance(operation.state, OffloadedState):
                    want_no_more(self.core, operation.state, now)
                    self.takeovers.ended(operation)
            operation.was_idle = is_idle

    # Counting for the mesh ----------------------------------------------------------------------

    def count(self, name: str, plan: OperatorPlan, now: float) -> CountedWindows:
        """Goes on with what an earlier process counted by that name."""
        state = self.engine.count(name, plan, now)
        parts = self._counted.pop(COUNTED + name, None)
        if parts is not None:
            state.restore(parts, now)
        if self.memory is not None and self.memory.memory.covers(plan):
            self.memory.show_counts(state, now)
        elif parts is None and self.catching_up.serves(plan):
            self.catching_up.begin(state, None, now)
        elif self.memory is not None:
            self.memory.show_counts(state, now)
        self.settle(state, True)
        return state

    def note_values(self, name: str, plan: OperatorPlan, now: float) -> EnteredValues:
        """Goes on with what an earlier process had noted by that name."""
        state = self.engine.note_values(name, plan)
        parts = self._counted.pop(COUNTED + name, None)
        if parts is not None:
            state.restore(parts, now)
        if self.memory is not None:
            self.memory.show_values(state, now)
        self.settle(state, True)
        return state

    def count_no_more(self, state: OperatorState) -> None:
        self.engine.release(state)
        self._parts.drop(state.key)
        self.core.journal.dirty = True

    def drop_counted(self) -> None:
        """What nobody counts on with."""
        for key in self._counted:
            self._parts.drop(key)
            self.core.journal.dirty = True
        self._counted.clear()

    # Time and work ------------------------------------------------------------------------------

    def publication(self, message: Message, now: float) -> Publication:
        """One for all operations that a message touches."""
        if self._message is not message or self._message_at != now:
            self._message = message
            self._message_at = now
            self._publication = Publication(
                message.topic, message.payload, message.expires_at, message.properties
            )
            encodings = self.engine.services.encodings
            if not encodings.are_plain:
                content_type = self._publication.content_type()
                self._publication.encoding = encodings.find(message.topic, content_type)
        return self._publication

    def settle(self, state: OperatorState, at_once: bool) -> None:
        """After a state took something in: what it wants saved, done and woken for."""
        if at_once and self.engine.services.changed:
            self.core.journal.dirty = True
        if state.plan.processor is not None:
            for job in self.engine.take_jobs():
                self.processors.start(job)
        self._set_alarm()

    def processed(self, job: Job, answer: bytes | None, now: float) -> None:
        self._send(self.engine.processed(job, answer, now), now)

    def tick(self, now: float) -> None:
        self._awaited = INFINITY
        self._send(self.engine.tick(now), now)

    def clock_set(self, wall_offset: float, now: float) -> None:
        """Windows end when the wall clock says so."""
        self.engine.clock_set(wall_offset, now)
        self._set_alarm()

    def save(self) -> None:
        """What was put off is saved with this turn."""
        if self.engine.services.changed:
            self.core.journal.dirty = True

    def _send(self, results: list[tuple[OperatorState, OperatorResult]], now: float) -> None:
        faults = self.core.faults
        for state, error in self.engine.failed:
            faults.note("an operator", error, state.key, now)
        self.engine.failed.clear()
        for state, result in results:
            operation = self.operations.get(state.key)
            if operation is None:
                continue
            try:
                operation.send(result, now)
            except Exception as error:
                faults.note("an operator's result", error, state.key, now)
        self.save()
        self._set_alarm()

    def _set_alarm(self) -> None:
        due = self.engine.next_due()
        if due < self._awaited:
            self._awaited = due
            self.core.timers.add(due, self._alarm)

    def _key(self, asked: AskedOperator) -> str:
        return self.engine.key(asked.plan, asked.options, asked.area)

    def _retained(self, plan: OperatorPlan, now: float) -> list[Message]:
        found: list[Message] = []
        permissions = self.core.permissions
        for read in plan.reads:
            for message in self.core.retained.search(read, now):
                if not permissions.restricts or is_shown(permissions, message):
                    found.append(message)
        return found

    def _make(self, asked: AskedOperator, now: float) -> Operation:
        plan = asked.plan
        area = asked.area
        state = self.engine.subscribe(plan, asked.options, area)
        state.begin(now)
        operation = (
            LocatedOperation(self, state, area)
            if isinstance(area, OperatorArea)
            else Operation(self, state)
        )
        self.operations[state.key] = operation
        self.core.counters.operators = len(self.operations)
        if isinstance(state, OffloadedState):
            state.heard_at = now
            want(self.core, state, now)
            return operation
        self._tap(operation, now)
        return operation

    def listen(self, operation: Operation, now: float) -> None:
        """Computes from now on what was left to others."""
        operation.state.begin(now)
        self._tap(operation, now)
        if operation.state.plan.starts_retained():
            self._begin_with_retained(operation, set(), now)

    def listen_no_more(self, operation: Operation) -> None:
        self._untap(operation)
        if operation.state.remembers and self.core.journal.keeps:
            self._parts.drop(operation.state.key)
            self.core.journal.dirty = True

    def _tap(self, operation: Operation, now: float) -> None:
        for read in operation.state.plan.reads:
            self.core.routes.add_tap(read, operation)
        self.core.neighbours.operation_opened(operation, now)

    def _untap(self, operation: Operation) -> None:
        self.core.neighbours.operation_closed(operation)
        for read in operation.state.plan.reads:
            self.core.routes.remove_tap(read, operation)

    def _dismiss(self, operation: Operation) -> None:
        state = operation.state
        self._untap(operation)
        if isinstance(operation, LocatedOperation):
            self.core.locations.unfollow(operation)
        del self.operations[state.key]
        if operation.charge is not None:
            operation.charge.lift()
        self.core.counters.operators = len(self.operations)
        self.engine.release(state)
        if state.remembers and self.core.journal.keeps:
            self._parts.drop(state.key)
            self.core.journal.dirty = True


class _WindowTimer(Timer):
    def __init__(self, operators: Operators) -> None:
        self.operators = operators

    def fire(self, now: float) -> float:
        self.operators.tick(now)
        return 0.0


class _OperatorSweep(Timer):
    def __init__(self, operators: Operators) -> None:
        self.operators = operators

    def fire(self, now: float) -> float:
        self.operators.sweep(now)
        return now + LINGER_SECONDS


class _Save(Timer):
    def __init__(self, operators: Operators) -> None:
        self.operators = operators

    def fire(self, now: float) -> float:
        self.operators.save()
        return now + SAVE_SECONDS


class ChangedParts(PartSource):
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
