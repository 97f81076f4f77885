"""What the broker and a worker say to each other: JSON, with the raw payload behind it.

Nothing is ever unpickled: a worker that an image has taken over can say no more than JSON.
"""

import json
import struct
from typing import Any, BinaryIO, Final

from gossamer.plus.publication import NOT_AN_IMAGE, PROCESSOR_FAILED, TOO_MANY_PIXELS

# The reasons that a worker may give; what else it says is taken for PROCESSOR_FAILED.
TOLD: Final = (NOT_AN_IMAGE, TOO_MANY_PIXELS, PROCESSOR_FAILED)

# Lengths of the JSON and of the payload.
HEADER: Final = struct.Struct("!II")

# Of a worker's answer; a longer one is refused unread.
MAX_ANSWER_BYTES: Final = 1 << 20


class WorkerFrameError(ValueError):
    """What came is no frame."""


def frame(message: dict[str, Any], payload: bytes = b"") -> list[bytes]:
    """The parts to write, so that a large payload is not copied."""
    text = json.dumps(message, separators=(",", ":")).encode()
    return [HEADER.pack(len(text), len(payload)), text, payload]


def read_message(text: bytes) -> dict[str, Any]:
    try:
        message = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise WorkerFrameError(f"not JSON: {error}") from None
    if not isinstance(message, dict):
        raise WorkerFrameError("not an object")
    return message


def read_frame(stream: BinaryIO) -> tuple[dict[str, Any], bytes] | None:
    """The worker's side, which waits; None at the end."""
    header = stream.read(HEADER.size)
    if len(header) < HEADER.size:
        return None
    length, size = HEADER.unpack(header)
    text, payload = stream.read(length), stream.read(size)
    if len(text) < length or len(payload) < size:
        return None
    return read_message(text), payload
