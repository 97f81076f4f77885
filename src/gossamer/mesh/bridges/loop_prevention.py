"""What comes back over a bridge and must not enter the mesh again.

*Our own messages.* What a mesh sends to a bridged broker has a User Property with the mesh's name,
in the order in which meshes passed it on. A message that comes back, by whatever bridges, is
recognised and goes no further. Only 5.0 has properties; for 3.1.1 `echoes` finds configurations
that would loop.

*Our own messages without the mark.* Two bridged brokers may be joined to each other by 3.1.1, which
loses it. What was sent to one of them comes back from it, by way of the other, and would go round
for ever. So what was sent there a moment ago is remembered, by a digest. Somebody there may publish
the same by chance: only the third within that time is held for an echo.

*What began at a bridged broker.* It goes round the other way: from there to the mesh, by another
bridge to another broker, and from that one back to the first, which was sent nothing. Where the
mesh has several bridges, what comes from each is counted: the same, so often in ten seconds, is
suspected and held back for two. If it comes all the same, somebody publishes it, and it passes. If
it has stopped, it was we who kept it going: these brokers are joined, and for ten minutes what
comes from there is remembered as if it had been sent there.

*Retained messages that are no news.* A bridged broker sends them because we subscribed. Nothing in
MQTT tells them from live ones where the retain flag is kept as published. But a new subscription
brings one for a topic at most, soon, and before anything else of that topic: if that one says what
is known here, it is no news.
"""

from __future__ import annotations

from collections.abc import Callable
from hashlib import blake2b
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
# How long what was sent may take to come back. A round takes milliseconds where brokers are near.
ECHO_SECONDS: Final = 10.0
_MOST_SENT: Final = 10_000  # a few megabytes
_CHANCES: Final = 3
# So many of the same within ECHO_SECONDS are suspected. A round takes milliseconds.
_SUSPECTED: Final = 30
# How long they are held back. A publisher is heard in the second half of that; an echo is not.
_HELD_SECONDS: Final = 2.0
_JOINED_SECONDS: Final = 600.0


def mark_of(mesh: str) -> bytes:
    return _USER_PROPERTY + text(MARK_PROPERTY) + text(mesh)


def has_mark(packet: Publish, mesh: str) -> bool:
    properties = packet.properties
    return properties is not None and (MARK_PROPERTY, mesh) in properties.user


def growth(mark: bytes) -> int:
    """The most bytes by which a mark makes a packet longer."""
    return len(mark) + _LENGTHS


class MarkingSink(Sink):
    """Passes packets on, each PUBLISH of 5.0 with the mark as its last property; in 3.1.1 there is
    no mark. `note` is told the topic and the payload of each."""

    def __init__(self, sink: Sink, mark: bytes, note: Callable[[bytes, bytes], None]) -> None:
        self._sink = sink
        self._mark = mark
        self._note = note
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
            parts.append(self._passed(packet) if packet[0] >> 4 == PUBLISH else packet)
            position += size
        self._rest = data[position:]
        if parts:
            self._sink.write(b"".join(parts))

    def _passed(self, packet: bytes) -> bytes:
        start = header_length(packet, 0)
        after_topic = start + 2 + (packet[start] << 8 | packet[start + 1])
        properties = after_topic + (2 if packet[0] & 0x06 else 0)
        payload = properties
        if self._mark:
            size, payload = _varint(packet, properties)
            payload += size
        self._note(packet[start + 2 : after_topic], packet[payload:])
        return _marked(packet, self._mark, start, properties) if self._mark else packet

    def close(self) -> None:
        self._sink.close()

    def abort(self) -> None:
        self._sink.abort()

    def pause_reading(self) -> None:
        self._sink.pause_reading()

    def resume_reading(self) -> None:
        self._sink.resume_reading()


def _varint(packet: bytes, position: int) -> tuple[int, int]:
    """The number there, and where it ends."""
    size = 0
    shift = 0
    while True:
        byte = packet[position]
        position += 1
        size |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return size, position


