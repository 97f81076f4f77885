"""What falls due when: one heap for keep-alives, expiries, delayed wills and time-outs."""

import heapq

from mypy_extensions import mypyc_attr


@mypyc_attr(allow_interpreted_subclasses=True)
class Duty:
    """Something to do at a time."""

    def fire(self, now: float) -> float:
        """Does it; the answer is the next time it is due, 0.0 for never."""
        return 0.0


class Agenda:
    """Duties by time. A duty that lost its point fires into nothing: cheaper than removal."""

    __slots__ = ("_count", "_heap")

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Duty]] = []
        self._count = 0

    def add(self, due: float, duty: Duty) -> None:
        self._count += 1
        heapq.heappush(self._heap, (due, self._count, duty))

    def next_due(self) -> float:
        """0.0 when there is nothing to do."""
        return self._heap[0][0] if self._heap else 0.0

    def run(self, now: float) -> None:
        heap = self._heap
        while heap and heap[0][0] <= now:
            due, _, duty = heapq.heappop(heap)
            again = duty.fire(now)
            if again:
                self.add(max(again, due), duty)

    def __len__(self) -> int:
        return len(self._heap)
