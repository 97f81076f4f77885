"""Properties to bytes and back, driven by the property table."""

from typing import Any, Final, cast

from gossamer.wire.errors import ProtocolError
from gossamer.wire.frames import encode_varint
from gossamer.wire.packets import PUBLISH
from gossamer.wire.properties import Properties
from gossamer.wire.property_table import (
    BINARY,
    BYTE,
    ROW_OF,
    ROWS_IN,
    TEXT,
    TEXT_PAIR,
    TWO_BYTES,
    USER_PROPERTY,
    VARINT,
    PropertyRow,
)
from gossamer.wire.reasons import MALFORMED_PACKET, PROTOCOL_ERROR, QUOTA_EXCEEDED
from gossamer.wire.scalars import (
    Reader,
    binary,
    four_bytes,
    text,
    truncated,
    two_bytes,
)

# Far more than any application sends; a stranger's packet of tiny pairs costs memory many times
# its own size, so their number is bounded apart from the packet's length.
MAX_USER_PROPERTIES: Final = 1_000
# Geolocation entries are user properties with a limit of their own: an area costs one, a line one
# a point, and whoever reads them refuses too many with words. This only bounds what is held.
LOCATION_PREFIX: Final = "gpl_"
MAX_LOCATION_PROPERTIES: Final = 12_000


def read_properties(reader: Reader, kind: int, max_user_properties: int) -> Properties | None:
    """The property block at the reader; None if it is empty. `kind` may also be WILL."""
    length = reader.varint("property length")
    if length == 0:
        return None
    end = reader.at + length
    if end > reader.end:
        raise truncated("properties")
    block = Reader(reader.body, reader.at, end)
    properties = Properties()
    others_left = max_user_properties
    locations_left = MAX_LOCATION_PROPERTIES
    while block.at < end:
        identifier = block.varint("property identifier")
        if identifier == USER_PROPERTY:  # every packet that has properties may carry these
            # [MQTT-1.5.7-1]
            name = block.text("user property name")
            if name.startswith(LOCATION_PREFIX):
                locations_left -= 1
            else:
                others_left -= 1
            if locations_left < 0 or others_left < 0:
                # An imposed limit was passed, which is what 0x97 says; the packet itself is legal.
                most = max_user_properties if others_left < 0 else MAX_LOCATION_PROPERTIES
                raise ProtocolError(QUOTA_EXCEEDED, f"more than {most} user properties")
            properties.user.append((name, block.text("user property value")))
            continue
        row = ROW_OF[identifier] if identifier < len(ROW_OF) else None
        if row is None:
            raise ProtocolError(MALFORMED_PACKET, f"unknown property 0x{identifier:02x}")
        if kind not in row.packets:
            raise ProtocolError(MALFORMED_PACKET, f"{row.title} does not belong in this packet")
        _read_value(block, row, kind, properties)
    reader.at = end
    if properties.authentication_data is not None and properties.authentication_method is None:
        raise ProtocolError(PROTOCOL_ERROR, "authentication data without authentication method")
    response_topic = properties.response_topic
    if response_topic is not None and ("+" in response_topic or "#" in response_topic):
        # [MQTT-3.3.2-14]; 0x90 would speak of the topic name.
        raise ProtocolError(PROTOCOL_ERROR, "response topic contains a wildcard")
    if response_topic == "":  # [MQTT-4.7.3-1]
        raise ProtocolError(PROTOCOL_ERROR, "response topic is empty")
    return properties


def _read_value(block: Reader, row: PropertyRow, kind: int, properties: Properties) -> None:
    if row.type == VARINT:
        number = _within(block.varint(row.title), row)
        if properties.subscription_ids and kind != PUBLISH:
            raise _duplicate(row)
        properties.subscription_ids.append(number)
        return
    value: int | str | bytes
    if row.type == TEXT:  # response topic and content type too: [MQTT-3.3.2-13], [MQTT-3.3.2-19]
        value = block.text(row.title)
    elif row.type == BINARY:
        value = block.binary(row.title)
    elif row.type == BYTE:
        value = _within(block.byte(row.title), row)
    elif row.type == TWO_BYTES:
        value = _within(block.two_bytes(row.title), row)
    else:
        value = _within(block.four_bytes(row.title), row)
    if getattr(properties, row.name) is not None:
        raise _duplicate(row)
    setattr(properties, row.name, value)


def _within(number: int, row: PropertyRow) -> int:
    if number < row.minimum or number > row.maximum:
        raise ProtocolError(row.limit_reason, f"{row.title} is {number}, which is not allowed")
    return number


def _duplicate(row: PropertyRow) -> ProtocolError:
    return ProtocolError(PROTOCOL_ERROR, f"{row.title} is there twice")


def encode_properties(properties: Properties | None, kind: int) -> bytes:
    """The property block of a packet of type `kind` (or WILL), behind its length.

    Only what that packet may carry is written.
    """
    if properties is None:
        return b"\0"  # [MQTT-2.2.2-1]
    parts: list[bytes] = []
    for row in ROWS_IN[kind]:
        value: Any = getattr(properties, row.name)
        if value is not None:
            _write(parts, row, value)
    block = b"".join(parts)
    return encode_varint(len(block)) + block


def _write(parts: list[bytes], row: PropertyRow, value: Any) -> None:
    identifier = bytes([row.identifier])
    if row.type == TEXT_PAIR:
        for name, said in cast(list[tuple[str, str]], value):
            parts.append(identifier)
            parts.append(text(name))
            parts.append(text(said))
    elif row.type == VARINT:
        for number in cast(list[int], value):
            parts.append(identifier)
            parts.append(encode_varint(number))
    else:
        parts.append(identifier)
        if row.type == TEXT:
            parts.append(text(cast(str, value)))
        elif row.type == BINARY:
            parts.append(binary(cast(bytes, value)))
        elif row.type == BYTE:
            parts.append(bytes([cast(int, value)]))
        elif row.type == TWO_BYTES:
            parts.append(two_bytes(cast(int, value)))
        else:
            parts.append(four_bytes(cast(int, value)))
