"""Bytes of a link, compressed by zstd as one stream from its beginning to its end.

Both ends remember what passed lately, so that after the first readings of a sensor its topic and
the names of its fields cost next to nothing. What one end has compressed, the other can read at
once.

Neither end holds anybody up, or takes more memory than for what it remembers: what is long is
compressed in parts, and what a few bytes expand to is read in parts.

The library is Python's own from 3.14 on, and `backports.zstd` before that.
"""

from __future__ import annotations

import importlib
from collections import deque
from functools import cache
from typing import Any, Final

from gossamer.wire import reasons
from gossamer.wire.errors import ProtocolError

_LIBRARIES: Final = ("compression.zstd", "backports.zstd")
# What both ends remember, a power of two; a reader refuses to remember more.
WINDOW_BITS: Final = 18
# The next levels make readings a tenth shorter, in more than twice the time.
LEVEL: Final = 3
# Bytes that are compressed, and read, at a time: neither takes more than a fraction of a
# millisecond, with what is done about them.
COMPRESSED_AT_ONCE: Final = 65_536
READ_AT_ONCE: Final = 16_384


def can_compress() -> bool:
    """Whether the library is there."""
    return _library() is not None


@cache
def _library() -> Any:
    for name in _LIBRARIES:
        try:
            return importlib.import_module(name)
        except ImportError:
            pass
    return None


class Compressor:
    """The end that writes."""

    __slots__ = ("_compress", "_flush", "_next", "_parts", "announcement", "saved", "waiting")

    def __init__(self, announcement: bytes) -> None:
        """`announcement` tells the other end, uncompressed, that what follows is compressed."""
        library = _library()
        parameter = library.CompressionParameter
        compressor = library.ZstdCompressor(
            options={parameter.compression_level: LEVEL, parameter.window_log: WINDOW_BITS}
        )
        self._compress: Any = compressor.compress
        self._flush: Any = compressor.FLUSH_BLOCK
        self._parts: deque[bytes] = deque()
        self._next = 0  # of the first of them, the first byte that was not compressed
        self.announcement = announcement
        self.waiting = 0  # bytes in all of them
        self.saved = 0  # bytes fewer than were given

    def give(self, data: bytes) -> None:
        if data:
            self._parts.append(data)
            self.waiting += len(data)

    def take(self) -> bytes:
        """The next part of what waits, for the other end to read."""
        first = self._parts[0]
        start = self._next
        end = start + COMPRESSED_AT_ONCE
        part = first if start == 0 and end >= len(first) else first[start:end]
        self._next = end
        if end >= len(first):
            self._parts.popleft()
            self._next = 0
        self.waiting -= len(part)
        compressed: bytes = self._compress(part, self._flush)
        self.saved += len(part) - len(compressed)
        return compressed


class Decompressor:
    """The end that reads."""

    __slots__ = ("_decompressor", "_error", "_fed", "saved")

    def __init__(self) -> None:
        library = _library()
        limits = {library.DecompressionParameter.window_log_max: WINDOW_BITS}
        self._decompressor: Any = library.ZstdDecompressor(options=limits)
        self._error: Any = library.ZstdError
        self._fed: list[bytes] = []
        self.saved = 0  # bytes fewer than were read

    def feed(self, data: bytes) -> None:
        if data:
            self._fed.append(data)
            self.saved -= len(data)

    def has_more(self) -> bool:
        """Whether `read` may have something."""
        return bool(self._fed) or not self._decompressor.needs_input

    def read(self) -> bytes:
        """The next part of what the other end was given; ProtocolError if that is not what came."""
        data = b"".join(self._fed)
        self._fed = []
        try:
            part: bytes = self._decompressor.decompress(data, READ_AT_ONCE)
        except (self._error, EOFError) as error:
            raise ProtocolError(
                reasons.MALFORMED_PACKET, f"compressed bytes cannot be read: {error}"
            ) from error
        if self._decompressor.eof:
            raise ProtocolError(reasons.MALFORMED_PACKET, "the compressed stream has an end")
        self.saved += len(part)
        return part
