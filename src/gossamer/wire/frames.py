"""Framing: where a packet ends in a stream of bytes, and the fixed header in front of a body.

Nothing here looks inside a packet, so a reader can refuse one that is too large before it has
arrived.
"""

from typing import Final

from gossamer.wire.errors import ProtocolError
from gossamer.wire.reasons import MALFORMED_PACKET

# [MQTT-1.5.5-1] Four bytes of seven bits: the largest number the standard can spell.
VARINT_MAX: Final = 268_435_455

# The fixed header is one byte of type and flags, then a remaining length of at most four.
LONGEST_HEADER: Final = 5


def packet_length(data: bytes, start: int) -> int:
    """Bytes from `start` to the end of the packet there; 0 while its header is incomplete."""
    available = len(data) - start
    if available < 2:
        return 0
    byte = data[start + 1]
    if byte < 0x80:
        return 2 + byte
    length = byte & 0x7F
    shift = 7
    size = 2
    while size < available:
        byte = data[start + size]
        size += 1
        if byte < 0x80:
            if byte == 0:
                raise ProtocolError(
                    MALFORMED_PACKET, "remaining length is not in its shortest form"
                )
            return size + length + (byte << shift)
        if size == LONGEST_HEADER:
            raise ProtocolError(MALFORMED_PACKET, "remaining length is over four bytes")
        length += (byte & 0x7F) << shift
        shift += 7
    return 0


def header_length(data: bytes, start: int) -> int:
    """Bytes of the fixed header at `start`, which `packet_length` has found complete."""
    at = start + 1
    while data[at] >= 0x80:
        at += 1
    return at + 1 - start


def encode_varint(number: int) -> bytes:
    """A variable byte integer in its shortest form."""
    if number < 0 or number > VARINT_MAX:
        raise ValueError(f"{number} does not fit a variable byte integer")
    if number < 0x80:
        return bytes([number])
    digits: list[int] = []
    while number >= 0x80:
        digits.append(number & 0x7F | 0x80)
        number >>= 7
    digits.append(number)
    return bytes(digits)


def frame(head: int, body: bytes) -> bytes:
    """A whole packet: `head` (type and flags), the length of `body`, and `body`."""
    size = len(body)
    if size < 0x80:
        return bytes([head, size]) + body
    return bytes([head]) + encode_varint(size) + body
