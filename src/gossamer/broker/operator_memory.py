"""What this broker's own clients publish is remembered before anybody asks (`plus/memory.py`), and
operators that begin later take up what they would have.

A window looks at what was counted for it topic by topic, when something comes on a topic or when it
ends. Last values are handed over at once if they are few, and in slices if they are many; until the
last of them an aggregate over topics has no results. What neighbours bring is remembered where it
entered.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gossamer.broker.chores import Chore
from gossamer.broker.operator_subscriptions import Operation
from gossamer.broker.subscription_tree import Tap
from gossamer.plus.counted_windows import CountedWindows
from gossamer.plus.entered_values import EnteredValues
from gossamer.plus.filter_operator import FilterOperator
from gossamer.plus.memory import Memory, RememberedValue
from gossamer.plus.publication import Publication
from gossamer.plus.spatial import SpatialState
from gossamer.plus.state import OperatorState
from gossamer.plus.temporal import TemporalState
from gossamer.plus.values import INFINITY
from gossamer.session.message import Message
from gossamer.session.session import Session
from gossamer.wire.properties import Properties

if TYPE_CHECKING:
    from gossamer.broker.core import Core

# Values that are handed over in one turn: about a millisecond.
AT_ONCE: Final = 200


class OperatorMemory(Tap):
    """Of one broker. What is published under several of the filters is remembered once."""

    def __init__(self, core: Core, memory: Memory) -> None:
        self._core = core
        self.memory = memory
        self._latest: Message | None = None

    def begin(self, now: float) -> None:
        self.memory.begin(now)
        for filter in self.memory.limits.filters:
            self._core.routes.add_tap(filter, self)

    def take(self, message: Message, origin: Session | None, now: float) -> None:
        if message is self._latest or (origin is not None and origin.is_peer):
            return
        self._latest = message
        operators = self._core.operators
        self.memory.accept(operators.publication(message, now), now)
        operators.settle(self.memory.values, message.qos > 0)

    def show_counts(self, state: CountedWindows, now: float) -> None:
        """To a state that counts for the mesh."""
        window = self.memory.window_for(state)
        if window is not None and window.show(state, now):
            state.since = min(state.since, window.since)

    def show_values(self, state: EnteredValues, now: float) -> None:
        """To a state that tells other brokers what entered here."""
        handing = HandingOver(self.memory, state, None)
        if not handing.step(self._core, now):
            self._core.chores.add(handing)

    def show(self, operation: Operation, now: float) -> None:
        """To an operator that has just begun."""
        state = operation.state
        if isinstance(state, TemporalState):
            window = self.memory.window_for(state)
            if window is not None and operation.gathers_from == INFINITY:
                window.show(state, now)
                self._core.operators.settle(state, True)
        elif state.plan.processor is None and isinstance(state, SpatialState | FilterOperator):
            handing = HandingOver(self.memory, state, operation)
            if not handing.step(self._core, now):
                if isinstance(state, SpatialState) and operation.early is None:
                    operation.early = set()
                    handing.ends_wait = True
                self._core.chores.add(handing)


class HandingOver(Chore):
    """Last values go to an operator over topics, or to rules."""

    def __init__(self, memory: Memory, state: OperatorState, operation: Operation | None) -> None:
        self._memory = memory
        self._state = state
        self._operation = operation
        self._search = memory.search(state.plan.reads)
        self._latest = memory.values.order
        self.ends_wait = False  # whether the operator has had no results because of this
        if isinstance(state, SpatialState):
            state.begin_after(self._latest)

    def step(self, core: Core, now: float) -> bool:
        operation = self._operation
        state = self._state
        if core.operators.engine.states.get(state.key) is not state:
            return True
        for topic in self._search.take(AT_ONCE):
            value = self._memory.values.find(topic, now)
            # What came after it began it has seen itself.
            if value is not None and value.order <= self._latest:
                encoding = state.services.encodings.find(topic, value.content_type)
                _hand(state, _publication(topic, value, encoding), value.order, now)
                if operation is not None and operation.early is not None and not self.ends_wait:
                    operation.early.add(topic)  # what is retained there is older
        core.operators.settle(state, True)
        if not self._search.is_done():
            return False
        if isinstance(state, EnteredValues):
            core.neighbours.noted(state, now)
        if self.ends_wait and operation is not None:
            operation.early = None
            for result in state.last_results(now):
                operation.send(result, now)
        return True


def _hand(state: OperatorState, publication: Publication, order: int, now: float) -> None:
    if isinstance(state, SpatialState | EnteredValues):
        state.take_up(publication, order, now)
    elif isinstance(state, FilterOperator):
        state.enter(publication, now)


def _publication(topic: str, value: RememberedValue, encoding: str) -> Publication:
    properties: Properties | None = None
    if value.content_type is not None:
        properties = Properties()
        properties.content_type = value.content_type
    return Publication(topic, value.payload, value.expires_at, properties, encoding)
