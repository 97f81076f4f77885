"""A whole packet: decoded, and given to the handler of its type.

PUBLISH and the packets that begin and subscribe have files of their own. What is short is here:
acknowledgements, DISCONNECT and a PINGREQ with a position.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gossamer.broker.connect import handle_auth, handle_connect
from gossamer.broker.core import AWAITING_CONNECT, LEAVING
from gossamer.broker.publish import handle_publish
from gossamer.broker.publish_from_neighbour import handle_from_neighbour
from gossamer.broker.replies import promise
from gossamer.broker.subscribe import handle_subscribe, handle_unsubscribe
from gossamer.session.outbox import AWAITS_PUBCOMP, SENT_ONCE
from gossamer.session.records import RELEASED, SENT
from gossamer.session.runs import acknowledged_run, received_run, released_run
from gossamer.wire import reasons
from gossamer.wire.codec import decode, ping_properties
from gossamer.wire.connect_codec import connect_version
from gossamer.wire.errors import ProtocolError
from gossamer.wire.packets import (
    CONNECT,
    DISCONNECT,
    PUBACK,
    PUBCOMP,
    PUBLISH,
    PUBREC,
    PUBREL,
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
from gossamer.wire.publish_codec import (
    ACKNOWLEDGEMENT_BYTES,
    IDENTIFIERS,
    PUBCOMP_HEAD,
    PUBREC_HEAD,
    PUBREL_HEAD,
)
from gossamer.wire.subscribe_codec import FilterReader

if TYPE_CHECKING:
    from gossamer.broker.connection import Connection

# With the flags that both have [MQTT-3.8.1-1], [MQTT-3.10.1-1]; other flags are an error, which
# `decode` knows.
_SUBSCRIBE_HEAD: Final = SUBSCRIBE << 4 | 2
_UNSUBSCRIBE_HEAD: Final = UNSUBSCRIBE << 4 | 2
_PUBACK_HEAD: Final = PUBACK << 4
_PUBREC_HEAD: Final = PUBREC << 4
_PUBREL_HEAD: Final = PUBREL << 4 | 2  # [MQTT-3.6.1-1]

# What a client may still say that is asked to leave: it ends what was begun.
_LAST_PACKETS: Final = (PUBACK, PUBREC, PUBREL, PUBCOMP, DISCONNECT)


def dispatch(connection: Connection, head: int, body: bytes, now: float) -> None:
    if connection.stage == LEAVING and head >> 4 not in _LAST_PACKETS:
        return  # without an answer, so its client sends it where it goes next
    if head >> 4 == CONNECT:
        if connection.stage != AWAITING_CONNECT:
            # [MQTT-3.1.0-2]
            raise ProtocolError(reasons.PROTOCOL_ERROR, "a second CONNECT")
        version = connect_version(body)
        connection.version = V5 if version == V5 else V311
        connection.outbox.version = connection.version
    elif head >> 4 == PUBLISH and connection.is_peer:
        handle_from_neighbour(connection, head, body, now)
        return
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
        handle_publish(connection, packet, now)
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


def handle_acknowledgements(connection: Connection, data: bytes, start: int, now: float) -> int:
    """Those without a reason that begin at `start`, as far as they are of one kind: whole runs of
    them in one pass. Answers where they end."""
    session = connection.session
    assert session is not None
    head = data[start]
    end = len(data)
    at = start
    while at + ACKNOWLEDGEMENT_BYTES <= end and data[at] == head and data[at + 1] == 2:
        if head == _PUBACK_HEAD:
            after = acknowledged_run(session, data, at, SENT_ONCE, now)
        elif head == _PUBREC_HEAD:
            after = received_run(session, data, at)
        elif head == _PUBREL_HEAD:
            after = released_run(session, data, at)
        else:
            after = acknowledged_run(session, data, at, AWAITS_PUBCOMP, now)
        if after == at:  # it is not as most are
            packet_id = data[at + 2] << 8 | data[at + 3]
            if packet_id == 0:
                break
            handle_acknowledgement(connection, head >> 4, packet_id, reasons.SUCCESS, now)
            after = at + ACKNOWLEDGEMENT_BYTES
        at = after
    return at


def handle_acknowledgement(
    connection: Connection, kind: int, packet_id: int, reason: int, now: float
) -> None:
    if reason >= reasons.UNSPECIFIED_ERROR and connection.is_peer and kind in (PUBACK, PUBREC):
        connection.core.neighbours.refused(connection, packet_id, reason, now)
    if kind == PUBACK:
        _handle_puback(connection, packet_id, now)
    elif kind == PUBREC:
        _handle_pubrec(connection, packet_id, reason, now)
    elif kind == PUBREL:
        _handle_pubrel(connection, packet_id)
    elif kind == PUBCOMP:
        _handle_pubcomp(connection, packet_id, now)


def _handle_puback(connection: Connection, packet_id: int, now: float) -> None:
    session = connection.session
    assert session is not None
    if not session.acknowledged(packet_id, 1, SENT, now):
        raise _out_of_turn("PUBACK", packet_id)


def _handle_pubcomp(connection: Connection, packet_id: int, now: float) -> None:
    session = connection.session
    assert session is not None
    if not session.acknowledged(packet_id, 2, RELEASED, now):
        raise _out_of_turn("PUBCOMP", packet_id)


def _handle_pubrec(connection: Connection, packet_id: int, reason: int, now: float) -> None:
    session = connection.session
    assert session is not None
    if reason >= reasons.UNSPECIFIED_ERROR:
        # [MQTT-4.4.0-2], [MQTT-4.8.2-6]: a refused message is done with, and not released.
        if not session.acknowledged(packet_id, 2, SENT, now):
            raise _out_of_turn("PUBREC", packet_id)
    elif not session.is_in_flight(packet_id):
        _answer_unknown(connection, PUBREL, PUBREL_HEAD, packet_id)
    elif not received_run(session, PUBREC_HEAD + IDENTIFIERS[packet_id], 0):
        raise _out_of_turn("PUBREC", packet_id)


def _handle_pubrel(connection: Connection, packet_id: int) -> None:
    """Answered with PUBCOMP whether the identifier is known or not [MQTT-4.3.3-11], and whatever
    has become of the message [MQTT-4.3.3-13]."""
    session = connection.session
    assert session is not None
    if not released_run(session, PUBREL_HEAD + IDENTIFIERS[packet_id], 0):
        _answer_unknown(connection, PUBCOMP, PUBCOMP_HEAD, packet_id)


def _out_of_turn(packet: str, packet_id: int) -> ProtocolError:
    """What a publication waits for depends on its QoS and on how far it has come (4.3)."""
    return ProtocolError(
        reasons.PROTOCOL_ERROR, f"{packet} is not what publication {packet_id} waits for"
    )


def _answer_unknown(connection: Connection, kind: int, head: bytes, packet_id: int) -> None:
    if connection.version == V5:
        answer = Acknowledgement(kind, packet_id, reasons.PACKET_IDENTIFIER_NOT_FOUND)
        promise(connection.outbox, answer)
    else:
        connection.outbox.put_promise(head + IDENTIFIERS[packet_id])
