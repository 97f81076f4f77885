"""Which segments have to go: by age, and by the size of all of them. The oldest go first."""

import logging
import time
from collections.abc import Callable, Sequence
from typing import Final

from gossamer.archive.catalog import Segment, size_of, times_of
from gossamer.archive.log import LogFile
from gossamer.archive.open_catalog import now_micros
from gossamer.archive.settings import ArchiveSettings

logger = logging.getLogger("gossamer.archive")

MICROSECONDS = 1_000_000
# A year and a day: nobody leaves an archive alone for so long and then wants it thinned out.
LONGEST_PAUSE_SECONDS: Final = 367 * 86_400
_RECENT: Final = 8  # segments: enough to find the newest row, and soon read wherever they are


def expired(segments: Sequence[Segment], settings: ArchiveSettings, now: int) -> list[Segment]:
    """Those to remove. Never the last one, which is being written; and never one that is newer
    than one that stays, so that what is left has no gap."""
    oldest = now - int(settings.retention_seconds * MICROSECONDS)
    total = sum(map(size_of, segments))
    found: list[Segment] = []
    for segment in segments[:-1]:
        times = times_of(segment)
        is_old = settings.retention_seconds > 0 and times is not None and times[1] < oldest
        is_too_much = 0 < settings.retention_bytes < total
        if not is_old and not is_too_much:
            break
        found.append(segment)
        total -= size_of(segment)
    return found


class RetentionTime:
    """The time by which retention goes: what it removes cannot be brought back, so of a clock that
    was set it believes the earlier time.

    It goes on as the monotonic clock does, from the wall clock's time at the start, or, if that is
    far ahead of everything that was archived and of every log that was begun, from the last of
    that.
    """

    def __init__(
        self,
        segments: Sequence[Segment],
        wall: Callable[[], int] = now_micros,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._wall = wall
        self._monotonic = monotonic
        self._began = monotonic()
        recent = [times_of(segment) for segment in segments[-_RECENT:]]
        newest = max((times[1] for times in recent if times is not None), default=0)
        begun = max((one.created for one in segments if isinstance(one, LogFile)), default=0)
        newest = max(newest, begun)
        shown = wall()
        is_far = newest > 0 and shown - newest > LONGEST_PAUSE_SECONDS * MICROSECONDS
        if is_far:
            logger.warning(
                "the wall clock is %d days after what was archived last: retention ignores "
                "it and continues from that time",
                (shown - newest) // (86_400 * MICROSECONDS),
            )
        self._start = newest if is_far else shown

    def now(self) -> int:
        passed = int((self._monotonic() - self._began) * MICROSECONDS)
        return min(self._wall(), self._start + passed)
