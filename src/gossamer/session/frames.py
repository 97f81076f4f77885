"""PUBLISH packets that fit one receiver only, and the small answers to a packet identifier."""

from typing import Final

from gossamer.session.message import DUP_BIT, RETAIN_BIT, Message
from gossamer.session.naming import with_name
from gossamer.wire.frames import encode_varint
from gossamer.wire.packets import PUBLISH, V5
from gossamer.wire.properties import Properties
from gossamer.wire.property_codec import encode_properties

# All 65,536 packet identifiers as they stand on the wire: a look-up is cheaper than an encoding.
IDENTIFIERS: Final[list[bytes]] = [number.to_bytes(2, "big") for number in range(65_536)]

PUBACK_HEAD: Final = b"\x40\x02"
PUBREC_HEAD: Final = b"\x50\x02"
PUBREL_HEAD: Final = b"\x62\x02"
PUBCOMP_HEAD: Final = b"\x70\x02"


def special_publish(
    message: Message,
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
) -> bytes:
    """A PUBLISH with flags, remaining expiry, subscription identifiers or an alias of its own."""
    first = 0x30 | qos << 1
    if retain:
        first |= RETAIN_BIT
    if dup:
        first |= DUP_BIT
    topic = b"" if alias_is_known else message.topic_bytes
    body = [len(topic).to_bytes(2, "big"), topic]
    if qos:  # [MQTT-2.2.1-2]
        body.append(IDENTIFIERS[packet_id])
    if version == V5:
        block = _properties_for(message, identifiers, alias, now)
        body.append(with_name(block, name) if name else block)
    body.append(message.payload)
    rest = b"".join(body)
    return bytes((first,)) + encode_varint(len(rest)) + rest


def _properties_for(message: Message, identifiers: list[int], alias: int, now: float) -> bytes:
    original = message.properties
    if original is None and not identifiers and not alias:
        return b"\x00"
    properties = Properties()
    if original is not None:
        properties.payload_format = original.payload_format
        properties.content_type = original.content_type
        properties.response_topic = original.response_topic
        properties.correlation_data = original.correlation_data
        properties.user = original.user
        if message.expires_at:
            # [MQTT-3.3.2-6] the interval received, less the time the message has waited here.
            properties.message_expiry = max(0, int(message.expires_at - now + 0.999))
    properties.subscription_ids = identifiers
    if alias:
        properties.topic_alias = alias
    return encode_properties(properties, PUBLISH)
