"""What the replay service and its clients say to each other before and after the rows.

A frame is a length in four bytes, big-endian, and so many bytes of JSON. A client sends one frame,
the request. The answer is a frame with the status; for rows an Arrow IPC stream follows it, and a
last frame that says whether the stream is complete: a connection that breaks is never mistaken for
the end. Needs nothing but the standard library.
"""

import json
import re
import struct
from collections.abc import Callable
from typing import Any, Final

# Of requests and answers alike; 1 where it is not stated. A service answers every version up to
# its own, in that version.
VERSION: Final = 1
MOST_REQUEST_BYTES: Final = 1 << 20
MOST_ANSWER_BYTES: Final = 1 << 28
_LENGTH: Final = struct.Struct(">I")
_QUOTE: Final = ord('"')
# Lists and objects in a request, which is an object with two lists. Frames come from strangers,
# and a megabyte of brackets would become a hundred of Python's objects, or too deep to parse.
MOST_LISTS_ASKED: Final = 16
# An answer has an object for each segment.
MOST_LISTS_ANSWERED: Final = 10_000_000
# A text, or an opening bracket outside of one. Possessive, and a text without an end is taken to
# the end of all: every byte is looked at once, whatever they are.
_TOKENS: Final = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+(?:"|\\?\Z)|[\[{]', re.DOTALL)

# Why a request is not answered.
REFUSED: Final = "refused"  # the login
DENIED: Final = "denied"  # the filter
LOST: Final = "lost"  # offsets that are not there any more
BAD: Final = "bad"  # the request itself
UNTRUSTED: Final = "untrusted"  # what the client says of the service's certificate
FAILED: Final = "failed"  # the archive could not be read to the end

# How every answer begins that is no refusal.
ACCEPTED: Final = {"ok": True, "version": VERSION}

ReadExactly = Callable[[int], bytes]


class BadFrame(Exception):
    """What came is no frame; the text says why."""


def check_version(message: dict[str, Any], side: str) -> None:
    """BadFrame if a later version than this one wrote it; `side` is who has to be upgraded."""
    found = message.get("version", 1)
    if isinstance(found, bool) or not isinstance(found, int) or found < 1:
        raise BadFrame("its version is not a number")
    if found > VERSION:
        raise BadFrame(
            f"it is of version {found} of the protocol, and version {VERSION} is known here: "
            f"upgrade {side}"
        )


def frame(message: dict[str, Any]) -> bytes:
    text = json.dumps(message, separators=(",", ":")).encode()
    return _LENGTH.pack(len(text)) + text


def read_frame(
    read: ReadExactly, most: int, most_lists: int = MOST_LISTS_ANSWERED
) -> dict[str, Any]:
    """`read` gives exactly as many bytes as asked for, or raises."""
    (length,) = _LENGTH.unpack(read(_LENGTH.size))
    if length > most:
        raise BadFrame(f"a frame of {length} bytes is too long")
    return parsed(read(length), most_lists)


def read_request(read: ReadExactly) -> dict[str, Any]:
    """A frame from somebody who has not logged in."""
    return read_frame(read, MOST_REQUEST_BYTES, MOST_LISTS_ASKED)


def parsed(text: bytes, most_lists: int) -> dict[str, Any]:
    """BadFrame for everything that is no JSON object of that many lists and objects."""
    if text.count(b"[") + text.count(b"{") > most_lists and _has_more_lists(text, most_lists):
        raise BadFrame(f"a frame with more than {most_lists} lists and objects is not answered")
    try:
        message = json.loads(text)
        if b"\\u" in text:  # JSON can spell half a character, which no encoding has
            json.dumps(message, ensure_ascii=False).encode()
    except RecursionError:
        raise BadFrame("a frame is nested too deeply") from None
    except ValueError as error:  # no UTF-8, half a character, a number of thousands of digits
        raise BadFrame(f"a frame is not JSON: {error}") from None
    if not isinstance(message, dict):
        raise BadFrame("a frame is not a JSON object")
    return message


def _has_more_lists(text: bytes, most: int) -> bool:
    """Brackets in texts do not count."""
    found = 0
    for token in _TOKENS.finditer(text):
        found += text[token.start()] != _QUOTE
        if found > most:
            return True
    return False
