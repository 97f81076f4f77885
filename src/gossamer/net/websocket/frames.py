"""WebSocket frames: headers to make and to read, and masks to take off."""

from typing import Final

CONTINUATION: Final = 0x0
TEXT: Final = 0x1
BINARY: Final = 0x2
CLOSE: Final = 0x8
PING: Final = 0x9
PONG: Final = 0xA

FIN: Final = 0x80
RESERVED_BITS: Final = 0x70
OPCODE: Final = 0x0F
CONTROL: Final = 0x08  # the bit that all opcodes of control frames have
MASKED: Final = 0x80
LONGEST_CONTROL: Final = 125

CLOSE_NORMAL: Final = 1000
CLOSE_PROTOCOL_ERROR: Final = 1002
CLOSE_UNACCEPTABLE: Final = 1003
# The statuses that a peer may close with, as ranges: RFC 6455, section 7.4, and IANA since.
CLOSE_CODES: Final = ((1000, 1003), (1007, 1014), (3000, 4999))


class FrameError(Exception):
    """The peer broke RFC 6455; `code` is the status to close with."""

    def __init__(self, code: int, text: str) -> None:
        super().__init__(text)
        self.code = code


class FrameHead:
    """The first bytes of a frame from a client."""

    __slots__ = ("final", "length", "mask", "opcode", "size")

    def __init__(self, opcode: int, final: bool, size: int, length: int, mask: bytes) -> None:
        self.opcode = opcode
        self.final = final
        self.size = size  # of the head itself
        self.length = length  # of the payload that follows
        self.mask = mask


def read_head(data: bytes, start: int) -> FrameHead | None:
    """The head of the frame that starts there; None until all of it is there."""
    if len(data) - start < 2:
        return None
    first, second = data[start], data[start + 1]
    if first & RESERVED_BITS:
        raise FrameError(CLOSE_PROTOCOL_ERROR, "no extension was agreed on")
    if not second & MASKED:
        raise FrameError(CLOSE_PROTOCOL_ERROR, "a client must mask its frames")
    length, size = second & 0x7F, 2
    if length >= 126:
        wide, least = (2, 126) if length == 126 else (8, 0x10000)
        size += wide
        if len(data) - start < size:
            return None
        length = int.from_bytes(data[start + 2 : start + size])
        if not least <= length < 1 << 63:
            raise FrameError(CLOSE_PROTOCOL_ERROR, "a length must be spelled in its shortest form")
    opcode, final = first & OPCODE, bool(first & FIN)
    if opcode & CONTROL and (not final or length > LONGEST_CONTROL):
        raise FrameError(CLOSE_PROTOCOL_ERROR, "a control frame is whole and short")
    size += 4
    if len(data) - start < size:
        return None
    return FrameHead(opcode, final, size, length, data[start + size - 4 : start + size])


def unmask(data: bytes, mask: bytes) -> bytes:
    """The payload without its mask: one exclusive-or of two big numbers."""
    length = len(data)
    key = (mask * (length // 4 + 1))[:length]
    return (int.from_bytes(data) ^ int.from_bytes(key)).to_bytes(length)


def head_of(opcode: int, length: int) -> bytes:
    """The head of a whole, unmasked frame, as a server sends it."""
    if length < 126:
        return bytes((FIN | opcode, length))
    if length < 0x10000:
        return bytes((FIN | opcode, 126)) + length.to_bytes(2)
    return bytes((FIN | opcode, 127)) + length.to_bytes(8)
