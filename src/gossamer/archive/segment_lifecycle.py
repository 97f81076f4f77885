"""The upkeep of an archive, on a thread of its own: seals what is complete, removes what is old.

Segments go by age, and by the size of all of them; the oldest go first.
"""

import logging
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.fs

from gossamer.archive.archive import Archive
from gossamer.archive.catalog import Segment, now_micros
from gossamer.archive.collector import MICROSECONDS
from gossamer.archive.folder import ArchiveError, ArchiveSettings, sync
from gossamer.archive.log import LogFile
from gossamer.archive.parquet_seal import SealingWorker
from gossamer.archive.sealed_segment import SealedSegment, parse_name

logger = logging.getLogger("gossamer.archive")

# Between two looks at what there is to do.
ROUND_SECONDS: Final = 1.0
# After a worker failed: the place for sealed files may be away for a while.
RETRY_SECONDS: Final = 30.0
# For what is in progress at the end; a filesystem far away may not answer at all.
STOP_SECONDS: Final = 2.0
# A year and a day: nobody leaves an archive alone for so long and then wants it thinned out.
LONGEST_PAUSE_SECONDS: Final = 367 * 86_400
_RECENT: Final = 8  # segments: enough to find the newest row, and soon read wherever they are

Seal = Callable[[Path, str], str]


class Upkeep:
    """`seal` makes a sealed file of a log in a folder and names it; a worker does, by default."""

    def __init__(self, archive: Archive, seal: Seal | None = None) -> None:
        self._archive = archive
        self._worker = SealingWorker()
        self._seal = self._worker.seal if seal is None else seal
        self._time = RetentionTime(archive.catalog.segments)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="gossamer-archive", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """A worker leaves its file unfinished; that is removed at the next start."""
        self._stopping.set()
        self._worker.stop()
        if self._thread.is_alive():
            self._thread.join(STOP_SECONDS)

    def round(self) -> None:
        """Everything there is to do now. ArchiveError if a log cannot be sealed."""
        archive = self._archive
        archive.roll()
        self._retain()
        while (log := self._complete_log()) is not None and not self._stopping.is_set():
            self._seal_log(log)
            self._retain()

    def _complete_log(self) -> LogFile | None:
        """The oldest one, if there is one."""
        logs = [one for one in self._archive.catalog.segments[:-1] if isinstance(one, LogFile)]
        return logs[0] if logs else None

    def _run(self) -> None:
        pause = ROUND_SECONDS
        while not self._stopping.wait(pause):
            pause = ROUND_SECONDS
            try:
                self.round()
            except (ArchiveError, OSError, pa.ArrowException) as error:
                if self._stopping.is_set():
                    return
                logger.error("archive maintenance failed (%s): trying again", error)
                pause = RETRY_SECONDS

    def _seal_log(self, log: LogFile) -> None:
        archive = self._archive
        began = time.monotonic()
        path = self._seal(log.path, archive.settings.sealed)
        info = archive.files.get_file_info(path)
        offsets = parse_name(info.base_name)
        if offsets != (log.first, log.next - 1):
            raise ArchiveError(f"{path} does not hold the rows of {log.path}")
        if isinstance(archive.files, pa.fs.LocalFileSystem):
            sync(Path(path).parent)
        archive.catalog.replace(log, SealedSegment(archive.files, path, *offsets, info.size))
        log.path.unlink()
        logger.info(
            "sealed the offsets %d to %d: %d bytes are %d, in %.1f s",
            *offsets,
            log.position,
            info.size,
            time.monotonic() - began,
        )

    def _retain(self) -> None:
        archive = self._archive
        for segment in expired(archive.catalog.segments, archive.settings, self._time.now()):
            archive.catalog.remove(segment)
            self._delete(segment)
            logger.info("retention removed the offsets %d to %d", segment.first, segment.end - 1)

    def _delete(self, segment: Segment) -> None:
        if isinstance(segment, LogFile):
            segment.path.unlink(missing_ok=True)
        else:
            segment.files.delete_file(segment.path)


def expired(segments: Sequence[Segment], settings: ArchiveSettings, now: int) -> list[Segment]:
    """Those to remove. Never the last one, which is being written; and never one that is newer
    than one that stays, so that what is left has no gap."""
    oldest = now - int(settings.retention_seconds * MICROSECONDS)
    total = sum(segment.size for segment in segments)
    found: list[Segment] = []
    for segment in segments[:-1]:
        times = segment.times
        is_old = settings.retention_seconds > 0 and times is not None and times[1] < oldest
        is_too_much = 0 < settings.retention_bytes < total
        if not is_old and not is_too_much:
            break
        found.append(segment)
        total -= segment.size
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
        recent = [segment.times for segment in segments[-_RECENT:]]
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
