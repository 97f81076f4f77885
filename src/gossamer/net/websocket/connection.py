"""One WebSocket connection, the server's side: bytes from the socket in, MQTT bytes out.

`receive()` returns the MQTT bytes that became readable; frames may be split and joined anywhere
and nothing of a frame is kept but its head. What must be sent to the peer gathers in `output`
(handshake, pongs, close). Once `closing` is set, send `output` and close the socket.
"""

from gossamer.net.websocket.frames import (
    BINARY,
    CLOSE,
    CLOSE_CODES,
    CLOSE_NORMAL,
    CLOSE_PROTOCOL_ERROR,
    CLOSE_UNACCEPTABLE,
    CONTINUATION,
    CONTROL,
    PING,
    PONG,
    FrameError,
    FrameHead,
    head_of,
    read_head,
    unmask,
)
from gossamer.net.websocket.handshake import (
    END_OF_REQUEST,
    LARGEST_REQUEST,
    HandshakePolicy,
    HandshakeRefused,
    answer,
)


class WebSocketServer:
    """Starts with the handshake; `is_open` tells when frames may be sent."""

    __slots__ = (
        "_buffer",
        "_continues",
        "_left",
        "_mask",
        "_policy",
        "closing",
        "is_open",
        "output",
        "refusal",
    )

    def __init__(self, policy: HandshakePolicy) -> None:
        self._policy = policy
        self._buffer = b""
        self._left = 0  # bytes still to come of the data frame whose head was read
        self._mask = b""  # turned so that its first byte is for the next byte to come
        self._continues = False  # a message has started whose last frame has not come
        self.is_open = False
        self.closing = False
        self.refusal = ""  # why it was closed from our side
        self.output = bytearray()

    def receive(self, data: bytes) -> bytes:
        """MQTT bytes in what has arrived, without anything of the WebSocket around them.

        Where frames begin and end says nothing about packets [MQTT-6.0.0-2].
        """
        if self.closing:
            return b""
        self._buffer = self._buffer + data if self._buffer else data
        try:
            if not self.is_open:
                self._shake_hands()
            return self._read_frames() if self.is_open else b""
        except HandshakeRefused as refused:
            self.output += refused.response
            self._give_up(str(refused))
        except FrameError as error:
            self.close(error.code)
            self._give_up(str(error))
        return b""

    def wrap(self, data: bytes) -> bytes:
        """MQTT bytes as one binary frame. [MQTT-6.0.0-1]"""
        return head_of(BINARY, len(data)) + data

    def close(self, code: int = CLOSE_NORMAL) -> None:
        """Puts a close frame into the output; nothing is read any more."""
        if self.is_open and not self.closing:
            self.output += head_of(CLOSE, 2) + code.to_bytes(2)
        self.closing = True

    def _give_up(self, why: str) -> None:
        self.closing = True
        self.refusal = why
        self._buffer = b""

    def _shake_hands(self) -> None:
        end = self._buffer.find(END_OF_REQUEST)
        if end < 0 and len(self._buffer) > LARGEST_REQUEST:
            raise HandshakeRefused(431, "the request is too long")
        if end >= 0:
            end += len(END_OF_REQUEST)
            self.output += answer(self._buffer[:end], self._policy)
            self._buffer = self._buffer[end:]
            self.is_open = True

    def _read_frames(self) -> bytes:
        data, at, end = self._buffer, 0, len(self._buffer)
        parts: list[bytes] = []
        pong = b""
        while at < end and not self.closing:
            if self._left:
                taken = min(self._left, end - at)
                parts.append(unmask(data[at : at + taken], self._mask))
                turn = taken & 3
                self._mask = self._mask[turn:] + self._mask[:turn]
                self._left -= taken
                at += taken
                continue
            head = read_head(data, at)
            if head is None:
                break
            if head.opcode & CONTROL:
                payload_at = at + head.size
                if end - payload_at < head.length:
                    break
                at = payload_at + head.length
                payload = unmask(data[payload_at:at], head.mask)
                if head.opcode == PING:
                    # Only the latest is answered, so that a flood of them costs one. (5.5.3)
                    pong = head_of(PONG, len(payload)) + payload
                elif head.opcode != PONG:
                    self.output += pong
                    pong = b""
                    self._closed_by_peer(head.opcode, payload)
                continue
            self._start_data(head)
            at += head.size
        self._buffer = data[at:] if at < end else b""
        self.output += pong
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _start_data(self, head: FrameHead) -> None:
        if head.opcode not in (BINARY, CONTINUATION):
            raise FrameError(CLOSE_UNACCEPTABLE, "only binary frames carry MQTT")  # [MQTT-6.0.0-1]
        if (head.opcode == CONTINUATION) != self._continues:
            raise FrameError(CLOSE_PROTOCOL_ERROR, "a fragment out of place")
        self._continues = not head.final
        self._left = head.length
        self._mask = head.mask

    def _closed_by_peer(self, opcode: int, payload: bytes) -> None:
        if opcode != CLOSE:
            raise FrameError(CLOSE_PROTOCOL_ERROR, "an unknown control frame")
        code = int.from_bytes(payload[:2]) if payload else CLOSE_NORMAL
        if not any(first <= code <= last for first, last in CLOSE_CODES):
            raise FrameError(CLOSE_PROTOCOL_ERROR, "not a status to close with")
        self.close(code)
