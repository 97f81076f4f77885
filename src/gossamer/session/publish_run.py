"""A run of publications: packets that differ in nothing but their payload and packet identifier.

They lie one behind the other in what was read, each of one size, and go on like that: a receiver of
the same version and QoS gets a copy in which only the identifiers are other ones. For the others a
translation is made, once for all that need the same. Neighbours get the payloads alone, one behind
the other, as one message (`Message.is_run`); `run_of` makes packets of them again.
"""

from __future__ import annotations

from typing import Final

from librt.strings import BytesWriter, write_i32_be
from mypy_extensions import i32, i64, u8

from gossamer.session.message import Message
from gossamer.wire.packets import V5
from gossamer.wire.publish_codec import (
    PUBACK_START,
    PUBREC_START,
    publish_head,
    publish_start,
)

_SHAPES_V5: Final = 3  # behind those of 3.1.1, each by its QoS
_SHAPES: Final = 6
# Of the payloads that go to a neighbour as one message: few enough to be in nobody's way, and many
# enough that what a message costs in itself is shared. Its packet, whatever the topic.
MOST_RUN_BYTES: Final = 65_536
LARGEST_RUN_PACKET: Final = MOST_RUN_BYTES + 65_535 + 64
# What a run is of that came as payloads alone.
_NO_VERSION: Final = -1


class PublishRun:
    """QoS 1 or 2, without flags and properties. `packets` are `count`, the first one's packet
    identifier is at `identifier_at`; each has `size` bytes, the last `payload_size` its payload."""

    __slots__ = (
        "_translated",
        "count",
        "identifier_at",
        "packets",
        "payload_size",
        "qos",
        "size",
        "topic",
        "version",
    )

    def __init__(
        self,
        topic: bytes,
        version: int,
        qos: int,
        packets: bytes,
        count: int,
        size: int,
        identifier_at: int,
        payload_size: int,
    ) -> None:
        self.topic = topic
        self.version = version
        self.qos = qos
        self.packets = packets
        self.size = size
        self.count = count
        self.identifier_at = identifier_at
        self.payload_size = payload_size
        self._translated: list[bytes] | None = None

    def acknowledgements(self) -> bytes:
        """PUBACK or PUBREC without a reason for each [MQTT-2.2.1-5]."""
        answers = BytesWriter()
        packets = self.packets
        start: i64 = PUBACK_START if self.qos == 1 else PUBREC_START
        at: i64 = self.identifier_at
        end: i64 = len(packets)
        size: i64 = self.size
        while at < end:
            write_i32_be(answers, i32(start | packets[at] << 8 | packets[at + 1]))
            at += size
        return answers.getvalue()

    def payloads(self) -> bytes:
        """One behind the other."""
        packets = self.packets
        payload_size = self.payload_size
        if self.size == payload_size:
            return packets
        block = BytesWriter()
        end = self.size
        while end <= len(packets):
            block.write(packets[end - payload_size : end])
            end += self.size
        return block.getvalue()

    def encoded(self, version: int, qos: int) -> bytes:
        """The packets in that version and at that QoS; their identifiers mean nothing."""
        if version == self.version and qos == self.qos:
            return self.packets
        shape = _SHAPES_V5 + qos if version == V5 else qos
        known = self._translated
        if known is None:
            known = [b""] * _SHAPES
            self._translated = known
        if not known[shape]:
            known[shape] = self._translate(version, qos)
        return known[shape]

    def _translate(self, version: int, qos: int) -> bytes:
        between = b"\0\0" if qos else b""
        if version == V5:
            between += b"\0"  # no properties
        payload_size = self.payload_size
        rest = len(between) + payload_size
        head = publish_start(publish_head(qos, False, False), self.topic, rest) + between
        packets = self.packets
        translation = BytesWriter()
        end = 0
        for _ in range(self.count):
            end += self.size
            translation.write(head)
            translation.write(packets[end - payload_size : end])
        return translation.getvalue()

    def numbered(self, version: int, qos: int, start: int, count: int, first: int) -> bytes:
        """So many of the packets, without those before `start`, for one receiver: under the
        identifiers from `first` on [MQTT-2.2.1-4]."""
        packets = self.encoded(version, qos)
        size: i64 = len(packets) // self.count
        if count != self.count:
            packets = packets[start * size : (start + count) * size]
        numbered = BytesWriter()
        numbered.write(packets)
        at: i64 = size - i64(self.payload_size) - (3 if version == V5 else 2)
        end: i64 = len(packets)
        number: i64 = first
        while at < end:
            numbered[at] = u8(number >> 8)
            numbered[at + 1] = u8(number & 0xFF)
            at += size
            number += 1
        return numbered.getvalue()


def run_of(message: Message) -> PublishRun:
    """The packets of a run that came from a neighbour."""
    count = message.count()
    size = len(message.payload) // count
    return PublishRun(
        message.topic_bytes, _NO_VERSION, message.qos, message.payload, count, size, 0, size
    )
