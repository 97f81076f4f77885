"""A publication while the broker holds it: forwarded, kept in queues, retained; and its name.

Encodings are made on first need and shared by every receiver. For QoS 0 that is the whole packet;
for QoS 1 and 2 it is what stands before the packet identifier, since only that differs. A packet
with flags, an alias or identifiers of its own is made for its receiver alone (`own_packet`).

Names are for brokers: who let the message in, and the how-manyeth it was there. A name is 16
bytes: 8 that chance gave its broker at this start, and a counter. A message that is sent round to
everybody once more (a wave) has two: that of the wave, then its own. Names travel as a property
that MQTT does not have, first in its list, on links between brokers only; no client ever sees one.
So does, behind it, the client that published a message which says where it is (`publisher.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mypy_extensions import i32, mypyc_attr, u8

from gossamer.wire.frames import encode_varint
from gossamer.wire.packets import PUBLISH, V5
from gossamer.wire.properties import Properties
from gossamer.wire.property_codec import encode_properties
from gossamer.wire.publish_codec import IDENTIFIERS, publish_head, publish_start
from gossamer.wire.scalars import binary

if TYPE_CHECKING:
    from gossamer.geo.geolocation import Place

# The three shapes (QoS 0, 1, 2) of each of the two protocol versions, and those for neighbours.
_SHAPES_V5: Final = 3
_SHAPES_NAMED: Final = 6
_SHAPES: Final = 9
_NO_SHAPE: Final = 255

NAME_BYTES: Final = 16
WAVE_BYTES: Final = 2 * NAME_BYTES
# Identifiers that MQTT 5.0 leaves free, one byte long.
_NAMED: Final = 0x7E
_WAVE: Final = 0x7F
_PUBLISHER: Final = 0x7D
NAMED_BLOCK: Final = 1 + NAME_BYTES  # bytes of a list of properties with a name and nothing else


@mypyc_attr(allow_interpreted_subclasses=True)
class MessageNamer:
    """Gives names. This one belongs to a broker whose messages need none."""

    def name(self, qos: int) -> bytes:
        """A new one for a message that is let in here."""
        return b""


@mypyc_attr(acyclic=True)
class Message:
    """Immutable once made, and shared by every session that has it queued: `changed` makes another.

    What may still be added is a name (`be_named`), encodings, the place that its properties speak
    of (`keep_place`, so that they are read once), and the notes of those who hold it.
    `properties` holds only what travels on to subscribers (no alias, no subscription identifier).
    `expires_at` is in absolute seconds of the wall clock, 0 for never; `properties.message_expiry`
    is the interval as published. `stored` is the number under which a store keeps the message, 0
    while none does; `holders` is how many queues and windows in memory it is in (`Deliveries` of
    `queue_policy.py`). `name` is what neighbours know it by, empty while it has not been given one.
    """

    __slots__ = (
        "_first_head",
        "_first_shape",
        "_heads",
        "_named_tail",
        "_tail_v5",
        "expires_at",
        "holders",
        "is_placed",
        "name",
        "payload",
        "place",
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
        name: bytes = b"",
    ) -> None:
        self.topic: Final = topic
        self.topic_bytes: Final = topic_bytes if topic_bytes else topic.encode()
        self.payload: Final = payload
        self.properties: Final = properties
        self.expires_at: Final = expires_at
        self.publisher: Final = publisher
        self.user: Final = user
        self.name = name
        self.stored = 0
        self.place: Place | None = None
        # Nearly all receivers of a message take one shape: a list is made for a second one only.
        self._first_head = b""
        self._heads: list[bytes] | None = None
        self._named_tail: bytes | None = None
        self._tail_v5: bytes | None = None
        # Of four bytes or one, and so together: between wider fields each would take eight.
        self.holders: i32 = 0
        self._first_shape: u8 = _NO_SHAPE
        self.qos: Final[u8] = qos
        self.retain: Final = retain
        self.is_placed = False  # whether `place` is what its properties say

    def preset_head(self, version: int, head: bytes, tail: bytes) -> None:
        """What came in can go out unchanged: spare the encoding."""
        self._first_head = head
        if version == V5:
            self._first_shape = _SHAPES_V5 + self.qos
            self._tail_v5 = tail
        else:
            self._first_shape = self.qos

    def preset_named(self, head: bytes, tail: bytes) -> None:
        """What a neighbour sent can go on to others unchanged."""
        self._first_head = head
        self._first_shape = _SHAPES_NAMED + self.qos
        self._named_tail = tail

    def be_named(self, namer: MessageNamer) -> None:
        """From now on neighbours know it by a name; it keeps the one that it has."""
        if not self.name:
            self.name = namer.name(self.qos)

    def keep_place(self, place: Place | None) -> None:
        self.place = place
        self.is_placed = True

    def forget_place(self) -> None:
        self.place = None
        self.is_placed = False

    def changed(
        self,
        retain: bool | None = None,
        properties: Properties | None = None,
        expires_at: float | None = None,
        publisher: str | None = None,
        user: str | None = None,
        name: bytes | None = None,
    ) -> Message:
        """Another message that differs in what is given; without anything, one that shares none of
        the encodings."""
        return Message(
            self.topic,
            self.payload,
            self.qos,
            self.retain if retain is None else retain,
            self.properties if properties is None else properties,
            self.expires_at if expires_at is None else expires_at,
            self.publisher if publisher is None else publisher,
            self.user if user is None else user,
            self.topic_bytes,
            self.name if name is None else name,
        )

    def head(self, version: int, qos: int) -> bytes:
        """The packet (QoS 0), or the packet up to its identifier (QoS 1 and 2)."""
        shape = _SHAPES_V5 + qos if version == V5 else qos
        if shape == self._first_shape:
            return self._first_head
        return self._other_head(shape, qos, self.tail(version))

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
        shape = _SHAPES_NAMED + qos
        if shape == self._first_shape:
            return self._first_head
        return self._other_head(shape, qos, self.named_tail())

    def named_tail(self) -> bytes:
        """As `tail`, for a neighbour: with the message's name."""
        tail = self._named_tail
        if tail is None:
            properties = self.properties
            block = b"\x00" if properties is None else encode_properties(properties, PUBLISH)
            tail = with_name(block, self.name) + self.payload
            self._named_tail = tail
        return tail

    def _other_head(self, shape: int, qos: int, tail: bytes) -> bytes:
        heads = self._heads
        if heads is not None and heads[shape]:
            return heads[shape]
        rest = len(tail) + 2 if qos else len(tail)
        head = publish_start(publish_head(qos, False, False), self.topic_bytes, rest)
        if not qos:
            head += tail
        if self._first_shape == _NO_SHAPE:
            self._first_shape = shape
            self._first_head = head
        else:
            if heads is None:
                heads = [b""] * _SHAPES
                self._heads = heads
            heads[shape] = head
        return head

    def own_packet(
        self,
        version: int,
        qos: int,
        retain: bool,
        dup: bool,
        packet_id: int,
        identifiers: list[int],
        alias: int,
        alias_is_known: bool,
        now: float,
        name: bytes = b"",
        publisher: bytes = b"",
    ) -> bytes:
        """With flags, remaining expiry, subscription identifiers or an alias of its own."""
        rest = [IDENTIFIERS[packet_id]] if qos else []  # [MQTT-2.2.1-2]
        if version == V5:
            block = self._own_properties(identifiers, alias, now)
            if publisher:
                block = with_publisher(block, publisher)
            rest.append(with_name(block, name) if name else block)
        rest.append(self.payload)
        after_topic = b"".join(rest)
        topic = b"" if alias_is_known else self.topic_bytes
        return publish_start(publish_head(qos, retain, dup), topic, len(after_topic)) + after_topic

    def _own_properties(self, identifiers: list[int], alias: int, now: float) -> bytes:
        original = self.properties
        if original is None and not identifiers and not alias:
            return b"\x00"
        properties = Properties()
        if original is not None:
            properties.payload_format = original.payload_format
            properties.content_type = original.content_type
            properties.response_topic = original.response_topic
            properties.correlation_data = original.correlation_data
            properties.user = original.user
            if self.expires_at:
                # [MQTT-3.3.2-6] the interval received, less the time the message has waited here.
                properties.message_expiry = max(0, int(self.expires_at - now + 0.999))
        properties.subscription_ids = identifiers
        if alias:
            properties.topic_alias = alias
        return encode_properties(properties, PUBLISH)

    def is_expired(self, now: float) -> bool:
        return self.expires_at != 0.0 and now >= self.expires_at


