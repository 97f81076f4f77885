"""A message in bytes: packed as a whole, and back; and what it costs in memory and in the store.

Packed, for whoever keeps messages, or sends one inside another, it is

    version, flags, topic, publisher, user, name, when it expires, properties, payload

No field is shorter than MQTT allows: what a client may publish can be packed. The first byte is
the version of this form; what does not read back raises ValueError.
"""

import struct
from sys import getsizeof
from typing import Final

from gossamer.budget.object_bytes import object_bytes
from gossamer.session.message import Message
from gossamer.session.message_names import is_name
from gossamer.wire.errors import ProtocolError
from gossamer.wire.packets import PUBLISH
from gossamer.wire.properties import Properties
from gossamer.wire.property_codec import encode_properties, read_properties
from gossamer.wire.scalars import Reader, binary

VERSION: Final = 1
_RETAIN: Final = 0x04
_HAS_PROPERTIES: Final = 0x08
_FLAGS: Final = 0x0F
_QOS: Final = 0x03
_EXPIRY: Final = struct.Struct(">d")
_TOPIC_AT: Final = 4  # behind version, flags and its length
_FIXED_BYTES: Final = 2 + 4 * 2 + 8  # version and flags, four lengths, when it expires
# As many User Properties as a packet may have: they were limited where the message was published.
_MOST_PROPERTIES: Final = 65_535

# The object, one of its encodings and the headers of its strings.
MESSAGE_BYTES: Final = object_bytes(Message) + 216
PROPERTIES_BYTES: Final = 384
# A pair of User Properties: the tuple, its place in the list, the headers of two texts.
PAIR_BYTES: Final = 184
# What a message that waits in the store costs there beside its content: a row of small columns.
STORED_BYTES: Final = 100
_STORED_PAIR_BYTES: Final = 8


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


def packed_bytes(message: Message) -> int:
    """How many `packed_message` makes."""
    size = _FIXED_BYTES + len(message.topic_bytes) + len(message.name) + len(message.payload)
    size += _utf8_bytes(message.publisher) + _utf8_bytes(message.user)
    properties = message.properties
    return size if properties is None else size + len(encode_properties(properties, PUBLISH))


def packed_topic(data: bytes, start: int = 0) -> str:
    """Of what `packed_message` made, from there on."""
    first = start + _TOPIC_AT
    return data[first : first + (data[first - 2] << 8) + data[first - 1]].decode()


def unpacked_message(data: bytes, start: int = 0) -> Message:
    """What `packed_message` made, from there to the end."""
    reader = Reader(data, start, len(data))
    try:
        version = reader.byte("version")
        flags = reader.byte("flags")
        if version != VERSION or flags > _FLAGS or flags & _QOS > 2:
            raise ValueError(f"a message packed in the unknown form {version}")
        topic = reader.text("topic")
        # No text of a packet: a user that a token named may have U+0000 in its name.
        publisher = reader.binary("publisher").decode()
        user = reader.binary("user").decode()
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
    if (name and not is_name(name)) or not 0.0 <= expires_at < 1e18:
        raise ValueError("a packed message that is malformed")
    payload = data[reader.at :]
    is_retained = flags & _RETAIN != 0
    qos = flags & _QOS
    return Message(
        topic, payload, qos, is_retained, properties, expires_at, publisher, user, name=name
    )


def message_bytes(message: Message) -> int:
    """Of a message that is kept: not what encodings of it cost, which its receivers share."""
    size = MESSAGE_BYTES + getsizeof(message.topic) + len(message.topic_bytes)
    size += len(message.payload)
    properties = message.properties
    return size if properties is None else size + properties_bytes(properties)


def properties_bytes(properties: Properties) -> int:
    size = PROPERTIES_BYTES
    if properties.content_type is not None:
        size += getsizeof(properties.content_type)
    if properties.response_topic is not None:
        size += getsizeof(properties.response_topic)
    if properties.correlation_data is not None:
        size += len(properties.correlation_data)
    return size + pairs_bytes(properties.user)


def pairs_bytes(pairs: list[tuple[str, str]]) -> int:
    size = 0
    for name, value in pairs:
        # A text may take four bytes for each letter: its letters do not tell its size.
        size += PAIR_BYTES + getsizeof(name) + getsizeof(value)
    return size


def stored_bytes(message: Message) -> int:
    """Of a message that waits in the store; the same on every machine, for sums of it are kept."""
    size = STORED_BYTES + len(message.topic_bytes) + len(message.payload)
    properties = message.properties
    if properties is None:
        return size
    if properties.content_type is not None:
        size += _utf8_bytes(properties.content_type)
    if properties.response_topic is not None:
        size += _utf8_bytes(properties.response_topic)
    if properties.correlation_data is not None:
        size += len(properties.correlation_data)
    for name, value in properties.user:
        size += _STORED_PAIR_BYTES + _utf8_bytes(name) + _utf8_bytes(value)
    return size


def _utf8_bytes(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())
