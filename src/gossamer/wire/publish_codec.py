"""PUBLISH and its acknowledgements: the packets that come by the million.

Decoding a PUBLISH works on positions and makes a `Reader` only if there are properties to read. The
broker looks into plain ones by itself (`broker/publish.py`); whatever is sent begins with a
`publish_start`.
"""

from typing import Final

from gossamer.wire.errors import ProtocolError
from gossamer.wire.frames import encode_varint, frame
from gossamer.wire.packets import PUBLISH, PUBREL, V5, Acknowledgement, Publish
from gossamer.wire.properties import Properties
from gossamer.wire.property_codec import encode_properties, read_properties
from gossamer.wire.reason_table import check_reason
from gossamer.wire.reasons import MALFORMED_PACKET, PROTOCOL_ERROR
from gossamer.wire.scalars import (
    Reader,
    binary,
    check_topic_name,
    decode_text,
    truncated,
    two_bytes,
)

_RETAIN: Final = 0x01
_DUP: Final = 0x08

# All 65,536 packet identifiers as they stand on the wire: a look-up is cheaper than an encoding.
IDENTIFIERS: Final[list[bytes]] = [number.to_bytes(2, "big") for number in range(65_536)]

# Acknowledgements without a reason, up to the identifier.
PUBACK_HEAD: Final = b"\x40\x02"
PUBREC_HEAD: Final = b"\x50\x02"
PUBREL_HEAD: Final = b"\x62\x02"
PUBCOMP_HEAD: Final = b"\x70\x02"

# The same as numbers, to which the identifier is added: for runs of them.
ACKNOWLEDGEMENT_BYTES: Final = 4
PUBACK_START: Final = 0x40020000
PUBREC_START: Final = 0x50020000
PUBREL_START: Final = 0x62020000
PUBCOMP_START: Final = 0x70020000


def decode_publish(head: int, body: bytes, version: int, max_user_properties: int) -> Publish:
    qos = (head >> 1) & 3
    if qos == 3:  # [MQTT-3.3.1-4]
        raise ProtocolError(MALFORMED_PACKET, "QoS is 3")
    if qos == 0 and head & _DUP:  # [MQTT-3.3.1-2]
        raise ProtocolError(MALFORMED_PACKET, "DUP is set at QoS 0")
    size = len(body)
    if size < 2:
        raise truncated("topic name")
    at = 2 + ((body[0] << 8) | body[1])
    if at > size:
        raise truncated("topic name")
    topic = decode_text(body, 2, at, "topic name")  # [MQTT-3.3.2-1]
    packet_id = 0
    if qos:
        if at + 2 > size:
            raise truncated("packet identifier")
        packet_id = (body[at] << 8) | body[at + 1]
        at += 2
        if packet_id == 0:  # [MQTT-2.2.1-3]
            raise ProtocolError(PROTOCOL_ERROR, "packet identifier is 0")
    properties: Properties | None = None
    if version == V5:
        if at < size and body[at] == 0:
            at += 1
        else:
            reader = Reader(body, at, size)
            properties = read_properties(reader, PUBLISH, max_user_properties)
            at = reader.at
    if topic:
        check_topic_name(topic, "topic name")
    elif properties is None or properties.topic_alias is None:
        raise ProtocolError(PROTOCOL_ERROR, "topic name is empty and there is no topic alias")
    return Publish(
        topic,
        body[at:],
        qos,
        head & _RETAIN != 0,
        head & _DUP != 0,
        packet_id,
        properties,
    )


def publish_head(qos: int, retain: bool, dup: bool) -> int:
    """The first byte of a PUBLISH."""
    head = PUBLISH << 4 | qos << 1
    if retain:
        head |= _RETAIN
    if dup:
        head |= _DUP
    return head


def publish_start(head: int, topic: bytes, rest: int) -> bytes:
    """A PUBLISH to the end of its topic name; so many bytes follow."""
    size = 2 + len(topic) + rest
    return bytes((head,)) + encode_varint(size) + binary(topic)


def encode_publish(packet: Publish, version: int) -> bytes:
    topic = packet.topic.encode()
    identifier = two_bytes(packet.packet_id) if packet.qos else b""
    block = encode_properties(packet.properties, PUBLISH) if version == V5 else b""
    rest = len(identifier) + len(block) + len(packet.payload)
    start = publish_start(publish_head(packet.qos, packet.retain, packet.dup), topic, rest)
    return b"".join((start, identifier, block, packet.payload))


def decode_acknowledgement(
    kind: int, body: bytes, version: int, max_user_properties: int
) -> Acknowledgement:
    reader = Reader(body, 0, len(body))
    packet_id = reader.packet_id()
    if version != V5 or len(body) == 2:
        reader.finish()
        return Acknowledgement(kind, packet_id)
    reason = check_reason(kind, reader.byte("reason code"))
    properties = None
    if len(body) > 3:
        properties = read_properties(reader, kind, max_user_properties)
        reader.finish()
    return Acknowledgement(kind, packet_id, reason, properties)


def acknowledgement_head(kind: int) -> int:
    """The first byte of a packet of that kind; PUBREL's flags are fixed at 2. [MQTT-3.6.1-1]"""
    return kind << 4 | 2 if kind == PUBREL else kind << 4


def encode_acknowledgement(packet: Acknowledgement, version: int) -> bytes:
    head = acknowledgement_head(packet.kind)
    body = two_bytes(packet.packet_id)
    if version == V5:
        if packet.properties is not None:
            block = encode_properties(packet.properties, packet.kind)
            return frame(head, body + bytes([packet.reason]) + block)
        if packet.reason:
            return frame(head, body + bytes([packet.reason]))
    return frame(head, body)
