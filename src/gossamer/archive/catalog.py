"""Which segment holds which offsets: sealed files, complete logs, and the log that is written.

Changed by the writer's and the sealer's threads, read by any: a change replaces the list.
"""

import threading
from bisect import bisect_right

from gossamer.archive.log import LogFile
from gossamer.archive.sealed_segment import SealedSegment

Segment = SealedSegment | LogFile


class Catalog:
    """Segments by their first offset; the last one is the log that is written."""

    def __init__(self, segments: list[Segment]) -> None:
        self._segments = sorted(segments, key=lambda segment: segment.first)
        self._changing = threading.Lock()

    @property
    def segments(self) -> list[Segment]:
        return self._segments

    @property
    def current(self) -> LogFile:
        last = self._segments[-1]
        assert isinstance(last, LogFile)
        return last

    @property
    def earliest(self) -> int:
        """The first offset that is there."""
        return self._segments[0].first

    @property
    def next(self) -> int:
        """The first offset that is not safe yet."""
        return self.current.safe[0]

    def at(self, offset: int) -> Segment | None:
        """The segment that holds the offset; None if it is before all, or in a gap."""
        segments = self._segments
        index = bisect_right(segments, offset, key=lambda segment: segment.first) - 1
        if index < 0:
            return None
        found = segments[index]
        return found if offset < end_of(found) or found is segments[-1] else None

    def add(self, log: LogFile) -> None:
        """The log that is written from now on."""
        with self._changing:
            self._segments = [*self._segments, log]

    def replace(self, log: LogFile, sealed: SealedSegment) -> None:
        with self._changing:
            self._segments = [sealed if one is log else one for one in self._segments]

    def remove(self, segment: Segment) -> None:
        with self._changing:
            self._segments = [one for one in self._segments if one is not segment]


def end_of(segment: Segment) -> int:
    """The offset after its last safe row."""
    return segment.safe[0] if isinstance(segment, LogFile) else segment.next


def size_of(segment: Segment) -> int:
    return segment.safe[1] if isinstance(segment, LogFile) else segment.size


def times_of(segment: Segment) -> tuple[int, int] | None:
    """The least and the greatest time; None without rows."""
    return segment.marks.times if isinstance(segment, LogFile) else segment.times