def _marked(packet: bytes, mark: bytes, start: int, before: int) -> bytes:
    """`start` is where the packet's body begins, `before` where its properties do."""
    size, after = _varint(packet, before)
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


class _Import:
    """The same message, that came from a bridged broker again and again."""

    __slots__ = ("count", "held_at", "is_heard", "is_published", "last", "since")

    def __init__(self, now: float) -> None:
        self.count = 0
        self.since = now
        self.last = now
        self.held_at = 0.0  # since when it is held back, 0.0 if it is not
        self.is_heard = False  # though it was held back for long enough
        self.is_published = False  # by somebody there, as often as it comes


class SentThere:
    """What one bridged broker was sent a moment ago, and whether that comes back."""

    def __init__(self) -> None:
        self.has_others = False  # whether the mesh has another bridge, by which it could come back
        self._imports: dict[bytes, _Import] = {}
        self._held: _Import | None = None  # the last one that was held back
        self._joined_until = 0.0
        self._sent: dict[bytes, float] = {}  # by digest: until when it is remembered
        self._returns = 0  # in a row, without a pause that long
        self._returned_at = 0.0
        self.echoes = 0  # those that went no further
        self.now = 0.0  # of this turn: who writes packets is not told the time

    def note(self, topic: bytes, payload: bytes) -> None:
        digest = _digest(topic, payload)
        self._sent.pop(digest, None)
        self._sent[digest] = self.now + ECHO_SECONDS
        if len(self._sent) > _MOST_SENT:
            del self._sent[next(iter(self._sent))]

    def is_empty(self) -> bool:
        """Whether nothing can be an echo."""
        return not self._sent and not self.has_others

    def is_echo(self, topic: bytes, payload: bytes, now: float) -> bool:
        """Whether what comes from there was sent there, and as often as no chance has it. It is
        remembered anew: it may go round again."""
        self.now = now
        digest = _digest(topic, payload)
        if not now < self._sent.get(digest, 0.0) <= now + ECHO_SECONDS:
            self._sent.pop(digest, None)
            return self.has_others and self._goes_round(digest, now)
        self.note(topic, payload)
        if not 0.0 <= now - self._returned_at < ECHO_SECONDS:
            self._returns = 0
        self._returned_at = now
        self._returns += 1
        if self._returns < _CHANCES:
            return False
        self._joined_until = now + _JOINED_SECONDS
        self.echoes += 1
        return True

    def _goes_round(self, digest: bytes, now: float) -> bool:
        """Whether what was never sent there is kept going by this mesh."""
        held = self._held
        if held is not None and now - held.held_at >= _HELD_SECONDS:
            self._held = None
            if not held.is_heard:
                self._joined_until = now + _JOINED_SECONDS
        known = self._imports.pop(digest, None)
        if known is None or not 0.0 <= now - known.last < ECHO_SECONDS:
            known = _Import(now)
        self._imports[digest] = known
        if len(self._imports) > _MOST_SENT:
            del self._imports[next(iter(self._imports))]
        known.last = now
        known.count += 1
        if known.held_at:
            waited = now - known.held_at
            if 0.0 <= waited < _HELD_SECONDS:
                known.is_heard = known.is_heard or waited >= _HELD_SECONDS / 2
                self.echoes += 1
                return True
            known.is_published = known.is_heard
            known.held_at = 0.0
            known.is_heard = False
        elif not known.is_published and known.count >= _SUSPECTED:
            if now - known.since < ECHO_SECONDS:
                known.held_at = now
                self._held = known
                self.echoes += 1
                return True
            known.since = now
            known.count = 0
        if 0.0 <= now < self._joined_until and not known.is_published:
            self._sent[digest] = now + ECHO_SECONDS
            if len(self._sent) > _MOST_SENT:
                del self._sent[next(iter(self._sent))]
        return False


def _digest(topic: bytes, payload: bytes) -> bytes:
    return blake2b(payload, digest_size=16, key=blake2b(topic, digest_size=16).digest()).digest()


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
