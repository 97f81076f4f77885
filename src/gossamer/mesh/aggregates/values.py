"""Aggregates over topics, computed by the whole mesh: each broker notes the last values of what its
clients publish, and tells those that have changed, some at once, to the brokers with subscribers.

Who wants what is in the directory that everybody keeps. A value is told with its time and its
validity, so it does no harm if it comes late, again, or after a later one. What was not told yet is
in the store, and waits there for brokers that cannot be reached: for each topic one value.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gossamer.broker.operator_subscriptions import Operation
from gossamer.broker.timers import Timer
from gossamer.mesh.aggregates.counting import Counting, OwnValues
from gossamer.mesh.aggregates.directory import (
    Wanted,
    WantedValues,
    WindowDirectory,
    wanted_values,
)
from gossamer.mesh.aggregates.subscribed_values import LOOK_SECONDS, SubscribedValues
from gossamer.mesh.aggregates.told import KIND, ToldValues, read_told
from gossamer.mesh.directed.message import DirectedMessage
from gossamer.mesh.directed.router import DirectedHandler
from gossamer.mesh.json_fields import malformed
from gossamer.mesh.link import Link
from gossamer.mesh.settings import VALUES
from gossamer.plus.entered_values import EnteredValues
from gossamer.plus.spatial import SpatialState
from gossamer.plus.value_codec import Values, packed_values, unpacked_values

if TYPE_CHECKING:
    from gossamer.mesh.mesh import Mesh

# The modes in which neighbours are told what is wanted; the others stay as the papers have them.
COUNTING_MODES: Final = ("ssf", "bloom", "auto")
# What is done in one turn, a few milliseconds; and until the next, where there is more.
_AT_ONCE: Final = 1_000
_LOOKS_AT_ONCE: Final = 500
_SLICE_SECONDS: Final = 0.02


class MeshValues(DirectedHandler):
    """One broker's part in it, as a handler of what others tell."""

    def __init__(self, mesh: Mesh, directory: WindowDirectory) -> None:
        self._mesh = mesh
        self._core = mesh.core
        self._name = mesh.settings.name
        self._directory = directory
        self.counting: Counting | None = None
        self.subscribed: dict[str, SubscribedValues] = {}  # by the name of what is wanted
        self.ignored = 0  # values that nobody here asked for
        self._by_key: dict[str, SubscribedValues] = {}
        self._flush = _Flush(self)
        self._look = _Look(self)
        self._unseen: list[str] = []  # that are still to be looked at
        self._checked: tuple[DirectedMessage, ToldValues, Values] | None = None
        mesh.router.handlers[KIND] = self

    # What others have to be told ------------------------------------------------------------------

    def touched(self, name: str, wanted: Wanted | None, now: float) -> None:
        """Other brokers came to want it, or want it no more."""
        counting = self.counting
        assert counting is not None
        others: list[str] = []
        if isinstance(wanted, WantedValues):
            others = [broker for broker in wanted.brokers if broker != self._name]
        own = counting.values.get(name)
        if own is not None:
            gone = [broker for broker in own.greeted if broker not in others]
            while any(own.entered.is_untold(broker) and self._can_send(broker) for broker in gone):
                self._tell(own, gone, now)
            for broker in gone:
                del own.greeted[broker]
        if not others:
            if own is not None:
                counting.end(name)
        elif wanted is not None and counting.begin(wanted, now):
            own = counting.values[name]
            own.entered.tell_to(others)
            self._greet(own, now)
            if own.due == 0.0 and any(map(own.entered.is_untold, others)):
                self.announce(own, now)  # what is known from before

    def members_changed(self, now: float) -> None:
        """Somebody can be reached, or cannot, or says something of itself."""
        counting = self.counting
        assert counting is not None
        for own in counting.values.values():
            self._greet(own, now)
            if own.due == 0.0 and any(map(own.entered.is_untold, self._reached_by(own))):
                self.announce(own, now)
        self._choose(list(self.subscribed.values()), now)

    def announce(self, own: OwnValues, now: float) -> None:
        """There is something to tell."""
        own.due = now + own.wanted.seconds
        if not self._flush.ticket or own.due < self._flush.due:
            self._core.timers.add(own.due, self._flush)

    def noted(self, state: EnteredValues, now: float) -> None:
        """More is known from before."""
        counting = self.counting
        assert counting is not None
        for own in counting.values.values():
            if own.entered is state and own.due == 0.0:
                self.announce(own, now)

    def flush(self, now: float) -> float:
        """Tells what is due. When more is; 0.0 for never."""
        counting = self.counting
        assert counting is not None
        soonest = 0.0
        for own in counting.values.values():
            if own.due and own.due <= now:
                own.due = 0.0
                brokers = self._reached_by(own)
                self._tell(own, brokers, now)
                if any(map(own.entered.is_untold, brokers)):
                    own.due = now + _SLICE_SECONDS
            if own.due and (not soonest or own.due < soonest):
                soonest = own.due
        return soonest

    def _reached_by(self, own: OwnValues) -> list[str]:
        """Of those who want it."""
        return [
            broker
            for broker in own.wanted.brokers
            if broker != self._name and self._can_send(broker)
        ]

    def _can_send(self, broker: str) -> bool:
        reaching = self._mesh.reachability
        return reaching.is_reached(broker) and reaching.next_hop(broker) is not None

    def _greet(self, own: OwnValues, now: float) -> None:
        for broker in self._reached_by(own):
            life = own.wanted.brokers[broker]
            if own.greeted.get(broker) != life:
                own.greeted[broker] = life
                self._send(own, broker, (0, 0), b"", now)

    def _tell(self, own: OwnValues, brokers: list[str], now: float) -> None:
        """Those of them that can be reached."""
        entered = own.entered
        publications, size = entered.publications, entered.size
        for broker in brokers:
            if not self._can_send(broker):
                continue
            for at, piece in enumerate(packed_values(entered.take_untold(broker, _AT_ONCE))):
                counts = (0, 0) if at else (publications, size)
                self._send(own, broker, counts, piece, now)
        entered.publications = entered.size = 0
        self._core.operators.settle(entered, True)

    def _send(
        self, own: OwnValues, broker: str, counts: tuple[int, int], data: bytes, now: float
    ) -> None:
        told = ToldValues(own.wanted.name, self._name, *counts, data)
        self._mesh.router.send(told.directed(broker), 1, now)

    # What is subscribed here ----------------------------------------------------------------------

    def opened(self, operation: Operation, now: float) -> None:
        """Somebody subscribes to an operator, or may come back to it."""
        state = operation.state
        if not isinstance(state, SpatialState) or state.key in self._by_key:
            return
        seconds = max(state.every, self._mesh.settings.aggregates_seconds)
        try:
            wanted = wanted_values(self._core.operators.engine, state.key, seconds)
        except ValueError:
            return
        subscribed = SubscribedValues(self._core, self._directory, operation, state, wanted)
        self._by_key[state.key] = subscribed
        self.subscribed[wanted.name] = subscribed
        self._choose([subscribed], now)
        if not self._look.ticket:
            self._core.timers.add(now + LOOK_SECONDS, self._look)

    def closed(self, operation: Operation) -> None:
        subscribed = self._by_key.pop(operation.state.key, None)
        if subscribed is not None:
            subscribed.close()
            del self.subscribed[subscribed.wanted.name]

    def look(self, now: float) -> float:
        """Measures, some at a time. When to look again; 0.0 for never."""
        if not self._unseen:
            self._unseen = list(self.subscribed)
        looked_at = [
            self.subscribed[name]
            for name in self._unseen[-_LOOKS_AT_ONCE:]
            if name in self.subscribed
        ]
        del self._unseen[-_LOOKS_AT_ONCE:]
        brokers = len(self._others())
        for subscribed in looked_at:
            subscribed.measure(brokers, now)
        self._choose(looked_at, now)
        if self._unseen:
            return now + _SLICE_SECONDS
        return now + LOOK_SECONDS if self.subscribed else 0.0

    def _others(self) -> set[str]:
        return self._directory.brokers() - {self._name}

    def _choose(self, some: list[SubscribedValues], now: float) -> None:
        """Values are to be told if all brokers can, and it is cheaper or decided."""
        mesh = self._mesh
        others = self._others()
        reached = {broker for broker in others if mesh.reachability.is_reached(broker)}
        decided = mesh.settings.aggregates
        may = decided != "raw" and mesh.settings.mode in COUNTING_MODES
        cheaper = {one for one in some if may and (decided == "partial" or one.is_cheaper())}
        # Asked only then: who is asked has a while to say that it can.
        can = bool(cheaper) and all(
            self._directory.counts(each, now, VALUES) for each in mesh.tree_links.view.tree
        )
        for subscribed in some:
            subscribed.choose(can and subscribed in cheaper, others, reached, now)

    def check(self, directed: DirectedMessage) -> None:
        self._checked = self._read(directed)

    def _read(self, directed: DirectedMessage) -> tuple[DirectedMessage, ToldValues, Values]:
        """ProtocolError if it is malformed."""
        told = read_told(directed.message.payload)
        if told.broker == self._name:
            raise malformed("values that entered here")
        try:
            values = unpacked_values(told.data) if told.data else {}
        except ValueError as error:
            raise malformed(f"malformed values: {error}") from None
        return directed, told, values

    def run(self, directed: DirectedMessage, origin: Link, now: float) -> None:
        checked = self._checked
        self._checked = None
        if checked is None or checked[0] is not directed:
            checked = self._read(directed)
        _, told, values = checked
        subscribed = self.subscribed.get(told.wanted)
        if subscribed is None:
            self.ignored += 1
            return
        operation = subscribed.operation
        results = subscribed.state.learn(values, now)
        subscribed.take(told)
        if operation.early is not None:
            operation.early.update(values)  # until it may begin, it has no results
        else:
            for result in results:
                operation.send(result, now)
        operation.owner.settle(subscribed.state, True)
        if not told.data:
            self._choose([subscribed], now)


class _Flush(Timer):
    """When values are told."""

    def __init__(self, values: MeshValues) -> None:
        self._values = values

    def fire(self, now: float) -> float:
        return self._values.flush(now)


class _Look(Timer):
    """When it is measured what the forms take."""

    def __init__(self, values: MeshValues) -> None:
        self._values = values

    def fire(self, now: float) -> float:
        return self._values.look(now)
