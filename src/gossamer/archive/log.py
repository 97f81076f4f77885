"""A log file: blocks appended, synchronised, and found again by offset.

A file starts with who writes it and the offset of its first row. Blocks of one transaction stand
together, each but the last marked as continued. Memory holds one mark for every stretch of the
file, not for every block: one client that publishes a message a second makes blocks of one row.
"""

import os
import struct
import zlib
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from gossamer.archive.blocks import ALIGNMENT, encode
from gossamer.archive.collector import Block
from gossamer.archive.folder import ArchiveError, sync

# The digit is the format of the file and of the blocks in it.
FILE_MAGIC: Final = b"GOSSARC1"
_FAMILY: Final = FILE_MAGIC[:-1]
FORMAT: Final = 1
# magic, checksum of what follows, length of the name, first offset, where the log before this one
# ended (the same offset unless rows were lost in between), creation in microseconds
FILE_HEADER: Final = struct.Struct("<8sIIQQq")
CHECKED: Final = 12  # where the checksum's range starts
SUFFIX: Final = ".log"
DIGITS: Final = 20  # of an offset in a file's name: names sort as offsets do

# Between two marks: what a reader may have to skip through to find an offset.
STRETCH_BYTES: Final = 64 * 1024
# Pieces below this are joined to one write.
SMALL_BYTES: Final = 64 * 1024


@dataclass(slots=True)
class Mark:
    """Where a stretch of blocks starts, and the times of the rows in it."""

    first: int
    position: int
    min_time: int
    max_time: int


class Marks:
    """The stretches of one file, in order."""

    def __init__(self) -> None:
        self.list: list[Mark] = []

    def note(self, first: int, position: int, min_time: int, max_time: int) -> None:
        """A block was appended at this position."""
        last = self.list[-1] if self.list else None
        if last is None or position - last.position >= STRETCH_BYTES:
            self.list.append(Mark(first, position, min_time, max_time))
        else:
            last.min_time = min(last.min_time, min_time)
            last.max_time = max(last.max_time, max_time)

    def cut(self, position: int) -> None:
        """Nothing is left from this position on."""
        while self.list and self.list[-1].position >= position:
            self.list.pop()

    def before(self, offset: int) -> int:
        """The index of the stretch that holds this offset, or would."""
        return max(0, bisect_right(self.list, offset, key=lambda mark: mark.first) - 1)

    @property
    def times(self) -> tuple[int, int] | None:
        """The least and the greatest time; None without rows."""
        marks = list(self.list)
        if not marks:
            return None
        return min(mark.min_time for mark in marks), max(mark.max_time for mark in marks)


class LogFile:
    """One file. `safe` is what readers may see: the next offset, and where the bytes before end."""

    def __init__(self, path: Path, first: int, created: int, position: int) -> None:
        self.path = path
        self.first = first
        self.created = created  # microseconds
        self.marks = Marks()
        self.next = first
        self.position = position
        self.safe = (first, position)
        self._descriptor = -1

    @property
    def end(self) -> int:
        """The offset after its last safe row."""
        return self.safe[0]

    @property
    def size(self) -> int:
        """Bytes of what is safe."""
        return self.safe[1]

    @property
    def times(self) -> tuple[int, int] | None:
        """The least and the greatest; None without rows."""
        return self.marks.times

    def open(self) -> None:
        """For appending where the file ends now."""
        self._descriptor = os.open(self.path, os.O_RDWR | os.O_CLOEXEC)
        os.lseek(self._descriptor, self.position, os.SEEK_SET)

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1

    def append(self, blocks: Sequence[Block], *, is_joint: bool) -> None:
        """All blocks of one transaction. OSError leaves a torn end: call `undo` then."""
        for number, block in enumerate(blocks, 1):
            is_last = number == len(blocks)
            times = block.run_times
            pieces = encode(block, self.next, is_joint=is_joint, is_last=is_last)
            self.marks.note(self.next, self.position, min(times), max(times))
            if sum(map(len, pieces)) <= SMALL_BYTES:
                pieces = [b"".join(pieces)]
            for piece in pieces:
                _write_all(self._descriptor, piece)
                self.position += len(piece)
            self.next += block.rows
            block.end.offset = self.next

    def sync(self) -> None:
        os.fdatasync(self._descriptor)

    def commit(self) -> None:
        """What was appended counts."""
        self.safe = (self.next, self.position)

    def undo(self) -> None:
        """What was appended since the last commit does not."""
        self.next, self.position = self.safe
        self.marks.cut(self.position)
        os.ftruncate(self._descriptor, self.position)
        os.lseek(self._descriptor, self.position, os.SEEK_SET)


def log_name(first: int) -> str:
    return f"{first:0{DIGITS}}{SUFFIX}"


class FileHeader(NamedTuple):
    """What the start of a file says."""

    broker: str
    first: int
    ended: int  # where the log before this one ended
    created: int
    size: int = 0  # of the header itself


def create_log(folder: Path, broker: str, first: int, created: int, ended: int) -> LogFile:
    """A new file, on disk with its header and its name."""
    path = folder / log_name(first)
    header = file_header(FileHeader(broker, first, ended, created))
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        _write_all(descriptor, header)
        os.fsync(descriptor)
    except BaseException:
        path.unlink(missing_ok=True)
        raise
    finally:
        os.close(descriptor)
    sync(folder)
    log = LogFile(path, first, created, len(header))
    log.open()
    return log


def file_header(header: FileHeader) -> bytes:
    name = header.broker.encode()
    fill = bytes(-(FILE_HEADER.size + len(name)) % ALIGNMENT)
    fields = (header.first, header.ended, header.created)
    rest = FILE_HEADER.pack(FILE_MAGIC, 0, len(name), *fields)[CHECKED:] + name + fill
    return FILE_MAGIC + struct.pack("<I", zlib.crc32(rest)) + rest


class NewerLog(ArchiveError):
    """A later version wrote it: `found` is its format."""

    def __init__(self, found: int) -> None:
        super().__init__(f"it has format {found}, and this version knows {FORMAT}")
        self.found = found


def read_file_header(data: bytes) -> FileHeader:
    """ValueError if it is damaged, NewerLog if it is of a later version."""
    mark = data[len(_FAMILY) : len(FILE_MAGIC)]
    if data.startswith(_FAMILY) and mark.isdigit() and int(mark) > FORMAT:
        raise NewerLog(int(mark))
    if len(data) < FILE_HEADER.size:
        raise ValueError("its header is truncated")
    magic, checksum, length, first, ended, created = FILE_HEADER.unpack_from(data)
    size = FILE_HEADER.size + length
    size += -size % ALIGNMENT
    if magic != FILE_MAGIC:
        raise ValueError("it is not an archive log")
    if len(data) < size or zlib.crc32(data[CHECKED:size]) != checksum:
        raise ValueError("its header is damaged")
    name = data[FILE_HEADER.size : FILE_HEADER.size + length].decode()
    return FileHeader(name, first, ended, created, size)


def _write_all(descriptor: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(descriptor, view) :]
