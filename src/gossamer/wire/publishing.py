"""The hot path: a PUBLISH in pieces that many receivers share, and bare acknowledgements.

A message at QoS 1 or 2 differs between receivers in two bytes only, its packet identifier:
`front + two_bytes(packet_id) + tail`. At QoS 0 it is `front + tail`, the same for all.
"""

from gossamer.wire.frames import encode_varint
from gossamer.wire.packets import PUBLISH, V5
from gossamer.wire.properties import Properties
from gossamer.wire.property_codec import encode_properties
from gossamer.wire.publish_codec import acknowledgement_head, publish_head
from gossamer.wire.scalars import text, two_bytes

__all__ = [
    "bare_acknowledgement",
    "encode_properties",
    "publish_front",
    "publish_head",
    "publish_tail",
    "two_bytes",
]


def publish_tail(payload: bytes, properties: Properties | None, version: int) -> bytes:
    """What follows the packet identifier: the properties, if there are such, and the payload."""
    if version != V5:
        return payload
    if properties is None:
        return b"\0" + payload
    return encode_properties(properties, PUBLISH) + payload


def publish_front(topic: str, qos: int, retain: bool, dup: bool, tail_length: int) -> bytes:
    """The fixed header and the topic, for a tail of that length."""
    name = text(topic)
    length = len(name) + tail_length
    if qos:
        length += 2
    return bytes([publish_head(qos, retain, dup)]) + encode_varint(length) + name


def bare_acknowledgement(kind: int, packet_id: int) -> bytes:
    """A PUBACK, PUBREC, PUBREL or PUBCOMP that says success, the same in both versions."""
    return bytes([acknowledgement_head(kind), 2, packet_id >> 8, packet_id & 0xFF])
