"""What the replay service and its clients say to each other before and after the rows.

A frame is a length in four bytes, big-endian, and so many bytes of JSON. A client sends one frame,
the request. The answer is a frame with the status; for rows an Arrow IPC stream follows it, and a
last frame that says whether the stream is complete: a connection that breaks is never mistaken for
the end. Needs nothing but the standard library.
"""

import json
import struct
from collections.abc import Callable
from typing import Any, Final

VERSION: Final = 1
MOST_REQUEST_BYTES: Final = 1 << 20
MOST_ANSWER_BYTES: Final = 1 << 28
_LENGTH: Final = struct.Struct(">I")

# Why a request is not answered.
REFUSED: Final = "refused"  # the login
DENIED: Final = "denied"  # the filter
LOST: Final = "lost"  # offsets that are not there any more
BAD: Final = "bad"  # the request itself
UNTRUSTED: Final = "untrusted"  # what the client says of the service's certificate
FAILED: Final = "failed"  # the archive could not be read to the end

ReadExactly = Callable[[int], bytes]


class BadFrame(Exception):
    """What came is no frame; the text says why."""


def frame(message: dict[str, Any]) -> bytes:
    text = json.dumps(message, separators=(",", ":")).encode()
    return _LENGTH.pack(len(text)) + text


def read_frame(read: ReadExactly, most: int) -> dict[str, Any]:
    """`read` gives exactly as many bytes as asked for, or raises."""
    (length,) = _LENGTH.unpack(read(_LENGTH.size))
    if length > most:
        raise BadFrame(f"a frame of {length} bytes is too long")
    try:
        message = json.loads(read(length))
    except ValueError as error:
        raise BadFrame(f"a frame is no JSON: {error}") from None
    if not isinstance(message, dict):
        raise BadFrame("a frame is no JSON object")
    return message
