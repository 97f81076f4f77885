"""Framing: where a packet ends in a stream of bytes, and the fixed header in front of a body.

Nothing here looks inside a packet, so a reader can refuse one that is too large before it has
arrived.
"""

from typing import Final

from gossamer.wire.errors import ProtocolError
from gossamer.wire.reasons import MALFORMED_PACKET, PACKET_TOO_LARGE

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


class PacketStream:
    """A stream of bytes cut into packets: feed it what arrives, get back what is whole.

    Keeps only the unfinished packet; refuses one over `max_packet_size` before it arrives.
    """

    def __init__(self, max_packet_size: int = VARINT_MAX) -> None:
        self.max_packet_size = max_packet_size
        self._partial = bytearray()
        self._needed = 0  # length of the partial packet; 0 while its header is incomplete

    def feed(self, data: bytes) -> list[tuple[int, bytes]]:
        """The packets that `data` completes, in order: first byte and body."""
        if self._partial:
            self._partial += data
            if len(self._partial) < self._needed:
                return []
            data = bytes(self._partial)
        packets: list[tuple[int, bytes]] = []
        at = 0
        length = self._length(data, at)
        while length and at + length <= len(data):
            packets.append((data[at], data[at + header_length(data, at) : at + length]))
            at += length
            length = self._length(data, at)
        self._partial = bytearray(data[at:])
        self._needed = length
        return packets

    def _length(self, data: bytes, at: int) -> int:
        length = packet_length(data, at)
        if length > self.max_packet_size:
            raise ProtocolError(
                PACKET_TOO_LARGE, f"packet of {length} bytes is over {self.max_packet_size}"
            )
        return length
