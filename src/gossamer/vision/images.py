"""Bytes to pixels: JPEG, PNG and WebP, no larger than allowed."""

from __future__ import annotations

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeAlias

from gossamer.plus.publication import NOT_AN_IMAGE, TOO_MANY_PIXELS
from gossamer.vision.errors import BadImage
from gossamer.vision.headers import dimensions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Image: TypeAlias = NDArray[Any]  # rows of pixels, each blue, green, red


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
