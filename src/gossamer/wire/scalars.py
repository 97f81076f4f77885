"""The data types of the standard's section 1.5: a reader that never passes the end, and writers.

Every read names what it reads, so that an error tells a person which field was wrong.
"""

from typing import Final

from mypy_extensions import mypyc_attr

from gossamer.wire.errors import ProtocolError
from gossamer.wire.reasons import MALFORMED_PACKET, PROTOCOL_ERROR, TOPIC_NAME_INVALID

# A length prefix has two bytes.
LONGEST_FIELD: Final = 65_535


def truncated(what: str) -> ProtocolError:
    """The error for a packet that ends before or inside `what`."""
    return ProtocolError(MALFORMED_PACKET, f"packet ends inside {what}")


def decode_text(body: bytes, start: int, end: int, what: str) -> str:
    """The UTF-8 string in `body[start:end]`; U+FEFF stays where it stands [MQTT-1.5.4-3]."""
    try:
        text = body[start:end].decode("utf-8")
    except UnicodeDecodeError:  # also what encodes a surrogate: [MQTT-1.5.4-1]
        raise ProtocolError(MALFORMED_PACKET, f"{what} is not valid UTF-8") from None
    if "\0" in text:  # [MQTT-1.5.4-2]
        raise ProtocolError(MALFORMED_PACKET, f"{what} contains U+0000")
    return text


def check_topic_name(topic: str, what: str) -> None:
    """What the wire itself forbids in a name: nothing at all, and wildcards."""
    if not topic:  # [MQTT-4.7.3-1]
        raise ProtocolError(TOPIC_NAME_INVALID, f"{what} is empty")
    if "+" in topic or "#" in topic:  # [MQTT-3.3.2-2]
        raise ProtocolError(TOPIC_NAME_INVALID, f"{what} contains a wildcard")


@mypyc_attr(acyclic=True)
class Reader:
    """Reads one field after another from `body`, from `at` up to `end`."""

    __slots__ = ("at", "body", "end")

    def __init__(self, body: bytes, at: int, end: int) -> None:
        self.body = body
        self.at = at
        self.end = end

    def byte(self, what: str) -> int:
        at = self.at
        if at >= self.end:
            raise truncated(what)
        self.at = at + 1
        return self.body[at]

    def two_bytes(self, what: str) -> int:
        at = self.at
        if at + 2 > self.end:
            raise truncated(what)
        self.at = at + 2
        body = self.body
        return (body[at] << 8) | body[at + 1]

    def four_bytes(self, what: str) -> int:
        high = self.two_bytes(what)
        return (high << 16) | self.two_bytes(what)

    def varint(self, what: str) -> int:
        byte = self.byte(what)
        number = byte & 0x7F
        shift = 7
        while byte >= 0x80:
            if shift > 21:
                raise ProtocolError(MALFORMED_PACKET, f"{what} is over four bytes")
            byte = self.byte(what)
            if byte == 0:  # [MQTT-1.5.5-1]
                raise ProtocolError(MALFORMED_PACKET, f"{what} is not in its shortest form")
            number |= (byte & 0x7F) << shift
            shift += 7
        return number

    def binary(self, what: str) -> bytes:
        start = self.at + 2
        end = start + self.two_bytes(what)
        if end > self.end:
            raise truncated(what)
        self.at = end
        return self.body[start:end]

    def text(self, what: str) -> str:
        start = self.at + 2
        end = start + self.two_bytes(what)
        if end > self.end:
            raise truncated(what)
        self.at = end
        return decode_text(self.body, start, end, what)

    def packet_id(self) -> int:
        number = self.two_bytes("packet identifier")
        if number == 0:  # [MQTT-2.2.1-3]
            raise ProtocolError(PROTOCOL_ERROR, "packet identifier is 0")
        return number

    def finish(self) -> None:
        """Everything must have been read by now."""
        left = self.end - self.at
        if left:
            raise ProtocolError(MALFORMED_PACKET, f"{left} bytes follow the end of the packet")


def two_bytes(number: int) -> bytes:
    return number.to_bytes(2, "big")


def four_bytes(number: int) -> bytes:
    return number.to_bytes(4, "big")


def binary(data: bytes) -> bytes:
    """`data` behind its length; ValueError if that does not fit."""
    size = len(data)
    if size > LONGEST_FIELD:
        raise ValueError(f"a field of {size} bytes is over {LONGEST_FIELD}")
    return size.to_bytes(2, "big") + data


def text(string: str) -> bytes:
    """`string` as UTF-8 behind its length; ValueError if that does not fit."""
    return binary(string.encode("utf-8"))
