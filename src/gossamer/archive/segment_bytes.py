"""Row groups of a sealed segment as they lie in its file, for a reader that cannot reach the file
and decodes them itself: the broker only passes them on.
"""

import io
from collections.abc import Iterator
from typing import Any, Final

import pyarrow as pa

from gossamer.archive.sealed_segment import SealedSegment

# Behind the footer: its length, and the mark of a Parquet file.
_AFTER_FOOTER: Final = 8
# The end of a file that Arrow reads to find its footer there.
_TAIL_BYTES: Final = 64 * 1024
# Read from the file and sent at a time.
PIECE_BYTES: Final = 1 << 20

Extent = tuple[int, int]  # where in the file, and how many bytes


def extents(segment: SealedSegment, start: int, end: int) -> list[Extent]:
    """What a reader of the row groups with these offsets needs of the file: them, and the
    footer."""
    footer = segment.footer
    footer_at = segment.size - footer.serialized_size - _AFTER_FOOTER
    begins = [*segment.group_starts, segment.end]
    wanted = [
        number
        for number in range(footer.num_row_groups)
        if begins[number] < end and begins[number + 1] > start
    ]
    tail_at = max(0, min(footer_at, segment.size - _TAIL_BYTES))
    found = [(tail_at, segment.size - tail_at)]
    if wanted:
        places = [_place(footer.row_group(number)) for number in range(footer.num_row_groups)]
        places.append(footer_at)
        at = places[wanted[0]]
        found.insert(0, (at, places[wanted[-1] + 1] - at))
    return found


def _place(group: Any) -> int:
    """Where it begins: with the first page of its first column."""
    column = group.column(0)
    offsets = [column.dictionary_page_offset, column.data_page_offset]
    return min(int(offset) for offset in offsets if offset is not None)


def pieces(segment: SealedSegment, parts: list[Extent]) -> Iterator[bytes]:
    """The bytes of the parts, one after the other."""
    with segment.files.open_input_file(segment.path) as file:
        for at, size in parts:
            for start in range(at, at + size, PIECE_BYTES):
                yield file.read_at(min(PIECE_BYTES, at + size - start), start)


class FetchedFile(io.RawIOBase):
    """A file of which some parts are here; reading others is an error."""

    def __init__(self, size: int, parts: list[tuple[int, bytes]]) -> None:
        super().__init__()
        self._size = size
        self._parts = parts
        self._at = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = base + offset
        return self._at

    def read(self, size: int = -1) -> bytes:
        size = self._size - self._at if size < 0 else min(size, self._size - self._at)
        for at, data in self._parts:
            if at <= self._at and self._at + size <= at + len(data):
                found = data[self._at - at : self._at - at + size]
                self._at += size
                return found
        raise OSError(f"bytes {self._at} to {self._at + size - 1} of the segment were not fetched")


class FetchedFiles:
    """In the place of a filesystem: one file."""

    def __init__(self, size: int, parts: list[tuple[int, bytes]]) -> None:
        self._size = size
        self._parts = parts

    def open_input_file(self, path: str) -> pa.PythonFile:
        return pa.PythonFile(FetchedFile(self._size, self._parts), "r")
