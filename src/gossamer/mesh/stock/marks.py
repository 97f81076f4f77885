"""The mark on what a mesh sends to a stock broker, so that the mesh knows it again.

A User Property with the mesh's name, in the order in which meshes passed it on. A message that
comes back, by whatever bridges, is recognised and goes no further. Only 5.0 has properties.
"""

from typing import Final

from gossamer.session.outlet import Sink
from gossamer.wire.frames import encode_varint, header_length, packet_length
from gossamer.wire.packets import PUBLISH, Publish
from gossamer.wire.scalars import text

MARK_PROPERTY: Final = "gossamer-mesh"
_USER_PROPERTY: Final = b"\x26"
# A mark makes a packet longer by itself, and its two lengths by so much at most.
_LENGTHS: Final = 6


def mark_of(mesh: str) -> bytes:
    return _USER_PROPERTY + text(MARK_PROPERTY) + text(mesh)


def has_mark(packet: Publish, mesh: str) -> bool:
    properties = packet.properties
    return properties is not None and (MARK_PROPERTY, mesh) in properties.user


def growth(mark: bytes) -> int:
    """The most bytes by which a mark makes a packet longer."""
    return len(mark) + _LENGTHS


class MarkingSink(Sink):
    """Passes packets on, each PUBLISH of 5.0 with the mark as its last property."""

    def __init__(self, sink: Sink, mark: bytes) -> None:
        self._sink = sink
        self._mark = mark
        self._rest = b""

    def write(self, data: bytes) -> None:
        if self._rest:
            data = self._rest + data
        parts: list[bytes] = []
        position = 0
        end = len(data)
        while position < end:
            size = packet_length(data, position) if position + 1 < end else 0
            if size == 0 or position + size > end:
                break
            packet = data[position : position + size]
            parts.append(_marked(packet, self._mark) if packet[0] >> 4 == PUBLISH else packet)
            position += size
        self._rest = data[position:]
        if parts:
            self._sink.write(b"".join(parts))

    def close(self) -> None:
        self._sink.close()

    def abort(self) -> None:
        self._sink.abort()

    def pause_reading(self) -> None:
        self._sink.pause_reading()

    def resume_reading(self) -> None:
        self._sink.resume_reading()


def _marked(packet: bytes, mark: bytes) -> bytes:
    start = header_length(packet, 0)
    before = start + 2 + (packet[start] << 8 | packet[start + 1])
    if packet[0] & 0x06:
        before += 2  # the packet identifier
    size = 0
    shift = 0
    after = before
    while True:
        byte = packet[after]
        after += 1
        size |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            break
    body = b"".join(
        (
            packet[start:before],
            encode_varint(size + len(mark)),
            packet[after : after + size],
            mark,
            packet[after + size :],
        )
    )
    return packet[:1] + encode_varint(len(body)) + body
