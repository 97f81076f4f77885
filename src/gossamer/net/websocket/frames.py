"""The frames of a WebSocket after its handshake, for both sides.

`read()` returns the MQTT bytes that became readable; frames may be split and joined anywhere and
nothing of a data frame is kept but its head. What must be sent to the peer gathers in `output`
(pongs, close). Once `closing` is set, send `output` and close the socket.
"""

import secrets
from typing import Final

from websockets.exceptions import ProtocolError
from websockets.frames import Close, CloseCode, Opcode

try:
    from websockets.speedups import apply_mask
except ImportError:  # no wheel for this machine
    from websockets.utils import apply_mask

__all__ = ["FrameError", "FrameStream", "apply_mask", "frame_of", "read_head"]

FIN: Final = 0x80
RESERVED_BITS: Final = 0x70
OPCODE: Final = 0x0F
CONTROL: Final = 0x08  # the bit that all opcodes of control frames have
MASKED: Final = 0x80
LONGEST_CONTROL: Final = 125

# Plain numbers: to compare with a member of an enumeration costs more than reading the head.
CONTINUATION: Final = int(Opcode.CONT)
BINARY: Final = int(Opcode.BINARY)
CLOSE: Final = int(Opcode.CLOSE)
PING: Final = int(Opcode.PING)
PONG: Final = int(Opcode.PONG)


class FrameError(ValueError):
    """The peer broke RFC 6455; `code` is the status to close with."""

    def __init__(self, code: CloseCode, text: str) -> None:
        super().__init__(text)
        self.code = code


class FrameStream:
    """The frames of one connection. A client masks what it sends and a server does not (5.1)."""

    __slots__ = ("_buffer", "_continues", "_left", "_mask", "_masks", "closing", "output")

    def __init__(self, masks: bool) -> None:
        self._masks = masks
        self._buffer = b""  # the beginning of a head, or of a control frame
        self._left = 0  # bytes still to come of the data frame whose head was read
        self._mask = b""  # turned so that its first byte is for the next byte to come
        self._continues = False  # a message has started whose last frame has not come
        self.closing = False
        self.output = bytearray()

    def wrap(self, data: bytes) -> bytes:
        """MQTT bytes as one binary frame. [MQTT-6.0.0-1]"""
        return frame_of(BINARY, data, self._masks)

    def close(self, code: int = CloseCode.NORMAL_CLOSURE) -> None:
        """Puts a close frame into the output; nothing is read any more."""
        if not self.closing:
            self.closing = True
            self.output += frame_of(CLOSE, code.to_bytes(2), self._masks)

    def read(self, data: bytes) -> bytes:
        """MQTT bytes in what has arrived, without anything of the WebSocket around them.

        Where frames begin and end says nothing about packets [MQTT-6.0.0-2].
        """
        if self._buffer:
            data = self._buffer + data
        at, end = 0, len(data)
        parts: list[bytes] = []
        pong = b""
        while at < end and not self.closing:
            if self._left:
                part = data[at : at + self._left]
                at += len(part)
                self._left -= len(part)
                if self._mask:
                    turn = len(part) & 3
                    part = apply_mask(part, self._mask)
                    self._mask = self._mask[turn:] + self._mask[:turn]
                parts.append(part)
                continue
            head = read_head(data, at, masked=not self._masks)
            if head is None:
                break
            first, start, length, mask = head
            opcode = first & OPCODE
            if opcode & CONTROL:
                if end - start < length:
                    break
                at = start + length
                payload = data[start:at]
                if mask:
                    payload = apply_mask(payload, mask)
                if opcode == PING:
                    # Only the latest is answered, so that a flood of them costs one. (5.5.3)
                    pong = frame_of(PONG, payload, self._masks)
                elif opcode != PONG:
                    self.output += pong
                    pong = b""
                    self._closed_by_peer(opcode, payload)
                continue
            if opcode not in (BINARY, CONTINUATION):
                raise FrameError(CloseCode.UNSUPPORTED_DATA, "only binary frames carry MQTT")
            if (opcode == CONTINUATION) != self._continues:
                raise FrameError(CloseCode.PROTOCOL_ERROR, "a fragment out of place")
            self._continues = not first & FIN
            self._left = length
            self._mask = mask
            at = start
        self._buffer = data[at:] if at < end and not self.closing else b""
        self.output += pong
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _closed_by_peer(self, opcode: int, payload: bytes) -> None:
        if opcode != CLOSE:
            raise FrameError(CloseCode.PROTOCOL_ERROR, "an unknown control frame")
        try:
            code = Close.parse(payload[:2]).code
        except ProtocolError as error:
            text = f"not a status to close with: {error}"
            raise FrameError(CloseCode.PROTOCOL_ERROR, text) from error
        self.close(CloseCode.NORMAL_CLOSURE if code == CloseCode.NO_STATUS_RCVD else code)


def read_head(data: bytes, at: int, masked: bool) -> tuple[int, int, int, bytes] | None:
    """The first byte, where the payload starts, its length and mask; None until all is there."""
    if len(data) - at < 2:
        return None
    first, length = data[at], data[at + 1]
    if first & RESERVED_BITS:
        raise FrameError(CloseCode.PROTOCOL_ERROR, "no extension was agreed on")
    if bool(length & MASKED) is not masked:
        text = "a client must mask its frames" if masked else "a broker must not mask its frames"
        raise FrameError(CloseCode.PROTOCOL_ERROR, text)
    length &= 0x7F
    start = at + 2
    if length >= 126:
        wide, least = (2, 126) if length == 126 else (8, 0x10000)
        start += wide
        if len(data) < start:
            return None
        length = int.from_bytes(data[at + 2 : start])
        if not least <= length < 1 << 63:
            text = "a length must be spelled in its shortest form"
            raise FrameError(CloseCode.PROTOCOL_ERROR, text)
    if first & CONTROL and (not first & FIN or length > LONGEST_CONTROL):
        raise FrameError(CloseCode.PROTOCOL_ERROR, "a control frame is whole and short")
    if not masked:
        return first, start, length, b""
    if len(data) - start < 4:
        return None
    return first, start + 4, length, data[start : start + 4]


def frame_of(opcode: int, data: bytes, masked: bool) -> bytes:
    """A whole frame, as one side sends it."""
    length, bit = len(data), MASKED if masked else 0
    if length < 126:
        head = bytes((FIN | opcode, bit | length))
    elif length < 0x10000:
        head = bytes((FIN | opcode, bit | 126)) + length.to_bytes(2)
    else:
        head = bytes((FIN | opcode, bit | 127)) + length.to_bytes(8)
    if not masked:
        return head + data
    mask = secrets.token_bytes(4)
    return b"".join((head, mask, apply_mask(data, mask)))
