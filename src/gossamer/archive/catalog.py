"""Which segment holds which offsets: sealed files, complete logs, and the log that is written; and
how all of them are found at the start.

A catalog is changed by the writer's and the sealer's threads and read by any: a change replaces the
list.
"""

import logging
import threading
import time
from bisect import bisect_right
from itertools import pairwise
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.fs

from gossamer.archive.folder import (
    ArchiveDamaged,
    ArchiveError,
    ArchiveSettings,
    ArchiveTooNew,
)
from gossamer.archive.log import (
    FORMAT,
    SUFFIX,
    FileHeader,
    LogFile,
    NewerLog,
    create_log,
    file_header,
    read_file_header,
)
from gossamer.archive.recovery import recover_complete, recover_current
from gossamer.archive.sealed_segment import UNFINISHED, SealedSegment, parse_name

logger = logging.getLogger("gossamer.archive")

# The longest header of a file: a broker's name has a limit.
MOST_HEADER_BYTES: Final = 4096

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
        return self.current.end

    def at(self, offset: int) -> Segment | None:
        """The segment that holds the offset; None if it is before all, or in a gap."""
        segments = self._segments
        index = bisect_right(segments, offset, key=lambda segment: segment.first) - 1
        if index < 0:
            return None
        found = segments[index]
        return found if offset < found.end or found is segments[-1] else None

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


def now_micros() -> int:
    return time.time_ns() // 1000


def open_catalog(
    settings: ArchiveSettings, files: pa.fs.FileSystem, folder: str, committed: int | None
) -> Catalog:
    """Repairs what a crash left and opens the log to go on with. ArchiveDamaged for the rest,
    ArchiveTooNew before anything is changed."""
    refuse_newer(find_logs(settings.logs), find_sealed(files, folder))
    sealed = find_sealed(files, folder, clean=True)
    logs = _remove_sealed_logs(find_logs(settings.logs), sealed)
    recovered = recover_logs(logs, committed)
    segments: list[Segment] = [*sealed, *recovered]
    written = max((one.end for one in segments), default=0)
    first = max(written, committed or 0)
    if segments and first > written:
        logger.error(
            "the archive in %s has lost the offsets %d to %d, which were acknowledged: they are "
            "not given again",
            settings.logs,
            written,
            first - 1,
        )
    if recovered and recovered[-1].end == first:
        recovered[-1].open()
    else:  # there is no log, or it ends before what the store has promised: another one begins
        segments = [one for one in segments if one.end > one.first]
        segments.append(create_log(settings.logs, settings.broker, first, now_micros(), written))
    _warn_of_gaps(settings.logs, segments)
    return Catalog(segments)


def refuse_newer(logs: list[Path], sealed: list[SealedSegment]) -> None:
    """ArchiveTooNew if a later version has written here: any of the logs, or the last of the sealed
    segments, which may be many and far away. Others are refused when they are read."""
    for path in logs:
        with path.open("rb") as file:
            try:
                read_file_header(file.read(MOST_HEADER_BYTES))
            except NewerLog as error:
                raise ArchiveTooNew(path, error.found, FORMAT) from None
            except ValueError:
                continue  # what is damaged is told by those who read it
    if sealed:
        try:
            sealed[-1].check_format()
        except ArchiveTooNew:
            raise
        except (ArchiveError, FileNotFoundError):
            return  # so is this


def find_logs(folder: Path) -> list[Path]:
    """In the order of their offsets."""
    return sorted(path for path in folder.glob(f"*{SUFFIX}") if path.stem.isdigit())


def find_sealed(
    files: pa.fs.FileSystem, folder: str, *, clean: bool = False
) -> list[SealedSegment]:
    """In the order of their offsets. `clean` makes the folder and removes what a worker left."""
    found: list[SealedSegment] = []
    try:
        if clean:
            files.create_dir(folder, recursive=True)
        infos = files.get_file_info(pa.fs.FileSelector(folder, allow_not_found=True))
    except (OSError, pa.ArrowException) as error:
        raise ArchiveError(f"{folder} cannot be used for sealed segments: {error}") from error
    for info in infos:
        offsets = parse_name(info.base_name)
        if offsets is not None:
            found.append(SealedSegment(files, info.path, *offsets, info.size))
        elif clean and info.base_name.endswith(UNFINISHED):
            files.delete_file(info.path)
    return sorted(found, key=lambda segment: segment.first)


def recover_logs(paths: list[Path], committed: int | None) -> list[LogFile]:
    """The last one is where writing goes on."""
    if paths and _was_being_created(paths[-1]):
        logger.warning("%s was being created when the broker died: removed", paths[-1])
        paths[-1].unlink()
        paths = paths[:-1]
    complete = [recover_complete(path, _ended_before(after)) for path, after in pairwise(paths)]
    return [*complete, recover_current(paths[-1], committed)] if paths else []


def _ended_before(path: Path) -> int:
    with path.open("rb") as file:
        try:
            return read_file_header(file.read(MOST_HEADER_BYTES)).ended
        except ValueError as error:
            raise ArchiveDamaged(path, str(error)) from None


def _was_being_created(path: Path) -> bool:
    """Whether it has no whole header. That is on disk before the first row is written."""
    nothing_yet = file_header(FileHeader(path.parent.name, 0, 0, 0))
    data = path.read_bytes() if path.stat().st_size <= len(nothing_yet) else nothing_yet
    try:
        read_file_header(data)
    except ValueError:
        return True
    return False


def _remove_sealed_logs(paths: list[Path], sealed: list[SealedSegment]) -> list[Path]:
    """A log whose Parquet file is there was to be removed next when the broker died."""
    done = {segment.first for segment in sealed}
    for path in paths:
        if int(path.stem) in done:
            path.unlink()
    return [path for path in paths if int(path.stem) not in done]


def _warn_of_gaps(folder: Path, segments: list[Segment]) -> None:
    ordered = sorted(segments, key=lambda segment: segment.first)
    for before, after in pairwise(ordered):
        if before.end < after.first:
            logger.warning("%s has no offsets %d to %d", folder, before.end, after.first - 1)
