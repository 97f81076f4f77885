"""A whole packet that took no fast road: decoded, and given to the handler of its type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gossamer.broker.acknowledgements import handle_acknowledgement
from gossamer.broker.connect import handle_auth, handle_connect
from gossamer.broker.publish import handle_publish
from gossamer.broker.stages import AWAITING_CONNECT
from gossamer.broker.subscribe import handle_subscribe, handle_unsubscribe
from gossamer.session.message_names import without_name
from gossamer.wire import reasons
from gossamer.wire.codec import decode, ping_properties
from gossamer.wire.connect_codec import connect_version
from gossamer.wire.errors import ProtocolError
from gossamer.wire.packets import (
    CONNECT,
    PUBLISH,
    SUBSCRIBE,
    UNSUBSCRIBE,
    V5,
    V311,
    Acknowledgement,
    Auth,
    Connect,
    Disconnect,
    Packet,
    Publish,
)
from gossamer.wire.subscribe_codec import FilterReader

if TYPE_CHECKING:
    from gossamer.broker.connection import Connection

# With the flags that both have [MQTT-3.8.1-1], [MQTT-3.10.1-1]; other flags are an error, which
# `decode` knows.
_SUBSCRIBE_HEAD: Final = SUBSCRIBE << 4 | 2
_UNSUBSCRIBE_HEAD: Final = UNSUBSCRIBE << 4 | 2


def dispatch(connection: Connection, head: int, body: bytes, now: float) -> None:
    if head >> 4 == CONNECT:
        if connection.stage != AWAITING_CONNECT:
            # [MQTT-3.1.0-2]
            raise ProtocolError(reasons.PROTOCOL_ERROR, "a second CONNECT")
        version = connect_version(body)
        connection.version = V5 if version == V5 else V311
        connection.outbox.version = connection.version
    name = b""
    if connection.is_peer and head >> 4 == PUBLISH and len(body) > 2:
        topic_end = 2 + (body[0] << 8 | body[1])
        name, body = without_name(body, topic_end + (2 if head & 0x06 else 0))
    limit = connection.settings.max_user_properties
    if head == _SUBSCRIBE_HEAD:
        handle_subscribe(connection, FilterReader(SUBSCRIBE, body, connection.version, limit), now)
        return
    if head == _UNSUBSCRIBE_HEAD:
        reader = FilterReader(UNSUBSCRIBE, body, connection.version, limit)
        handle_unsubscribe(connection, reader, now)
        return
    packet: Packet = decode(head, body, connection.version, limit)
    if isinstance(packet, Publish):
        handle_publish(connection, packet, name, now)
    elif isinstance(packet, Acknowledgement):
        handle_acknowledgement(connection, packet.kind, packet.packet_id, packet.reason, now)
    elif isinstance(packet, Connect):
        handle_connect(connection, packet, now)
    elif isinstance(packet, Disconnect):
        _handle_disconnect(connection, packet, now)
    elif isinstance(packet, Auth):
        handle_auth(connection, packet, now)
    else:
        raise ProtocolError(
            reasons.PROTOCOL_ERROR, f"a client must not send packet type {packet.kind}"
        )


def handle_located_ping(connection: Connection, body: bytes, now: float) -> None:
    """Only for those who asked for it in CONNECT: the standard gives PINGREQ no payload."""
    session = connection.session
    assert session is not None
    properties = ping_properties(body, connection.settings.max_user_properties)
    connection.core.locations.pinged(session, properties, now)


def _handle_disconnect(connection: Connection, packet: Disconnect, now: float) -> None:
    properties = packet.properties
    session = connection.session
    if properties is not None and properties.session_expiry is not None and session is not None:
        expiry = properties.session_expiry
        if not session.record.expiry and expiry:  # 3.14.2.2.2 of 5.0
            raise ProtocolError(
                reasons.PROTOCOL_ERROR,
                "a session with expiry 0 cannot be given an expiry on DISCONNECT",
            )
        session.record.expiry = min(expiry, connection.settings.max_session_expiry)
    # [MQTT-3.14.4-3]: only a normal end, the one that 3.1.1 has, discards the will.
    connection.close(now, packet.reason == reasons.NORMAL_DISCONNECTION)
