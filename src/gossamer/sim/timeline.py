"""Virtual time: events in the order in which they fall due, and nothing between them.

Events of the same moment fire in the order in which they were added, so a run repeats exactly.
"""

import heapq

from mypy_extensions import mypyc_attr


@mypyc_attr(allow_interpreted_subclasses=True)
class Event:
    """Something that happens at a time."""

    def fire(self, now: float) -> None: ...


class Timeline:
    """The clock of a simulation, in seconds since its start."""

    def __init__(self) -> None:
        self.now = 0.0
        self.fired = 0
        self._heap: list[tuple[float, int, Event]] = []
        self._added = 0

    def add(self, at: float, event: Event) -> None:
        self._added += 1
        heapq.heappush(self._heap, (at, self._added, event))

    def run(self, until: float) -> None:
        """Everything that falls due up to `until`, which then is the time."""
        heap = self._heap
        while heap and heap[0][0] <= until:
            at, _, event = heapq.heappop(heap)
            self.now = at
            self.fired += 1
            event.fire(at)
        self.now = until
