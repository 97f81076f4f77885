"""Which reason codes each packet may carry (the tables of the standard's chapter 3), as data."""

from typing import Final

from gossamer.wire.errors import ProtocolError
from gossamer.wire.packets import (
    AUTH,
    CONNACK,
    DISCONNECT,
    PUBACK,
    PUBCOMP,
    PUBREC,
    PUBREL,
    SUBACK,
    UNSUBACK,
)
from gossamer.wire.reasons import (
    BAD_AUTHENTICATION_METHOD,
    BAD_USER_NAME_OR_PASSWORD,
    NOT_AUTHORIZED,
    PROTOCOL_ERROR,
    SERVER_SHUTTING_DOWN,
    SERVER_UNAVAILABLE,
    UNSPECIFIED_ERROR,
    V311_CONNACK,
)

_PUBLISH_ANSWERS: Final = frozenset({0x00, 0x10, 0x80, 0x83, 0x87, 0x90, 0x91, 0x97, 0x99})
_RELEASE_ANSWERS: Final = frozenset({0x00, 0x92})

# [MQTT-3.2.2-8], [MQTT-3.4.2-1], [MQTT-3.5.2-1], [MQTT-3.6.2-1], [MQTT-3.7.2-1], [MQTT-3.9.3-2],
# [MQTT-3.11.3-2], [MQTT-3.14.2-1], [MQTT-3.15.2-1]
LEGAL_REASONS: Final[dict[int, frozenset[int]]] = {
    CONNACK: frozenset(
        {0x00, *range(0x80, 0x8B), 0x8C, 0x90, 0x95, 0x97, *range(0x99, 0x9E), 0x9F}
    ),
    PUBACK: _PUBLISH_ANSWERS,
    PUBREC: _PUBLISH_ANSWERS,
    PUBREL: _RELEASE_ANSWERS,
    PUBCOMP: _RELEASE_ANSWERS,
    SUBACK: frozenset({0x00, 0x01, 0x02, 0x80, 0x83, 0x87, 0x8F, 0x91, 0x97, 0x9E, 0xA1, 0xA2}),
    UNSUBACK: frozenset({0x00, 0x11, 0x80, 0x83, 0x87, 0x8F, 0x91}),
    DISCONNECT: frozenset(
        {0x00, 0x04, *range(0x80, 0x84), 0x87, 0x89, 0x8B, *range(0x8D, 0x91), *range(0x93, 0xA3)}
    ),
    AUTH: frozenset({0x00, 0x18, 0x19}),
}

V311_SUBACK_REASONS: Final = frozenset({0x00, 0x01, 0x02, 0x80})

# 3.1.1 has no other way to refuse a subscription. [MQTT-3.9.3-2]
V311_SUBACK_FAILURE: Final = 0x80

# 3.1.1's "server unavailable": the least wrong code for a refusal that it has no word for.
V311_CONNACK_OTHER: Final = 3

# What each return code of a 3.1.1 CONNACK means, as the MQTT 5 code that is closest to it.
V311_CONNACK_MEANING: Final[tuple[int, ...]] = (0x00, 0x84, 0x85, 0x88, 0x86, 0x87)

# The nearest that a packet may say, where it may not say what was meant.
_SUBSTITUTES: Final[dict[tuple[int, int], int]] = {
    (CONNACK, SERVER_SHUTTING_DOWN): SERVER_UNAVAILABLE,
    (DISCONNECT, BAD_USER_NAME_OR_PASSWORD): NOT_AUTHORIZED,
    (DISCONNECT, BAD_AUTHENTICATION_METHOD): NOT_AUTHORIZED,
}


def legal_reason(kind: int, reason: int) -> int:
    """`reason`, or what is nearest to it among those that a packet of that kind may carry."""
    if reason in LEGAL_REASONS[kind]:
        return reason
    return _SUBSTITUTES.get((kind, reason), UNSPECIFIED_ERROR)


def check_reason(kind: int, reason: int) -> int:
    """`reason`, if MQTT 5 allows it in a packet of that kind."""
    if reason not in LEGAL_REASONS[kind]:
        raise ProtocolError(
            PROTOCOL_ERROR, f"reason code 0x{reason:02x} does not belong in this packet"
        )
    return reason


def v311_return_code(reason: int) -> int:
    """What a 3.1.1 CONNACK says for an MQTT 5 reason; a return code passes as it is."""
    if reason < len(V311_CONNACK_MEANING):
        return reason
    return V311_CONNACK.get(reason, V311_CONNACK_OTHER)
