"""What comes back over a bridge and must not enter the mesh again.

*Our own messages.* What a mesh sends to a bridged broker has a User Property with the mesh's name,
in the order in which meshes passed it on. A message that comes back, by whatever bridges, is
recognised and goes no further. Only 5.0 has properties; for 3.1.1 `echoes` finds configurations
that would loop.

*Retained messages that are no news.* A bridged broker sends them because we subscribed. Nothing in
MQTT tells them from live ones where the retain flag is kept as published. But a new subscription
brings one for a topic at most, soon, and before anything else of that topic: if that one says what
is known here, it is no news.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gossamer.session.sink import Sink
from gossamer.topics.containment import meet
from gossamer.topics.names import matches
from gossamer.wire.frames import encode_varint, header_length, packet_length
from gossamer.wire.packets import PUBLISH, V5, Publish
from gossamer.wire.scalars import text

if TYPE_CHECKING:
    from gossamer.mesh.bridges.bridge import BridgeSettings

MARK_PROPERTY: Final = "gossamer-mesh"
_USER_PROPERTY: Final = b"\x26"
# A mark makes a packet longer by itself, and its two lengths by so much at most.
_LENGTHS: Final = 6
# How long after a SUBSCRIBE its retained messages may come; a slow broker has many to send.
REPLAY_SECONDS: Final = 30.0


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


def echoes(settings: BridgeSettings) -> str:
    """What would come back from a broker that cannot leave out our own messages; "" if nothing.

    3.1.1 has no No Local and no properties: nothing tells an echo from a message.
    """
    if settings.version != V5:
        for exported in settings.exports:
            for imported in settings.imports:
                both = meet(exported, imported)
                if both is not None:
                    return both
    return ""


class _Window:
    __slots__ = ("filter", "seen", "until")

    def __init__(self, filter: str, until: float) -> None:
        self.filter = filter
        self.until = until
        self.seen: set[str] = set()


class RetainedReplays:
    """The subscriptions that were made a moment ago."""

    def __init__(self) -> None:
        self._windows: list[_Window] = []

    def subscribed(self, filter: str, now: float) -> None:
        self._windows.append(_Window(filter, now + REPLAY_SECONDS))

    def is_due(self, topic: str, now: float) -> bool:
        """Whether a retained message of this topic can be a replay; asked once for each."""
        if not self._windows:
            return False
        self._windows = [window for window in self._windows if window.until > now]
        is_first = False
        for window in self._windows:
            if topic not in window.seen and matches(window.filter, topic):
                window.seen.add(topic)
                is_first = True
        return is_first
