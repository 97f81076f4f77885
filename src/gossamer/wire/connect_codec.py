"""CONNECT and CONNACK, the only packets that are read before the version is known."""

from typing import Final

from gossamer.wire.errors import ProtocolError
from gossamer.wire.frames import frame
from gossamer.wire.packets import CONNACK, CONNECT, V5, V311, Connack, Connect, Will
from gossamer.wire.property_codec import encode_properties, read_properties
from gossamer.wire.property_table import WILL
from gossamer.wire.reason_table import V311_CONNACK_MEANING, check_reason, v311_return_code
from gossamer.wire.reasons import (
    MALFORMED_PACKET,
    PROTOCOL_ERROR,
    UNSUPPORTED_PROTOCOL_VERSION,
)
from gossamer.wire.scalars import Reader, binary, check_topic_name, text, two_bytes

# Protocol name and level together, as they stand at the start of a CONNECT. MQTT 3.1 differs from
# 3.1.1 in the limits it sets clients, and in the first byte of a CONNACK, which is reserved there:
# its clients are served as 3.1.1, and never told that a session is present.
_NAME_OF_3_1: Final = "MQIsdp"
_VERSION_OF: Final[dict[tuple[str, int], int]] = {
    ("MQTT", 4): V311,
    ("MQTT", 5): V5,
    (_NAME_OF_3_1, 3): V311,
}

_RESERVED: Final = 0x01
_CLEAN_START: Final = 0x02
_WILL_FLAG: Final = 0x04
_WILL_QOS: Final = 0x18
_WILL_RETAIN: Final = 0x20
_PASSWORD: Final = 0x40
_USERNAME: Final = 0x80


def connect_version(body: bytes) -> int:
    """The version a CONNECT asks for, even if the rest of it is broken; 0 if it cannot be told."""
    reader = Reader(body, 0, len(body))
    try:
        name = reader.text("protocol name")
        return _VERSION_OF.get((name, reader.byte("protocol level")), 0)
    except ProtocolError:
        return 0


def decode_connect(body: bytes, max_user_properties: int) -> Connect:
    """[MQTT-3.1.4-1]; the fields of the payload are in order [MQTT-3.1.3-1]."""
    reader = Reader(body, 0, len(body))
    name = reader.text("protocol name")
    level = reader.byte("protocol level")
    version = _VERSION_OF.get((name, level), 0)
    if version == 0:  # [MQTT-3.1.2-1], [MQTT-3.1.2-2]
        raise ProtocolError(
            UNSUPPORTED_PROTOCOL_VERSION, f"protocol {name[:16]!r} level {level} is not served"
        )
    flags = reader.byte("connect flags")
    _check_flags(flags, version)
    keep_alive = reader.two_bytes("keep alive")
    properties = None
    if version == V5:
        properties = read_properties(reader, CONNECT, max_user_properties)
    client_id = reader.text("client identifier")  # [MQTT-3.1.3-3], [MQTT-3.1.3-4]
    will = None
    if flags & _WILL_FLAG:  # [MQTT-3.1.2-9]
        will = _read_will(reader, flags, version, max_user_properties)
    # [MQTT-3.1.2-17], [MQTT-3.1.2-19], [MQTT-3.1.3-12]; and nothing without its flag:
    # [MQTT-3.1.2-16], [MQTT-3.1.2-18]
    username = reader.text("user name") if flags & _USERNAME else None
    password = reader.binary("password") if flags & _PASSWORD else None
    reader.finish()
    return Connect(
        client_id,
        version,
        flags & _CLEAN_START != 0,
        keep_alive,
        username,
        password,
        will,
        properties,
        name == _NAME_OF_3_1,
    )


def _check_flags(flags: int, version: int) -> None:
    if flags & _RESERVED:  # [MQTT-3.1.2-3]
        raise ProtocolError(MALFORMED_PACKET, "reserved connect flag is set")
    if not flags & _WILL_FLAG and flags & (_WILL_QOS | _WILL_RETAIN):
        # [MQTT-3.1.2-11], [MQTT-3.1.2-13]
        raise ProtocolError(MALFORMED_PACKET, "will QoS or will retain without a will")
    if flags & _WILL_QOS == _WILL_QOS:  # [MQTT-3.1.2-12]
        raise ProtocolError(MALFORMED_PACKET, "will QoS is 3")
    if version == V311 and flags & _PASSWORD and not flags & _USERNAME:  # 3.1.1 [MQTT-3.1.2-22]
        raise ProtocolError(MALFORMED_PACKET, "password without a user name")


def _read_will(reader: Reader, flags: int, version: int, max_user_properties: int) -> Will:
    properties = None
    if version == V5:
        properties = read_properties(reader, WILL, max_user_properties)
    topic = reader.text("will topic")  # [MQTT-3.1.3-11]
    check_topic_name(topic, "will topic")
    payload = reader.binary("will payload")
    qos = (flags & _WILL_QOS) >> 3
    return Will(topic, payload, qos, flags & _WILL_RETAIN != 0, properties)


def encode_connect(packet: Connect) -> bytes:
    flags = _CLEAN_START if packet.clean_start else 0
    parts: list[bytes] = [two_bytes(packet.keep_alive)]
    if packet.version == V5:
        parts.append(encode_properties(packet.properties, CONNECT))
    parts.append(text(packet.client_id))
    will = packet.will
    if will is not None:
        flags |= _WILL_FLAG | will.qos << 3
        if will.retain:
            flags |= _WILL_RETAIN
        if packet.version == V5:
            parts.append(encode_properties(will.properties, WILL))
        parts.append(text(will.topic))
        parts.append(binary(will.payload))
    if packet.username is not None:
        flags |= _USERNAME
        parts.append(text(packet.username))
    if packet.password is not None:
        flags |= _PASSWORD
        parts.append(binary(packet.password))
    start = text("MQTT") + bytes([packet.version, flags])
    return frame(CONNECT << 4, start + b"".join(parts))


def decode_connack(body: bytes, version: int, max_user_properties: int) -> Connack:
    reader = Reader(body, 0, len(body))
    flags = reader.byte("connect acknowledge flags")
    if flags > 1:  # [MQTT-3.2.2-1]
        raise ProtocolError(MALFORMED_PACKET, "reserved connect acknowledge flags are set")
    reason = reader.byte("reason code")
    properties = None
    if version == V5:
        check_reason(CONNACK, reason)
        properties = read_properties(reader, CONNACK, max_user_properties)
    elif reason < len(V311_CONNACK_MEANING):
        reason = V311_CONNACK_MEANING[reason]
    else:
        raise ProtocolError(PROTOCOL_ERROR, f"return code {reason} is reserved")
    reader.finish()
    if flags and reason:
        raise ProtocolError(PROTOCOL_ERROR, "session present in a refusal")
    return Connack(flags == 1, reason, properties)


def encode_connack(packet: Connack, version: int) -> bytes:
    present = 1 if packet.session_present else 0
    if version == V5:
        properties = encode_properties(packet.properties, CONNACK)
        return frame(CONNACK << 4, bytes([present, packet.reason]) + properties)
    return frame(CONNACK << 4, bytes([present, v311_return_code(packet.reason)]))
