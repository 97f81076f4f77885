"""The format and size of an image from its first bytes, before a decoder sees any of it.

What a decoder would allocate is known from here, so that a few kilobytes that claim to be
20,000 × 20,000 pixels are refused for what they claim.
"""

from collections.abc import Callable
from typing import Final

from gossamer.plus.publication import NOT_AN_IMAGE
from gossamer.vision.errors import BadImage

PNG: Final = b"\x89PNG\r\n\x1a\n"
JPEG: Final = b"\xff\xd8\xff"

# Segments that a JPEG file may have before its frame header; cameras write under fifty.
MAX_JPEG_SEGMENTS: Final = 1_000

# Start of frame, in all its kinds: C4, C8 and CC mean something else.
_FRAME_MARKERS: Final = frozenset(set(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC})
# Markers without a segment behind them: TEM and the restarts.
_BARE_MARKERS: Final = frozenset({0x01, *range(0xD0, 0xD8)})


def dimensions(data: bytes) -> tuple[int, int]:
    """Width and height as the header says them; raises BadImage."""
    size = _reader(data)(data)
    if size is None:
        raise BadImage(NOT_AN_IMAGE, "the header of the image is cut off or damaged")
    if size[0] == 0 or size[1] == 0:
        raise BadImage(NOT_AN_IMAGE, "the image has no pixels")
    return size


def _reader(data: bytes) -> Callable[[bytes], tuple[int, int] | None]:
    if data.startswith(JPEG):
        return _jpeg
    if data.startswith(PNG):
        return _png
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return _webp
    raise BadImage(NOT_AN_IMAGE, "neither JPEG nor PNG nor WebP")


def _png(data: bytes) -> tuple[int, int] | None:
    if len(data) < 33 or data[12:16] != b"IHDR":
        return None
    return int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")


def _jpeg(data: bytes) -> tuple[int, int] | None:
    at = 2
    for _ in range(MAX_JPEG_SEGMENTS):
        at = data.find(b"\xff", at)
        if at < 0 or at + 10 > len(data):
            return None
        marker = data[at + 1]
        if marker in _FRAME_MARKERS:
            height = int.from_bytes(data[at + 5 : at + 7], "big")
            return int.from_bytes(data[at + 7 : at + 9], "big"), height
        if marker == 0xFF:  # padding
            at += 1
        elif marker in _BARE_MARKERS or marker == 0x00:
            at += 2
        else:
            at += 2 + int.from_bytes(data[at + 2 : at + 4], "big")
    return None


def _webp(data: bytes) -> tuple[int, int] | None:
    if len(data) < 30:
        return None
    kind = data[12:16]
    if kind == b"VP8X":
        return 1 + int.from_bytes(data[24:27], "little"), 1 + int.from_bytes(data[27:30], "little")
    if kind == b"VP8 ":
        if data[23:26] != b"\x9d\x01\x2a":
            return None
        width = int.from_bytes(data[26:28], "little") & 0x3FFF
        return width, int.from_bytes(data[28:30], "little") & 0x3FFF
    if kind == b"VP8L" and data[20] == 0x2F:
        bits = int.from_bytes(data[21:25], "little")
        return 1 + (bits & 0x3FFF), 1 + (bits >> 14 & 0x3FFF)
    return None
