"""Names of many messages in few bytes: one bit for each number of a source.

A name is its source (a broker's life) and a number that grows. Of each source there is a window of
the latest numbers; what is older waits in no queue any more that could bring it a second time.
"""

from __future__ import annotations

import zlib
from typing import Final

from gossamer.session.message_names import NAME_BYTES, SOURCE_BYTES

CHUNK_BITS: Final = 512
CHUNK_BYTES: Final = CHUNK_BITS // 8
# 4,096 messages of each source, in 512 bytes.
_CHUNKS: Final = 8
_WINDOW_BITS: Final = _CHUNKS * CHUNK_BITS
_WINDOW_BYTES: Final = _WINDOW_BITS // 8
_ALL: Final = (1 << _WINDOW_BITS) - 1
# Of a mesh with many more brokers than that, those that were heard of last.
MOST_SOURCES: Final = 1_024
_ROW_BYTES: Final = NAME_BYTES + _WINDOW_BYTES
_MOST_BYTES: Final = MOST_SOURCES * _ROW_BYTES


class NameBits:
    __slots__ = ("_windows",)

    def __init__(self) -> None:
        # By source: the number that its window begins with, and a bit for each from there on.
        self._windows: dict[bytes, tuple[int, int]] = {}

    def put(self, source: bytes, newest: int, chunks: dict[int, int]) -> None:
        """Bits of a source by chunk, of which `newest` is the last."""
        oldest = max(0, newest - _CHUNKS + 1)
        bits = 0
        for chunk in range(oldest, newest + 1):
            bits |= chunks.get(chunk, 0) << (chunk - oldest) * CHUNK_BITS
        self._put_window(source, oldest * CHUNK_BITS, bits)

    def has(self, name: bytes) -> bool:
        window = self._windows.get(name[:SOURCE_BYTES])
        if window is None:
            return False
        place = int.from_bytes(name[SOURCE_BYTES:], "big") - window[0]
        return 0 <= place < _WINDOW_BITS and bool(window[1] >> place & 1)

    def drop(self, name: bytes) -> None:
        if self.has(name):
            source = name[:SOURCE_BYTES]
            first, bits = self._windows[source]
            place = int.from_bytes(name[SOURCE_BYTES:], "big") - first
            self._windows[source] = (first, bits & ~(1 << place))

    def add(self, other: NameBits) -> None:
        for source, window in other._windows.items():
            known = self._windows.get(source, window)
            first = max(known[0], window[0])
            self._put_window(source, first, _from(first, known) | _from(first, window))

    def subtract(self, before: NameBits) -> None:
        """What was there before, and all that is older than what was remembered then."""
        for source, window in before._windows.items():
            known = self._windows.get(source)
            if known is not None:
                first = max(known[0], window[0])
                self._windows[source] = (first, _from(first, known) & ~_from(first, window))

    def packed(self) -> bytes:
        rows = [
            source + first.to_bytes(SOURCE_BYTES, "big") + bits.to_bytes(_WINDOW_BYTES, "big")
            for source, (first, bits) in self._windows.items()
            if bits
        ]
        return zlib.compress(b"".join(rows), 1) if rows else b""

    def _put_window(self, source: bytes, first: int, bits: int) -> None:
        """A source that is named again counts as heard of now."""
        self._windows.pop(source, None)
        if len(self._windows) >= MOST_SOURCES:
            del self._windows[next(iter(self._windows))]
        self._windows[source] = (first, bits & _ALL)


def _from(first: int, window: tuple[int, int]) -> int:
    """The bits of a window as they are in one that begins later, or with the same number."""
    later = first - window[0]
    return window[1] >> later if later < _WINDOW_BITS else 0


def unpacked_names(data: bytes) -> NameBits:
    """What `packed` made. ValueError for anything else; what is too much of it is left out."""
    names = NameBits()
    if not data:
        return names
    try:
        rows = zlib.decompressobj().decompress(data, _MOST_BYTES)
    except zlib.error as error:
        raise ValueError(str(error)) from None
    for start in range(0, len(rows) - _ROW_BYTES + 1, _ROW_BYTES):
        row = rows[start : start + _ROW_BYTES]
        first = int.from_bytes(row[SOURCE_BYTES:NAME_BYTES], "big")
        names._put_window(row[:SOURCE_BYTES], first, int.from_bytes(row[NAME_BYTES:], "big"))
    return names
