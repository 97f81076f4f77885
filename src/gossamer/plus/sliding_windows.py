"""Windows that overlap: a result at each hop, of what came in the length before it.

Time is cut into panes of a hop. Each pane is counted once, and a result puts together what the
panes of its window have counted.
"""

import json
from collections import deque
from typing import Final

from gossamer.plus.limits import BUCKET_BYTES
from gossamer.plus.operators.aggregate import Aggregate
from gossamer.plus.operators.windows import SlidingWindow
from gossamer.plus.plan import OperatorPlan, TemporalNode
from gossamer.plus.sequence import seconds_of
from gossamer.plus.state import SAVED_VERSION, OperatorResult, Services
from gossamer.plus.temporal import TemporalState

# What the names of saved panes begin with: no topic's name does, and no step's part.
PANE: Final = "#@"


class _Pane:
    """One that has ended: when it began, and what it takes in memory."""

    __slots__ = ("size", "start", "topics")

    def __init__(self, start: float) -> None:
        self.start = start
        self.topics: dict[str, Aggregate] = {}
        self.size = 0


class SlidingState(TemporalState):
    """It counts the open pane as the open window, and goes on while a pane of the length has a
    value."""

    def __init__(
        self,
        key: str,
        plan: OperatorPlan,
        services: Services,
        temporal: TemporalNode,
        window: SlidingWindow,
        names_participants: bool,
    ) -> None:
        super().__init__(key, plan, services, temporal, names_participants)
        self._window = window.pane
        self._length = window.seconds
        self._panes: deque[_Pane] = deque()

    def is_open(self) -> bool:
        return super().is_open() or bool(self._panes)

    def fire(self) -> list[OperatorResult]:
        """A hop ends."""
        pane = _Pane(self._start)
        end = self._end
        pane.size = self._topics_bytes
        pane.topics = self.close()
        if pane.topics:
            self.weigh(pane.size)
            self._panes.append(pane)
            self._mark(pane)
        results = self.results_from(self._together())
        if results:
            self.remember(results)
        # Panes of a place's days are not all as long as each other: by half of one is near enough.
        next_end = self._window.end(end)
        oldest = next_end - self._length - (next_end - end) / 2
        while self._panes and self._panes[0].start < oldest:
            gone = self._panes.popleft()
            self.weigh(-gone.size)
            self._mark(gone)
        if self._panes:
            self._go_on(end)
        return results

    def part(self, name: str) -> bytes | None:
        if not name.startswith(PANE):
            return super().part(name)
        start, _, topic = name[len(PANE) :].partition(" ")
        for pane in self._panes:
            if repr(pane.start) == start and topic in pane.topics:
                return json.dumps([SAVED_VERSION, *pane.topics[topic].save()]).encode()
        return None

    def restore(self, parts: list[tuple[str, bytes]], now: float) -> None:
        panes: dict[float, _Pane] = {}
        begun = 0.0  # the open pane
        open_parts: list[tuple[str, bytes]] = []
        for name, part in parts:
            if not name.startswith(PANE):
                open_parts.append((name, part))
                begun = _start_of(part) if not name else begun
                continue
            start, _, topic = name[len(PANE) :].partition(" ")
            try:
                began = float(start)
                version, *saved = json.loads(part)
                if version != SAVED_VERSION or not 0.0 <= began <= now + self.services.wall_offset:
                    raise ValueError("of another version or time")
                aggregate = self._function.running()
                aggregate.restore(saved)
                pane = panes.setdefault(began, _Pane(began))
                pane.topics[topic] = aggregate
                pane.size += self.size_of(topic) + BUCKET_BYTES * aggregate.buckets()
                self._order = max(self._order, aggregate.latest_order())
            except (ValueError, TypeError, IndexError):
                self.mark(name)
        self._panes.extend([panes[start] for start in sorted(panes) if panes[start].topics])
        for pane in self._panes:
            self.weigh(pane.size)
        super().restore(open_parts, now)
        if self._panes:
            self._fired_until = max(begun, self._window.end(self._panes[-1].start))
            if not self._topics:
                self._go_on(self._fired_until)

    def _go_on(self, start: float) -> None:
        """The next pane, though nothing may come in it."""
        self._start = start
        self._end = self._window.end(start)
        self.mark("")
        self.services.schedule(self, self._end - self.services.wall_offset)

    def _together(self) -> dict[str, Aggregate]:
        """The counts of all panes, by topic."""
        found: dict[str, Aggregate] = {}
        for pane in self._panes:
            for topic, aggregate in pane.topics.items():
                counted = found.get(topic)
                if counted is None:
                    counted = self._function.running()
                    found[topic] = counted
                counted.merge(aggregate)
        return found

    def _mark(self, pane: _Pane) -> None:
        for topic in pane.topics:
            self.mark(f"{PANE}{pane.start!r} {topic}")


def _start_of(part: bytes) -> float:
    """What a state says of its open window; 0.0 if nothing that can be read."""
    try:
        return seconds_of(json.loads(part)[1])
    except (ValueError, TypeError, IndexError, KeyError):
        return 0.0