def with_name(block: bytes, name: bytes) -> bytes:
    """A list of properties, behind its length, with the name put first."""
    kind = _NAMED if len(name) == NAME_BYTES else _WAVE
    return _with_first(block, bytes((kind,)) + name)


def with_publisher(block: bytes, publisher: bytes) -> bytes:
    """A list of properties, behind its length, with the publisher put first."""
    return _with_first(block, bytes((_PUBLISHER,)) + binary(publisher))


def _with_first(block: bytes, first: bytes) -> bytes:
    start = 1
    while block[start - 1] >= 128:
        start += 1
    return encode_varint(len(first) + len(block) - start) + first + block[start:]


def named_at(data: bytes, position: int) -> bool:
    """Whether a name and nothing else is in the list of properties that starts there."""
    return data[position] == NAMED_BLOCK and data[position + 1] == _NAMED


def without_name(body: bytes, position: int) -> tuple[bytes, bytes]:
    """The name in the list of properties that starts at `position`, and the body without it."""
    size, start = _list_at(body, position)
    end = len(body)
    if size == 0 or start >= end:
        return b"", body
    length = NAME_BYTES if body[start] == _NAMED else WAVE_BYTES if body[start] == _WAVE else 0
    if length == 0 or size < 1 + length or start + 1 + length > end:
        return b"", body
    after = start + 1 + length
    rest = encode_varint(size - 1 - length)
    return body[start + 1 : after], body[:position] + rest + body[after:]


def without_publisher(body: bytes, position: int) -> tuple[bytes, bytes]:
    """The publisher in the list of properties that starts there, and the body without it."""
    size, start = _list_at(body, position)
    if size < 3 or start + 3 > len(body) or body[start] != _PUBLISHER:
        return b"", body
    length = body[start + 1] << 8 | body[start + 2]
    after = start + 3 + length
    if size < 3 + length or after > len(body):
        return b"", body
    rest = encode_varint(size - 3 - length)
    return body[start + 3 : after], body[:position] + rest + body[after:]


def _list_at(body: bytes, position: int) -> tuple[int, int]:
    """How long the list of properties is that starts at `position`, and where its first one is."""
    size = 0
    shift = 0
    end = len(body)
    while position < end and shift <= 21:
        size |= (body[position] & 0x7F) << shift
        shift += 7
        position += 1
        if body[position - 1] < 128:
            break
    return size, position
