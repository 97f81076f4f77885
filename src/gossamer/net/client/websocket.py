"""The client's side of WebSocket (RFC 6455) for MQTT: bytes in, bytes out, no sockets."""

import base64
import hashlib
import secrets
from typing import Final

from gossamer.net.client.address import Address
from gossamer.net.websocket.frames import (
    BINARY,
    CLOSE,
    CLOSE_NORMAL,
    CONTINUATION,
    CONTROL,
    MASKED,
    OPCODE,
    PING,
    PONG,
    head_of,
    unmask,
)
from gossamer.net.websocket.handshake import ACCEPT_SUFFIX

_END_OF_HEAD: Final = b"\r\n\r\n"

# A broker's answer to the handshake is a few lines; more than this is no WebSocket.
LARGEST_ANSWER: Final = 16_384


class WebSocketClient:
    """Send `request` first. `receive` raises ValueError for what is no WebSocket."""

    def __init__(self, address: Address) -> None:
        key = base64.b64encode(secrets.token_bytes(16))
        digest = hashlib.sha1(key + ACCEPT_SUFFIX, usedforsecurity=False).digest()
        self._accept = base64.b64encode(digest).decode()
        host = f"[{address.host}]" if ":" in address.host else address.host
        self.request = (
            f"GET {address.path} HTTP/1.1\r\nHost: {host}:{address.port}\r\n"
            "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
            f"Sec-WebSocket-Key: {key.decode()}\r\nSec-WebSocket-Protocol: mqtt\r\n\r\n"
        ).encode()
        self.is_open = False
        self.closed = False  # the broker has said goodbye
        self.output = bytearray()  # what must be sent in answer
        self._buffer = b""
        self._left = 0  # bytes still to come of the data frame whose head was read

    def receive(self, data: bytes) -> bytes:
        """The MQTT bytes in what has arrived."""
        self._buffer += data
        if not self.is_open:
            self._finish_handshake()
        return self._read_frames() if self.is_open else b""

    def wrap(self, data: bytes) -> bytes:
        """MQTT bytes as one binary frame, masked as a client's must be."""
        return _masked(BINARY, data)

    def goodbye(self) -> bytes:
        """The frame that ends the WebSocket."""
        return _masked(CLOSE, CLOSE_NORMAL.to_bytes(2))

    def _finish_handshake(self) -> None:
        end = self._buffer.find(_END_OF_HEAD)
        if end < 0:
            if len(self._buffer) > LARGEST_ANSWER:
                raise ValueError("the answer to the WebSocket handshake is too long")
            return
        status, *lines = self._buffer[:end].decode("latin-1").split("\r\n")
        self._buffer = self._buffer[end + len(_END_OF_HEAD) :]
        headers = {}
        for line in lines:
            name, _, value = line.partition(":")
            headers[name.strip().lower()] = value.strip()
        if status.split(" ")[1:2] != ["101"]:
            raise ValueError(f"no WebSocket here: {status}")
        if headers.get("sec-websocket-accept") != self._accept:
            raise ValueError("the answer to the WebSocket handshake is not to ours")
        if headers.get("sec-websocket-protocol") != "mqtt":  # [MQTT-6.0.0-4]
            raise ValueError("this WebSocket does not carry MQTT")
        self.is_open = True

    def _read_frames(self) -> bytes:
        data, at, parts = self._buffer, 0, []
        while at < len(data) and not self.closed:
            if self._left:
                part = data[at : at + self._left]
                parts.append(part)
                self._left -= len(part)
                at += len(part)
                continue
            found = _head(data, at)
            if found is None:
                break
            opcode, start, length = found
            if opcode & CONTROL:
                if start + length > len(data):
                    break
                self._control(opcode, data[start : start + length])
                at = start + length
            elif opcode in (BINARY, CONTINUATION):
                self._left = length
                at = start
            else:
                raise ValueError("only binary frames carry MQTT")  # [MQTT-6.0.0-1]
        self._buffer = data[at:]
        return b"".join(parts)

    def _control(self, opcode: int, payload: bytes) -> None:
        if opcode == PING:
            self.output += _masked(PONG, payload)
        elif opcode == CLOSE:
            self.closed = True
            self.output += _masked(CLOSE, payload[:2])


def _head(data: bytes, at: int) -> tuple[int, int, int] | None:
    """Opcode, where the payload starts and its length; None until the whole head is there."""
    if len(data) - at < 2:
        return None
    opcode, length = data[at] & OPCODE, data[at + 1]
    if length & MASKED:
        raise ValueError("a broker must not mask its frames")
    start = at + 2
    if length >= 126:
        wide = 2 if length == 126 else 8
        if len(data) - start < wide:
            return None
        length = int.from_bytes(data[start : start + wide])
        start += wide
    return opcode, start, length


def _masked(opcode: int, data: bytes) -> bytes:
    head = bytearray(head_of(opcode, len(data)))
    head[1] |= MASKED
    mask = secrets.token_bytes(4)
    return bytes(head) + mask + unmask(data, mask)
