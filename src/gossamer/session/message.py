"""A publication while the broker holds it: forwarded, kept in queues, retained.

Encodings are made on first need and shared by every receiver. For QoS 0 that is the whole packet;
for QoS 1 and 2 it is what stands before the packet identifier, since only that differs. A packet
with flags, an alias or identifiers of its own is made for its receiver alone (`own_packet`).

Between brokers a *run* goes as one message: many with nothing but their topic, QoS and payload,
published one behind the other, of one size. Queues, windows and stores hold it as they hold any
message; by its name it is told that it is many (`message_names.py`). Names, and who published what
says where it is (`publisher.py`), go with it in properties of neighbours' own
(`link_properties.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from mypy_extensions import i32, mypyc_attr, u8

from gossamer.session.link_properties import with_name, with_publisher
from gossamer.session.message_names import (
    MessageNamer,
    count_of,
    is_run,
    single_names,
)
from gossamer.wire.packets import PUBLISH, V5
from gossamer.wire.properties import Properties
from gossamer.wire.property_codec import encode_properties
from gossamer.wire.publish_codec import IDENTIFIERS, publish_head, publish_start

if TYPE_CHECKING:
    from gossamer.geo.geolocation import Place

# The three shapes (QoS 0, 1, 2) of each of the two protocol versions, and those for neighbours.
_SHAPES_V5: Final = 3
_SHAPES_NAMED: Final = 6
_SHAPES: Final = 9
_NO_SHAPE: Final = 255


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

    def is_run(self) -> bool:
        """Whether it is many, for brokers that know runs."""
        return is_run(self.name)

    def count(self) -> int:
        """How many it is."""
        return count_of(self.name)

    def singles(self) -> list[Message]:
        """Each by itself: what is to reach a client, or a broker that does not know runs."""
        if not self.is_run():
            return [self]
        names = single_names(self.name)
        size = len(self.payload) // len(names)
        return [
            Message(
                self.topic,
                self.payload[place * size : (place + 1) * size],
                self.qos,
                False,
                None,
                0.0,
                self.publisher,
                self.user,
                self.topic_bytes,
                name,
            )
            for place, name in enumerate(names)
        ]

    def is_expired(self, now: float) -> bool:
        return self.expires_at != 0.0 and now >= self.expires_at
