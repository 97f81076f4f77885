"""Archives as a history: everything between two positions, less what the query does not ask for.

Spark offers the conditions of a query; those on time, offset, broker and topic narrow what is asked
of the brokers, which then skip whole segments. Spark checks every condition again on the rows.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime

import pyarrow as pa
from pyspark.sql.datasource import (
    DataSourceReader,
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    In,
    InputPartition,
    LessThan,
    LessThanOrEqual,
)

from gossamer.spark.source.archives import OffsetRange, cut, find_replays, rows_of
from gossamer.spark.source.source_options import EARLIEST, LATEST, Position, SourceOptions
from gossamer.topics.names import matches

_MOST = (1 << 63) - 1


class Bounds:
    """Inclusive limits of a column of integers."""

    def __init__(self) -> None:
        self.least = 0
        self.most = _MOST

    def narrow(self, condition: Filter, value: int) -> None:
        if isinstance(condition, EqualTo | GreaterThanOrEqual):
            self.least = max(self.least, value)
        if isinstance(condition, EqualTo | LessThanOrEqual):
            self.most = min(self.most, value)
        if isinstance(condition, GreaterThan):
            self.least = max(self.least, value + 1)
        if isinstance(condition, LessThan):
            self.most = min(self.most, value - 1)


class GossamerReader(DataSourceReader):
    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._offsets = Bounds()
        self._times = Bounds()
        self._topics: set[str] | None = None
        self._brokers: set[str] | None = None

    def pushFilters(self, filters: list[Filter]) -> Iterable[Filter]:
        for condition in filters:
            self._note(condition)
        return filters

    def partitions(self) -> list[InputPartition]:
        options = self._options
        starting = options.starting or Position(end=EARLIEST)
        ending = options.ending or Position(end=LATEST)
        filters = self._filters()
        if not filters:
            return []
        found: list[InputPartition] = []
        for name, replay in find_replays(options, files=True).items():
            if self._brokers is not None and name not in self._brokers:
                continue
            whole = OffsetRange(
                replay.address,
                max(replay.offset_of(starting), self._offsets.least),
                min(replay.offset_of(ending), self._offsets.most + 1),
                filters,
                self._times.least or None,
                self._times.most + 1 if self._times.most < _MOST else None,
            )
            found += cut(whole, options.rows_per_partition, replay.files)
        return found

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return rows_of(partition, self._options)

    def _note(self, condition: Filter) -> None:
        column = getattr(condition, "attribute", ())
        value = getattr(condition, "value", None)
        if column == ("offset",) and isinstance(value, int):
            self._offsets.narrow(condition, value)
        elif column == ("time",) and isinstance(value, datetime):
            self._times.narrow(condition, round(value.timestamp() * 1e6))
        elif column == ("topic",):
            self._topics = _narrowed(self._topics, condition)
        elif column == ("broker",):
            self._brokers = _narrowed(self._brokers, condition)

    def _filters(self) -> tuple[str, ...]:
        wanted = self._options.filters
        if self._topics is None:
            return wanted
        return tuple(
            sorted(topic for topic in self._topics if any(matches(one, topic) for one in wanted))
        )


def _narrowed(known: set[str] | None, condition: Filter) -> set[str] | None:
    """Less of the texts that a column may have; None for any."""
    if isinstance(condition, EqualTo):
        found = {str(condition.value)}
    elif isinstance(condition, In):
        found = {str(value) for value in condition.value}
    else:
        return known
    return found if known is None else known & found
