"""What one broker of several counts of an aggregate over time: no results, but the counts of each
window that has ended, for those who put the counts of all brokers together.
"""

import json
from typing import Final

from gossamer.plus.operators.aggregate import Aggregate
from gossamer.plus.plan import OperatorPlan, TemporalNode
from gossamer.plus.state import SAVED_VERSION, OperatorResult, Services
from gossamer.plus.temporal import TemporalState

# The keys of such states begin with it, and those of operators that somebody subscribed to do not.
COUNTED: Final = "counted "
# Of the windows that ended while the broker was down, so many are told of.
MOST_LATE: Final = 16
# A clock that a restart finds set back by more than this, and by a window, was wrong before.
MOST_BACK_SECONDS: Final = 60.0


class EndedWindow:
    """By topic. Windows of one length are numbered: a window begins at its number times that."""

    __slots__ = ("number", "topics")

    def __init__(self, number: int, topics: dict[str, Aggregate]) -> None:
        self.number = number
        self.topics = topics


class CountedWindows(TemporalState):
    """`since` is from when on it counts, by the wall clock: what was published before is not in it.
    `next_number` is the first window that was not taken. Both outlive a restart, as counts do."""

    def __init__(
        self, key: str, plan: OperatorPlan, services: Services, temporal: TemporalNode, now: float
    ) -> None:
        super().__init__(key, plan, services, temporal)
        self.since = now + services.wall_offset
        self.next_number = self._number(self._window.start(self.since))
        self._ended: list[EndedWindow] = []
        self.mark("")

    def tick(self, now: float) -> list[OperatorResult]:
        """Nothing: a window that has ended is on disk until it is taken, and told with that."""
        return []

    def is_over(self, now: float) -> bool:
        """Whether a window has ended that counted something: it is to be taken before a value of
        the next one enters."""
        return bool(self._topics) and now + self.services.wall_offset >= self._end

    def fire(self) -> list[OperatorResult]:
        number = self._number(self._start)
        self._ended.append(EndedWindow(number, self.close()))
        return []

    def take_ended(self, now: float) -> list[EndedWindow]:
        """Each window that has ended, once, those without values too; none while what they had
        before this state began is being read."""
        if self.is_awaiting():
            return []
        wall = now + self.services.wall_offset
        if self.is_open() and wall >= self._end:
            self.fire()
        current = self._number(self._window.start(wall))
        found = {
            number: EndedWindow(number, {})
            for number in range(max(self.next_number, current - MOST_LATE), current)
        }
        for ended in self._ended:
            # A clock that was set back far enough has opened a window that was taken: what came in
            # it counts in the next one.
            number = max(ended.number, self.next_number)
            known = found.get(number)
            if known is not None:
                for topic, aggregate in ended.topics.items():
                    counted = known.topics.setdefault(topic, aggregate)
                    if counted is not aggregate:
                        counted.merge(aggregate)
            else:
                found[number] = EndedWindow(number, ended.topics)
        self._ended = []
        if found:
            self.next_number = max(found) + 1
            self.mark("")
        return [found[number] for number in sorted(found)]

    def _table(self, start: float) -> dict[str, Aggregate] | None:
        number = self._number(start)
        for ended in self._ended:
            if ended.number == number:
                return ended.topics
        return super()._table(start)

    def part(self, name: str) -> bytes | None:
        if name:
            return super().part(name)
        said = [SAVED_VERSION, self._start, [], self.since, self.next_number]
        return json.dumps(said).encode()

    def restore(self, parts: list[tuple[str, bytes]], now: float) -> None:
        for name, part in parts:
            if not name:
                try:
                    said = json.loads(part)
                    self.since = min(self.since, float(said[3]))
                    # A clock that was set back does not open a window that was told, unless it had
                    # been wrong by much.
                    told = int(said[4])
                    if (told - self.next_number - 1) * self._window.seconds <= MOST_BACK_SECONDS:
                        self.next_number = told
                except (ValueError, TypeError, IndexError, KeyError):
                    self.mark(name)
        super().restore(parts, now)

    def _number(self, start: float) -> int:
        return round(start / self._window.seconds)
