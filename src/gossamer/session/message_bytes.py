"""A whole message as bytes, and back: for whoever keeps messages, or sends one inside another.

    version, flags, topic, publisher, user, name, when it expires, properties, payload

No field is shorter than MQTT allows: what a client may publish can be packed. The first byte is
the version of this form; what does not read back raises ValueError.
"""

import struct
from typing import Final

from gossamer.session.message import NAME_BYTES, WAVE_BYTES, Message
from gossamer.wire.errors import ProtocolError
from gossamer.wire.packets import PUBLISH
from gossamer.wire.property_codec import encode_properties, read_properties
from gossamer.wire.scalars import Reader, binary

VERSION: Final = 1
_RETAIN: Final = 0x04
_HAS_PROPERTIES: Final = 0x08
_FLAGS: Final = 0x0F
_QOS: Final = 0x03
_EXPIRY: Final = struct.Struct(">d")
# As many User Properties as a packet may have: they were limited where the message was published.
_MOST_PROPERTIES: Final = 65_535


def packed_message(message: Message) -> bytes:
    """ValueError if a field is longer than MQTT has them."""
    flags = message.qos | (_RETAIN if message.retain else 0)
    properties = message.properties
    if properties is not None:
        flags |= _HAS_PROPERTIES
    return b"".join(
        (
            bytes((VERSION, flags)),
            binary(message.topic_bytes),
            binary(message.publisher.encode()),
            binary(message.user.encode()),
            binary(message.name),
            _EXPIRY.pack(message.expires_at),
            b"" if properties is None else encode_properties(properties, PUBLISH),
            message.payload,
        )
    )


def unpacked_message(data: bytes) -> Message:
    """What `packed_message` made."""
    reader = Reader(data, 0, len(data))
    try:
        version = reader.byte("version")
        flags = reader.byte("flags")
        if version != VERSION or flags > _FLAGS or flags & _QOS > 2:
            raise ValueError(f"a message packed in the unknown form {version}")
        topic = reader.text("topic")
        publisher = reader.text("publisher")
        user = reader.text("user")
        name = reader.binary("name")
        at = reader.at
        reader.at = at + _EXPIRY.size
        if reader.at > len(data):
            raise ValueError("a truncated packed message")
        expires_at: float = _EXPIRY.unpack_from(data, at)[0]
        properties = None
        if flags & _HAS_PROPERTIES:
            properties = read_properties(reader, PUBLISH, _MOST_PROPERTIES)
    except ProtocolError as error:
        raise ValueError(f"a packed message is damaged: {error.text}") from None
    if len(name) not in (0, NAME_BYTES, WAVE_BYTES) or not 0.0 <= expires_at < 1e18:
        raise ValueError("a packed message that is malformed")
    payload = data[reader.at :]
    is_retained = flags & _RETAIN != 0
    qos = flags & _QOS
    return Message(
        topic, payload, qos, is_retained, properties, expires_at, publisher, user, name=name
    )
