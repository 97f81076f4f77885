"""What a log file is after a crash: whole up to somewhere, and cut there, or damaged.

The end of the file that was being written may be torn: it is cut after the last whole transaction,
and the log says so. A transaction that the store shares counts only if the store has it too. Damage
anywhere else is an error: rows that were acknowledged are never passed over in silence.
"""

import logging
import mmap
import os
from collections.abc import Iterator
from pathlib import Path

from gossamer.archive.blocks import CONTINUED, HEADER, JOINT, MAGIC, Header, is_whole
from gossamer.archive.folder import ArchiveDamaged, ArchiveTooNew
from gossamer.archive.log import FORMAT, LogFile, Marks, NewerLog, read_file_header

logger = logging.getLogger("gossamer.archive")


class Scan:
    """Everything that a walk over the blocks of one file finds."""

    def __init__(self, path: Path) -> None:
        """ArchiveDamaged if not even the header can be read."""
        self.path = path
        self.marks = Marks()
        with path.open("rb") as file:
            self.size = os.fstat(file.fileno()).st_size
            try:
                header = read_file_header(file.read(1 << 16))
            except NewerLog as error:
                raise ArchiveTooNew(path, error.found, FORMAT) from None
            except ValueError as error:
                raise ArchiveDamaged(path, str(error)) from None
            self.header = header
            self.end = header.size
            self.next = header.first
            # Of the last transaction: where it starts, and whether the store shares it.
            self.last_start = self.end
            self.last_first = header.first
            self.is_joint = False
            self.shared_next = 0  # the end of the last shared transaction before the last
            self.is_continued = False
            self.has_more = False  # whole blocks after what is damaged
            if self.size > self.end:
                with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
                    self._walk(data)

    def _walk(self, data: mmap.mmap) -> None:
        view = memoryview(data)
        try:
            while self.end + HEADER.size <= self.size:
                header = _block_at(view, self.end)
                if header is None or header.first != self.next:
                    break
                self._note(header)
            if self.end < self.size:
                self.has_more = next(whole_blocks(data, view, self.end + 1), None) is not None
        finally:
            view.release()

    def _note(self, header: Header) -> None:
        if not self.is_continued:
            if self.is_joint:
                self.shared_next = self.next
            self.last_start = self.end
            self.last_first = self.next
        self.is_joint = bool(header.flags & JOINT)
        self.is_continued = bool(header.flags & CONTINUED)
        self.marks.note(header.first, self.end, header.min_time, header.max_time)
        self.end += header.size
        self.next = header.next

    def cut_last(self) -> None:
        """The last transaction does not count."""
        self.end = self.last_start
        self.next = self.last_first
        self.marks.cut(self.end)


def _block_at(view: memoryview, position: int) -> Header | None:
    try:
        header = Header(view, position)
    except ValueError:
        return None
    return header if is_whole(view, position, header) else None


def whole_blocks(
    data: mmap.mmap | bytes, view: memoryview, start: int = 0
) -> Iterator[tuple[int, Header]]:
    """Every whole block from there on, wherever it starts; `view` is one of the same data."""
    position = data.find(MAGIC, start)
    while 0 <= position <= len(view) - HEADER.size:
        header = _block_at(view, position)
        if header is not None:
            yield position, header
        position = data.find(MAGIC, position + (1 if header is None else header.size))


def recover_current(path: Path, committed: int | None) -> LogFile:
    """The file that was being written, cut to what counts. `committed` is the store's word: the
    next offset after the last transaction that both share, None if it has none."""
    scan = Scan(path)
    if scan.has_more:
        raise ArchiveDamaged(path, f"offset {scan.next} cannot be read, and rows after it can")
    if scan.is_continued:
        scan.cut_last()
    elif scan.is_joint and committed is not None and scan.shared_next <= committed < scan.next:
        # Were the store behind by more than this one, it would have lost what it had promised:
        # then it is not to be believed, and the rows may have been read already.
        scan.cut_last()
    log = log_of(scan)
    if scan.end < scan.size:
        logger.warning(
            "%s: its last %d bytes were never acknowledged and are removed; it ends with offset %d",
            path,
            scan.size - scan.end,
            scan.next - 1,
        )
        with path.open("r+b") as file:
            file.truncate(scan.end)
            os.fsync(file.fileno())
    return log


def recover_complete(path: Path, next_offset: int) -> LogFile:
    """A file that another one follows, which knows that it ended before this offset."""
    scan = Scan(path)
    if scan.end < scan.size or scan.next != next_offset:
        raise ArchiveDamaged(path, f"the rows from offset {scan.next} to {next_offset - 1}")
    return log_of(scan)


def log_of(scan: Scan) -> LogFile:
    """The file as readers see it."""
    log = LogFile(scan.path, scan.header.first, scan.header.created, scan.end)
    log.marks = scan.marks
    log.next = scan.next
    log.commit()
    return log
