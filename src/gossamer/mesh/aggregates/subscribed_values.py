"""An aggregate over topics that this broker's clients subscribed to, as long as somebody is.

It has two forms. *Raw*: other brokers send every publication that it reads. *Partial*: each keeps
the last values of its own clients' topics, and tells those that have changed, some at once. In both
the operator here has the last value of each topic, so nothing is lost or counted twice when the
form changes: the next begins before the one before ends. Publications are drawn until all known
brokers have said that they tell values; values are wanted until all have heard what is drawn.

Which form costs less is measured: both by bytes a second. The form changes only if the other one is
clearly cheaper, and not again soon.
"""

from __future__ import annotations

from typing import Final

from gossamer.broker.core import Core
from gossamer.broker.operator_subscriptions import Operation
from gossamer.mesh.aggregates.directory import WantedValues, WindowDirectory
from gossamer.mesh.aggregates.drawing import set_draws
from gossamer.mesh.aggregates.subscribed import MISSING_PROPERTY, MOST_NAMED
from gossamer.mesh.aggregates.told import ToldValues
from gossamer.plus.engine import read_key
from gossamer.plus.spatial import SpatialState

RAW: Final = "raw"
STARTING: Final = "starting"  # values are wanted, and publications still drawn
PARTIAL: Final = "partial"
ENDING: Final = "ending"  # publications are drawn, and values still taken

LOOK_SECONDS: Final = 5.0
# Until all brokers have heard what is drawn.
LEAD_SECONDS: Final = 5.0
DWELL_SECONDS: Final = 30.0
# The part of the bytes of publications below which values are told, and above which no longer.
PARTIAL_BELOW: Final = 0.7
RAW_ABOVE: Final = 1.0
# Bytes a second of publications below which nothing is worth a change.
LEAST_BYTES: Final = 100.0
# A publication on a link beside its topic and payload, a directed message, a value in it.
_RAW_BYTES: Final = 6
_TOLD_BYTES: Final = 230
_VALUE_BYTES: Final = 16
# What was measured in the last look, of what is known.
_NEWS: Final = 0.5


class SubscribedValues:
    """One operation. `raw_bytes` and `partial_bytes` a second are what each form takes; of the one
    that is not in use it is calculated."""

    def __init__(
        self,
        core: Core,
        directory: WindowDirectory,
        operation: Operation,
        state: SpatialState,
        wanted: WantedValues,
    ) -> None:
        self._core = core
        self._directory = directory
        self.operation = operation
        self.state = state
        self.wanted = wanted
        self.form = RAW
        self.greeted: set[str] = set()  # brokers that tell their values
        self.told = 0  # messages of values
        # Brokers that cannot be reached, whom results name: what they told last holds.
        self.missing: list[str] = []
        self.raw_bytes = 0.0
        self.partial_bytes = 0.0
        self._is_cheaper = False  # to tell values
        self._changed_at = -DWELL_SECONDS
        self._all_reached_at = 0.0
        self._looked_at = core.started_at
        self._publications = 0  # since the last look, as the values
        self._bytes = 0
        self._messages = 0
        self._message_bytes = 0
        operation.learner = state

    def operator(self) -> str:
        """The filter, as it was subscribed."""
        return read_key(self.wanted.key)[0]

    def take(self, told: ToldValues) -> None:
        """What another broker told, which the state has learned."""
        self.greeted.add(told.broker)
        if told.data:
            self.told += 1
            self._publications += told.publications
            self._bytes += told.size
            self._messages += 1
            self._message_bytes += len(told.data) + _TOLD_BYTES

    def choose(self, is_wanted: bool, brokers: set[str], reached: set[str], now: float) -> None:
        """Takes a step towards the form; `brokers` are all others that are known."""
        if is_wanted and self.form in (RAW, ENDING):
            self._directory.want(self.wanted)
            self._set_form(STARTING)
        elif not is_wanted and self.form in (STARTING, PARTIAL):
            self._all_reached_at = now
            self._set_form(ENDING)
        if self.form in (STARTING, PARTIAL):
            self._set_form(PARTIAL if brokers <= self.greeted else STARTING)
        elif self.form == ENDING:
            if not brokers <= reached:
                self._all_reached_at = now
            elif now - self._all_reached_at >= LEAD_SECONDS:
                self._directory.want_no_more(self.wanted.name)
                self.greeted.clear()
                self._set_form(RAW)
        self.missing = sorted(brokers - reached) if self.form == PARTIAL else []
        notes = [(MISSING_PROPERTY, broker) for broker in self.missing[:MOST_NAMED]]
        self.operation.notes = notes or None

    def is_cheaper(self) -> bool:
        """Whether values take fewer bytes, by what was measured."""
        return self._is_cheaper

    def measure(self, brokers: int, now: float) -> None:
        """What both forms take, and which is to be."""
        operation = self.operation
        passed = now - self._looked_at
        if passed <= 0.0:
            self._looked_at = now
            return
        self._looked_at = now
        publications = (self._publications + operation.drawn_messages) / passed
        size = (self._bytes + operation.drawn_bytes) / passed
        self.raw_bytes += _NEWS * (size + publications * _RAW_BYTES - self.raw_bytes)
        if self.form == PARTIAL:
            partial = self._message_bytes / passed
        else:
            partial = self._calculated(publications, brokers)
        self.partial_bytes += _NEWS * (partial - self.partial_bytes)
        operation.drawn_messages = operation.drawn_bytes = 0
        self._publications = self._bytes = self._messages = self._message_bytes = 0
        if now - self._changed_at < DWELL_SECONDS:
            return
        limit = RAW_ABOVE if self._is_cheaper else PARTIAL_BELOW
        is_cheaper = self.raw_bytes >= LEAST_BYTES and self.partial_bytes < limit * self.raw_bytes
        if is_cheaper != self._is_cheaper:
            self._is_cheaper = is_cheaper
            self._changed_at = now

    def close(self) -> None:
        """Nobody has subscribed to it for a while."""
        self._directory.want_no_more(self.wanted.name)
        self.state.learns = False
        self.operation.learner = None
        self.operation.notes = None

    def _calculated(self, publications: float, brokers: int) -> float:
        """Bytes a second of values, if all brokers publish and topics take turns."""
        some = publications * self.wanted.seconds
        size = min(some, brokers) * _TOLD_BYTES + min(some, self.state.topics()) * _VALUE_BYTES
        return size / self.wanted.seconds

    def _set_form(self, form: str) -> None:
        self.form = form
        self.state.learns = form in (STARTING, PARTIAL)
        set_draws(self._core, self.operation, form != PARTIAL)
