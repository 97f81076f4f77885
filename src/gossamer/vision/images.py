"""Bytes to pixels: JPEG, PNG and WebP, no larger than allowed.

The format and size of an image are read from its first bytes, before a decoder sees any of it. What
a decoder would allocate is known from there, so that a few kilobytes that claim to be
20,000 × 20,000 pixels are refused for what they claim.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from gossamer.plus.publication import NOT_AN_IMAGE, TOO_MANY_PIXELS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Image: TypeAlias = NDArray[Any]  # rows of pixels, each blue, green, red

PNG: Final = b"\x89PNG\r\n\x1a\n"
JPEG: Final = b"\xff\xd8\xff"

# Segments that a JPEG file may have before its frame header; cameras write under fifty.
MAX_JPEG_SEGMENTS: Final = 1_000

# Start of frame, in all its kinds: C4, C8 and CC mean something else.
_FRAME_MARKERS: Final = frozenset(set(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC})
# Markers without a segment behind them: TEM and the restarts.
_BARE_MARKERS: Final = frozenset({0x01, *range(0xD0, 0xD8)})


class BadImage(ValueError):
    """A payload that is no image we read; `reason` is what the skipped value is counted as."""

    def __init__(self, reason: str, text: str) -> None:
        super().__init__(text)
        self.reason = reason


def decode(data: bytes, max_pixels: int) -> Image:
    """Upright, as the camera's notes in the file say; raises BadImage."""
    import cv2
    import numpy as np

    width, height = dimensions(data)
    if width * height > max_pixels:
        raise BadImage(
            TOO_MANY_PIXELS, f"{width} × {height} pixels are more than {max_pixels:,} in all"
        )
    try:
        image = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_COLOR)
    except cv2.error as error:
        if error.code == cv2.Error.STS_NO_MEM:
            raise MemoryError from error
        raise BadImage(NOT_AN_IMAGE, "the image cannot be decoded") from error
    if image is None:
        raise BadImage(NOT_AN_IMAGE, "the image cannot be decoded")
    decoded: Image = image
    return decoded


def shrunk(image: Image, longest: int) -> tuple[Image, float]:
    """No side longer than that, and by which factor it is smaller now."""
    import cv2

    height, width = image.shape[:2]
    factor = longest / max(height, width)
    if factor >= 1.0:
        return image, 1.0
    size = (max(1, round(width * factor)), max(1, round(height * factor)))
    smaller: Image = cv2.resize(image, size, interpolation=cv2.INTER_AREA)
    return smaller, factor


def sample() -> bytes:
    """A picture of nothing, as a file."""
    import cv2
    import numpy as np

    return bytes(cv2.imencode(".png", np.full((64, 64, 3), 127, np.uint8))[1])


def prepare() -> None:
    """Loads the decoder, where it is installed, on one thread: a pool has several workers."""
    if find_spec("cv2") is None:
        return
    import cv2

    cv2.setNumThreads(1)
    decode(sample(), max_pixels=1 << 20)


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
