"""Which rows a reader asks for, and which files cannot have any of them."""

from collections.abc import Callable, Iterable
from typing import Any, Final

import numpy as np
import pyarrow as pa

from gossamer.archive.schema import SCHEMA
from gossamer.topics.names import matches

FOREVER: Final = (1 << 63) - 1
# Distinct topics whose answer is remembered; past it the answers are found anew.
MOST_TOPICS: Final = 1 << 20

Allows = Callable[[str], bool]


class Selection:
    """Rows with offsets in [start, end) and times in [start_time, end_time), on topics of one of
    the filters that the reader may see."""

    def __init__(
        self,
        filters: Iterable[str] | None = None,
        start: int = 0,
        end: int = FOREVER,
        start_time: int = 0,
        end_time: int = FOREVER,
        schema: pa.Schema = SCHEMA,
        allows: Allows | None = None,
    ) -> None:
        self.filters = None if filters is None else tuple(filters)  # None for every topic
        self.start = start
        self.end = end
        self.start_time = start_time
        self.end_time = end_time
        self.schema = schema
        self.has_times = start_time > 0 or end_time < FOREVER
        self.has_topics = filters is not None or allows is not None
        self._allows = allows
        self._known: dict[str, bool] = {}
        self._prefixes = [topic_prefix(filter) for filter in self.filters or ()]

    def between(self, start: int, end: int) -> "Selection":
        """The same for other offsets."""
        part = Selection(
            self.filters, start, end, self.start_time, self.end_time, self.schema, self._allows
        )
        part._known = self._known
        return part

    def wants_topic(self, topic: str) -> bool:
        known = self._known.get(topic)
        if known is None:
            known = self.filters is None or any(matches(one, topic) for one in self.filters)
            known = known and (self._allows is None or self._allows(topic))
            if len(self._known) >= MOST_TOPICS:
                self._known.clear()
            self._known[topic] = known
        return known

    def may_want(self, first_topic: str, last_topic: str) -> bool:
        """Whether topics between these two, in the order of their letters, can be asked for."""
        return self.filters is None or any(
            last_topic >= prefix
            and (first_topic <= prefix or (is_open and first_topic.startswith(prefix)))
            for prefix, is_open in self._prefixes
        )

    def meets_times(self, min_time: int, max_time: int) -> bool:
        return min_time < self.end_time and max_time >= self.start_time

    def mask(self, codes: Any, names: list[str], times: Any) -> Any:
        """Which rows are wanted by topic and time; None for all of them."""
        found = None
        if self.has_topics:
            wanted = np.array([self.wants_topic(name) for name in names], bool)
            if not wanted.all():
                found = wanted[codes]
        if self.has_times:
            in_time = (times >= self.start_time) & (times < self.end_time)
            found = in_time if found is None else found & in_time
        return found


def topic_prefix(filter: str) -> tuple[str, bool]:
    """How every topic of this filter begins, and whether more may follow."""
    literal = ""
    for number, level in enumerate(filter.split("/")):
        if level == "#":
            return literal, True  # the parent level counts too
        if level == "+":
            return literal + "/" if number else "", True
        literal = literal + "/" + level if number else level
    return filter, False
