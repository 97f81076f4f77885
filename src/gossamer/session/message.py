"""A publication while the broker holds it: forwarded, kept in queues, retained.

Encodings are made on first need and shared by every receiver. For QoS 0 that is the whole packet;
for QoS 1 and 2 it is what stands before the packet identifier, since only that differs.
"""

from typing import Final

from gossamer.session.naming import with_name
from gossamer.wire.frames import encode_varint
from gossamer.wire.packets import PUBLISH, V5
from gossamer.wire.properties import Properties
from gossamer.wire.property_codec import encode_properties

# The three shapes (QoS 0, 1, 2) of each of the two protocol versions.
_SHAPES: Final = 6
RETAIN_BIT: Final = 0x01
DUP_BIT: Final = 0x08


class Message:
    """Immutable once made; shared by every session that has it queued.

    `properties` holds only what travels on to subscribers (no alias, no subscription identifier).
    `expires_at` is in absolute seconds of the wall clock, 0 for never; `properties.message_expiry`
    is the interval as published. `stored` is the number under which a store keeps the message, 0
    while none does. `name` is what neighbours know it by, empty while it has not been given one.
    """

    __slots__ = (
        "_heads",
        "_named_heads",
        "_named_tail",
        "_tail_v5",
        "expires_at",
        "name",
        "payload",
        "properties",
        "publisher",
        "qos",
        "retain",
        "stored",
        "topic",
        "topic_bytes",
        "user",
    )

    def __init__(
        self,
        topic: str,
        payload: bytes,
        qos: int,
        retain: bool,
        properties: Properties | None,
        expires_at: float,
        publisher: str,
        user: str,
        topic_bytes: bytes = b"",
    ) -> None:
        self.topic = topic
        self.topic_bytes = topic_bytes if topic_bytes else topic.encode()
        self.payload = payload
        self.qos = qos
        self.retain = retain
        self.properties = properties
        self.expires_at = expires_at
        self.publisher = publisher
        self.user = user
        self.stored = 0
        self.name = b""
        self._named_heads: list[bytes | None] | None = None
        self._named_tail: bytes | None = None
        self._heads: list[bytes | None] | None = None
        self._tail_v5: bytes | None = None

    def preset_head(self, version: int, head: bytes, tail_v5: bytes) -> None:
        """What came in can go out unchanged: spare the encoding."""
        heads: list[bytes | None] = [None] * _SHAPES
        heads[(3 if version == V5 else 0) + self.qos] = head
        self._heads = heads
        if version == V5:
            self._tail_v5 = tail_v5

    def preset_named(self, head: bytes, tail: bytes) -> None:
        """What a neighbour sent can go on to others unchanged."""
        heads: list[bytes | None] = [None, None, None]
        heads[self.qos] = head
        self._named_heads = heads
        self._named_tail = tail

    def rename(self, name: bytes) -> None:
        """Between brokers it is known by another name from now on."""
        self.name = name
        self._named_heads = None
        self._named_tail = None

    def head(self, version: int, qos: int) -> bytes:
        """The packet (QoS 0), or the packet up to its identifier (QoS 1 and 2)."""
        heads = self._heads
        if heads is None:
            heads = [None] * _SHAPES
            self._heads = heads
        shape = (3 if version == V5 else 0) + qos
        found = heads[shape]
        if found is None:
            found = self._encode_head(version, qos)
            heads[shape] = found
        return found

    def tail(self, version: int) -> bytes:
        """What follows the packet identifier."""
        if version != V5:
            return self.payload
        tail = self._tail_v5
        if tail is None:
            properties = self.properties
            tail = (
                b"\x00" if properties is None else encode_properties(properties, PUBLISH)
            ) + self.payload
            self._tail_v5 = tail
        return tail

    def named_head(self, qos: int) -> bytes:
        """As `head`, for a neighbour."""
        heads = self._named_heads
        if heads is None:
            heads = [None, None, None]
            self._named_heads = heads
        found = heads[qos]
        if found is None:
            found = self._encode(self.named_tail(), qos)
            heads[qos] = found
        return found

    def named_tail(self) -> bytes:
        """As `tail`, for a neighbour: with the message's name."""
        tail = self._named_tail
        if tail is None:
            properties = self.properties
            block = b"\x00" if properties is None else encode_properties(properties, PUBLISH)
            tail = with_name(block, self.name) + self.payload
            self._named_tail = tail
        return tail

    def _encode_head(self, version: int, qos: int) -> bytes:
        return self._encode(self.tail(version), qos)

    def _encode(self, tail: bytes, qos: int) -> bytes:
        topic = self.topic_bytes
        size = 2 + len(topic) + (2 if qos else 0) + len(tail)
        before = (
            bytes((0x30 | qos << 1,)) + encode_varint(size) + len(topic).to_bytes(2, "big") + topic
        )
        return before if qos else before + tail

    def is_expired(self, now: float) -> bool:
        return self.expires_at != 0.0 and now >= self.expires_at
