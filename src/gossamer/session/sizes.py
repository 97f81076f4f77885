"""What a message costs in memory: its topic, payload and properties, and the objects of them."""

from sys import getsizeof
from typing import Final

from gossamer.session.message import Message
from gossamer.wire.properties import Properties

# The object, its encodings' list and the headers of its strings.
MESSAGE_BYTES: Final = 400
PROPERTIES_BYTES: Final = 384
# A pair of User Properties: the tuple, its place in the list, the headers of two texts.
PAIR_BYTES: Final = 184


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


# What a message that waits in the store costs there beside its content: a row of small columns.
STORED_BYTES: Final = 100
_STORED_PAIR_BYTES: Final = 8


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
