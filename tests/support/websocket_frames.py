"""What a WebSocket client sends: the request of the standard, and frames byte by byte."""

from gossamer.net.websocket.frames import apply_mask

REQUEST = (
    "GET /mqtt HTTP/1.1\r\nHost: here\r\nUpgrade: websocket\r\nConnection: keep-alive, Upgrade\r\n"
    "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\nSec-WebSocket-Version: 13\r\n"
    "Sec-WebSocket-Protocol: chat, mqtt\r\nOrigin: https://page.example\r\n\r\n"
)
MASK = b"\x01\x02\x03\x04"


def frame(opcode: int, payload: bytes, final: bool = True, mask: bytes = MASK) -> bytes:
    first = bytes((0x80 * final | opcode,))
    if len(payload) < 126:
        size = bytes((0x80 | len(payload),))
    elif len(payload) < 65536:
        size = b"\xfe" + len(payload).to_bytes(2)
    else:
        size = b"\xff" + len(payload).to_bytes(8)
    return first + size + mask + apply_mask(payload, mask)
