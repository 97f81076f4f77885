"""Archives as a stream: a batch is a range of offsets of each broker, and is read again the same.

An offset of the stream is a map from a broker's name to the first offset not yet read. A broker
that joins enters the map with the earliest offset that it has, and is read from the next batch on;
one that is no longer listed keeps its place in the map and is not read.
"""

from collections.abc import Iterator
from typing import Final

import pyarrow as pa
from pyspark.sql.datasource import DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadAllAvailable,
    ReadLimit,
    ReadMaxBytes,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from gossamer.spark.source.archives import (
    OffsetRange,
    Replay,
    SourceError,
    cut,
    find_replays,
    rows_of,
)
from gossamer.spark.source.source_options import LATEST, Position, SourceOptions

Offsets = dict[str, int]
# What Spark keeps of a stream in its checkpoint is such a map. In another format it would have this
# name in it, which no broker can have; without it, it is of format 1.
FORMAT_NAME: Final = "$format"
FORMAT: Final = 1


def checked(offsets: Offsets) -> Offsets:
    """Raises SourceError if a later version has written the checkpoint."""
    found = offsets.get(FORMAT_NAME, FORMAT)
    if found != FORMAT or not all(isinstance(at, int) for at in offsets.values()):
        raise SourceError(
            f"the checkpoint of this stream has offsets of format {found}, and this version knows "
            f"{FORMAT}: use a newer gossamer, or begin with another checkpoint"
        )
    return offsets


class GossamerStreamReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._replays: dict[str, Replay] = {}
        self._target: Offsets | None = None  # of Trigger.AvailableNow

    def initialOffset(self) -> Offsets:
        starting = self._options.starting or Position(end=LATEST)
        return {name: replay.offset_of(starting) for name, replay in self._look().items()}

    def getDefaultReadLimit(self) -> ReadLimit:
        """One of the limits: Spark knows no two at once, and `latestOffset` keeps to both."""
        options = self._options
        if options.max_rows is not None:
            return ReadMaxRows(options.max_rows)
        return ReadAllAvailable() if options.max_bytes is None else ReadMaxBytes(options.max_bytes)

    def prepareForTriggerAvailableNow(self) -> None:
        self._target = {name: replay.next for name, replay in self._look().items()}

    def latestOffset(self, start: Offsets, limit: ReadLimit) -> Offsets:
        checked(start)
        target = self._target
        if target is None:
            target = {name: replay.next for name, replay in self._look().items()}
        elif not self._replays:
            self._look()
        joined = {
            name: self._replays[name].earliest
            for name in target
            if name not in start and name in self._replays
        }
        if joined:
            return {**start, **joined}
        ahead = {name: target[name] - at for name, at in start.items() if target.get(name, 0) > at}
        taken = self._limited(ahead, start, limit)
        return {name: at + taken.get(name, 0) for name, at in start.items()}

    def _limited(self, ahead: Offsets, start: Offsets, limit: ReadLimit) -> Offsets:
        """How many rows of each broker a batch takes, of those that are there."""
        rows, size = self._options.max_rows, self._options.max_bytes
        if isinstance(limit, ReadAllAvailable):
            rows = size = None
        elif isinstance(limit, ReadMaxRows):
            rows = limit.max_rows
        if size is not None:
            ahead = self._within(ahead, start, size)
        return ahead if rows is None else shared_out(ahead, rows)

    def _within(self, ahead: Offsets, start: Offsets, size: int) -> Offsets:
        """So many rows of each as take that many bytes of the archives together."""
        replays = find_replays(self._options, sizes=True) if ahead else {}
        ends = {name: start[name] + rows for name, rows in ahead.items() if name in replays}
        sizes = {name: replays[name].bytes_between(start[name], end) for name, end in ends.items()}
        shares = shared_out(sizes, size)
        return {
            name: replays[name].rows_in(start[name], end, shares[name])
            for name, end in ends.items()
        }

    def reportLatestOffset(self) -> Offsets | None:
        return {name: replay.next for name, replay in self._replays.items()} or None

    def partitions(self, start: Offsets, end: Offsets) -> list[InputPartition]:
        checked(start)
        ahead = {name: at for name, at in checked(end).items() if at > start.get(name, at)}
        replays = {name: self._replay(name) for name in ahead}
        if any(start[name] < replay.sealed for name, replay in replays.items()):
            replays |= self._look(files=True)
        found: list[InputPartition] = []
        for name, until in ahead.items():
            replay = replays[name]
            whole = OffsetRange(replay.address, start[name], until, self._options.filters)
            found += cut(whole, self._options.rows_per_partition, replay.files)
        return found

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return rows_of(partition, self._options)

    def _look(self, *, files: bool = False) -> dict[str, Replay]:
        self._replays = find_replays(self._options, files=files)
        return self._replays

    def _replay(self, name: str) -> Replay:
        replay = self._replays.get(name) or self._look().get(name)
        if replay is None:
            raise SourceError(
                f"the batch has rows of broker {name!r}, and none of the brokers in option "
                "brokers is it: list it until they are read"
            )
        return replay


def shared_out(ahead: Offsets, rows: int) -> Offsets:
    """So many rows, evenly: who has fewer than its share leaves the rest to the others."""
    taken: Offsets = {}
    left = rows
    waiting = len(ahead)
    for name, there in sorted(ahead.items(), key=lambda item: item[1]):
        share = min(there, max(left // waiting, 1), left)
        taken[name] = share
        left -= share
        waiting -= 1
    return taken
