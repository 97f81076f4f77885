"""The properties of MQTT 5.0 (table 2-4 of the standard) as data.

A row names the attribute of `Properties` that holds the value. Decoding, encoding and the tests
all read this one table.
"""

from typing import Final

from gossamer.wire.packets import (
    AUTH,
    CONNACK,
    CONNECT,
    DISCONNECT,
    PINGREQ,
    PUBACK,
    PUBCOMP,
    PUBLISH,
    PUBREC,
    PUBREL,
    SUBACK,
    SUBSCRIBE,
    UNSUBACK,
    UNSUBSCRIBE,
)
from gossamer.wire.reasons import PROTOCOL_ERROR, TOPIC_ALIAS_INVALID

# A will has properties of its own inside CONNECT; 0 is no packet's type number.
WILL: Final = 0

BYTE: Final = 1
TWO_BYTES: Final = 2
FOUR_BYTES: Final = 4
VARINT: Final = 5
TEXT: Final = 6
BINARY: Final = 7
TEXT_PAIR: Final = 8

USER_PROPERTY: Final = 0x26

_LARGEST: Final[dict[int, int]] = {
    BYTE: 0xFF,
    TWO_BYTES: 0xFFFF,
    FOUR_BYTES: 0xFFFFFFFF,
    VARINT: 268_435_455,
}


class PropertyRow:
    """One property: where it may stand, how it is spelt, what it may say."""

    __slots__ = (
        "identifier",
        "limit_reason",
        "maximum",
        "minimum",
        "name",
        "packets",
        "repeatable_in",
        "title",
        "type",
    )

    def __init__(
        self,
        identifier: int,
        name: str,
        type: int,
        packets: tuple[int, ...],
        repeatable_in: tuple[int, ...] = (),
        minimum: int = 0,
        maximum: int | None = None,
        limit_reason: int = PROTOCOL_ERROR,
    ) -> None:
        self.identifier = identifier
        self.name = name
        self.title = "property " + name.replace("_", " ")
        self.type = type
        self.packets = packets
        self.repeatable_in = repeatable_in
        self.minimum = minimum
        self.maximum = _LARGEST.get(type, 0) if maximum is None else maximum
        self.limit_reason = limit_reason


_MESSAGE: Final = (PUBLISH, WILL)
_ANSWERS: Final = (CONNACK, PUBACK, PUBREC, PUBREL, PUBCOMP, SUBACK, UNSUBACK, DISCONNECT, AUTH)
# PINGREQ is Gossamer's own: a client that asked for it reports its position with a ping.
_EVERYWHERE: Final = (CONNECT, PUBLISH, WILL, SUBSCRIBE, UNSUBSCRIBE, PINGREQ, *_ANSWERS)
_OPENING: Final = (CONNECT, CONNACK)

PROPERTY_TABLE: Final[tuple[PropertyRow, ...]] = (
    PropertyRow(0x01, "payload_format", BYTE, _MESSAGE, maximum=1),
    PropertyRow(0x02, "message_expiry", FOUR_BYTES, _MESSAGE),
    PropertyRow(0x03, "content_type", TEXT, _MESSAGE),
    PropertyRow(0x08, "response_topic", TEXT, _MESSAGE),
    PropertyRow(0x09, "correlation_data", BINARY, _MESSAGE),
    PropertyRow(0x0B, "subscription_ids", VARINT, (PUBLISH, SUBSCRIBE), (PUBLISH,), minimum=1),
    PropertyRow(0x11, "session_expiry", FOUR_BYTES, (*_OPENING, DISCONNECT)),
    PropertyRow(0x12, "assigned_client_id", TEXT, (CONNACK,)),
    PropertyRow(0x13, "server_keep_alive", TWO_BYTES, (CONNACK,)),
    PropertyRow(0x15, "authentication_method", TEXT, (*_OPENING, AUTH)),
    PropertyRow(0x16, "authentication_data", BINARY, (*_OPENING, AUTH)),
    PropertyRow(0x17, "request_problem_information", BYTE, (CONNECT,), maximum=1),
    PropertyRow(0x18, "will_delay", FOUR_BYTES, (WILL,)),
    PropertyRow(0x19, "request_response_information", BYTE, (CONNECT,), maximum=1),
    PropertyRow(0x1A, "response_information", TEXT, (CONNACK,)),
    PropertyRow(0x1C, "server_reference", TEXT, (CONNACK, DISCONNECT)),
    PropertyRow(0x1F, "reason_string", TEXT, _ANSWERS),
    PropertyRow(0x21, "receive_maximum", TWO_BYTES, _OPENING, minimum=1),
    PropertyRow(0x22, "topic_alias_maximum", TWO_BYTES, _OPENING),
    PropertyRow(  # [MQTT-3.3.2-8]
        0x23, "topic_alias", TWO_BYTES, (PUBLISH,), minimum=1, limit_reason=TOPIC_ALIAS_INVALID
    ),
    PropertyRow(0x24, "maximum_qos", BYTE, (CONNACK,), maximum=1),
    PropertyRow(0x25, "retain_available", BYTE, (CONNACK,), maximum=1),
    PropertyRow(USER_PROPERTY, "user", TEXT_PAIR, _EVERYWHERE, _EVERYWHERE),
    PropertyRow(0x27, "maximum_packet_size", FOUR_BYTES, _OPENING, minimum=1),
    PropertyRow(0x28, "wildcard_subscription_available", BYTE, (CONNACK,), maximum=1),
    PropertyRow(0x29, "subscription_ids_available", BYTE, (CONNACK,), maximum=1),
    PropertyRow(0x2A, "shared_subscription_available", BYTE, (CONNACK,), maximum=1),
)


def _by_identifier() -> list[PropertyRow | None]:
    rows: list[PropertyRow | None] = [None] * (PROPERTY_TABLE[-1].identifier + 1)
    for row in PROPERTY_TABLE:
        rows[row.identifier] = row
    return rows


def _by_packet() -> list[list[PropertyRow]]:
    return [[row for row in PROPERTY_TABLE if kind in row.packets] for kind in range(AUTH + 1)]


# Indexed by property identifier; None where the standard has none.
ROW_OF: Final[list[PropertyRow | None]] = _by_identifier()

# Indexed by packet type (and WILL): what it may carry, in the order of encoding.
ROWS_IN: Final[list[list[PropertyRow]]] = _by_packet()
