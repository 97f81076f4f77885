"""One packet's bytes to its object and back, for MQTT 3.1.1 (version 4) and 5.0 (version 5).

`decode` raises nothing but ProtocolError whatever the bytes, and never allocates more than a
multiple of their number. Both directions are covered: the same codec serves the broker, the
client and the links between brokers.
"""

from typing import Final

from gossamer.wire.connect_codec import (
    decode_connack,
    decode_connect,
    encode_connack,
    encode_connect,
)
from gossamer.wire.errors import ProtocolError
from gossamer.wire.frames import frame
from gossamer.wire.packets import (
    AUTH,
    CONNACK,
    CONNECT,
    DISCONNECT,
    PINGREQ,
    PINGRESP,
    PUBACK,
    PUBCOMP,
    PUBLISH,
    PUBREL,
    SUBACK,
    SUBSCRIBE,
    UNSUBACK,
    UNSUBSCRIBE,
    V5,
    Acknowledgement,
    Auth,
    Connack,
    Connect,
    Disconnect,
    Packet,
    Pingreq,
    Pingresp,
    Publish,
    Suback,
    Subscribe,
    Unsuback,
    Unsubscribe,
)
from gossamer.wire.properties import Properties
from gossamer.wire.property_codec import (
    MAX_USER_PROPERTIES,
    encode_properties,
    read_properties,
)
from gossamer.wire.publish_codec import (
    decode_acknowledgement,
    decode_publish,
    encode_acknowledgement,
    encode_publish,
)
from gossamer.wire.reason_table import check_reason
from gossamer.wire.reasons import MALFORMED_PACKET, PROTOCOL_ERROR
from gossamer.wire.scalars import Reader
from gossamer.wire.subscribe_codec import (
    decode_suback,
    decode_subscribe,
    decode_unsuback,
    decode_unsubscribe,
    encode_suback,
    encode_subscribe,
    encode_unsuback,
    encode_unsubscribe,
)

# The flags of every packet but PUBLISH are fixed: [MQTT-2.1.3-1], [MQTT-3.6.1-1], [MQTT-3.8.1-1],
# [MQTT-3.10.1-1], [MQTT-3.14.1-1], [MQTT-3.15.1-1]
_FLAGS_OF: Final[dict[int, int]] = {PUBREL: 2, SUBSCRIBE: 2, UNSUBSCRIBE: 2}

_PINGREQ_BYTES: Final = frame(PINGREQ << 4, b"")
_PINGRESP_BYTES: Final = frame(PINGRESP << 4, b"")


def decode(
    head: int, body: bytes, version: int, max_user_properties: int = MAX_USER_PROPERTIES
) -> Packet:
    """The packet whose first byte is `head`. CONNECT ignores `version` and sets its own."""
    kind = head >> 4
    if kind == PUBLISH:
        return decode_publish(head, body, version, max_user_properties)
    if head & 0x0F != _FLAGS_OF.get(kind, 0):
        raise ProtocolError(MALFORMED_PACKET, f"flags of packet type {kind} are not as reserved")
    if PUBACK <= kind <= PUBCOMP:
        return decode_acknowledgement(kind, body, version, max_user_properties)
    if PINGREQ <= kind <= PINGRESP:
        Reader(body, 0, len(body)).finish()
        return Pingreq() if kind == PINGREQ else Pingresp()
    if kind == SUBSCRIBE:
        return decode_subscribe(body, version, max_user_properties)
    if kind == SUBACK:
        return decode_suback(body, version, max_user_properties)
    if kind == UNSUBSCRIBE:
        return decode_unsubscribe(body, version, max_user_properties)
    if kind == UNSUBACK:
        return decode_unsuback(body, version, max_user_properties)
    if kind == CONNECT:
        return decode_connect(body, max_user_properties)
    if kind == CONNACK:
        return decode_connack(body, version, max_user_properties)
    if kind == DISCONNECT:
        return _decode_disconnect(body, version, max_user_properties)
    if kind == AUTH:
        return _decode_auth(body, version, max_user_properties)
    raise ProtocolError(MALFORMED_PACKET, "packet type 0 is reserved")


def ping_properties(
    body: bytes, max_user_properties: int = MAX_USER_PROPERTIES
) -> Properties | None:
    """The User Properties in a PINGREQ, from a client that may send such: `decode` refuses them."""
    reader = Reader(body, 0, len(body))
    properties = read_properties(reader, PINGREQ, max_user_properties)
    reader.finish()
    return properties


def _decode_disconnect(body: bytes, version: int, max_user_properties: int) -> Disconnect:
    reader = Reader(body, 0, len(body))
    if version != V5 or not body:
        reader.finish()
        return Disconnect()
    reason = check_reason(DISCONNECT, reader.byte("reason code"))
    if len(body) == 1:
        return Disconnect(reason)
    properties = read_properties(reader, DISCONNECT, max_user_properties)
    reader.finish()
    return Disconnect(reason, properties)


def _decode_auth(body: bytes, version: int, max_user_properties: int) -> Auth:
    if version != V5:
        raise ProtocolError(PROTOCOL_ERROR, "AUTH does not exist in MQTT 3.1.1")
    if not body:
        return Auth()
    reader = Reader(body, 0, len(body))
    reason = check_reason(AUTH, reader.byte("reason code"))
    properties = read_properties(reader, AUTH, max_user_properties)
    reader.finish()
    return Auth(reason, properties)


def encode(packet: Packet, version: int) -> bytes:
    """The whole packet, header included. What 3.1.1 cannot say is left out or said as it can.

    ValueError or OverflowError for what no packet can carry (a text over 65,535 bytes).
    """
    if isinstance(packet, Publish):
        return encode_publish(packet, version)
    if isinstance(packet, Acknowledgement):
        return encode_acknowledgement(packet, version)
    if isinstance(packet, Subscribe):
        return encode_subscribe(packet, version)
    if isinstance(packet, Suback):
        return encode_suback(packet, version)
    if isinstance(packet, Unsubscribe):
        return encode_unsubscribe(packet, version)
    if isinstance(packet, Unsuback):
        return encode_unsuback(packet, version)
    if isinstance(packet, Pingreq):
        return _PINGREQ_BYTES
    if isinstance(packet, Pingresp):
        return _PINGRESP_BYTES
    if isinstance(packet, Connect):
        return encode_connect(packet)
    if isinstance(packet, Connack):
        return encode_connack(packet, version)
    if isinstance(packet, Disconnect):
        return _encode_disconnect(packet, version)
    if isinstance(packet, Auth):
        return _encode_auth(packet, version)
    raise ValueError("not a packet of MQTT")


def _encode_disconnect(packet: Disconnect, version: int) -> bytes:
    head = DISCONNECT << 4
    if version == V5:
        if packet.properties is not None:
            block = encode_properties(packet.properties, DISCONNECT)
            return frame(head, bytes([packet.reason]) + block)
        if packet.reason:
            return frame(head, bytes([packet.reason]))
    return frame(head, b"")


def _encode_auth(packet: Auth, version: int) -> bytes:
    if version != V5:
        raise ValueError("AUTH does not exist in MQTT 3.1.1")
    if packet.reason == 0 and packet.properties is None:
        return frame(AUTH << 4, b"")
    block = encode_properties(packet.properties, AUTH)
    return frame(AUTH << 4, bytes([packet.reason]) + block)
