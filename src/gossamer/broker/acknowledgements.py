"""PUBACK, PUBREC, PUBREL and PUBCOMP from a client."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.broker.replies import promise
from gossamer.session.records import RELEASED, SENT
from gossamer.wire import reasons
from gossamer.wire.errors import ProtocolError
from gossamer.wire.packets import PUBACK, PUBCOMP, PUBREC, PUBREL, V5, Acknowledgement
from gossamer.wire.publish_codec import IDENTIFIERS, PUBCOMP_HEAD, PUBREL_HEAD

if TYPE_CHECKING:
    from gossamer.broker.connection import Connection


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
        return
    delivery = session.inflight.get(packet_id)
    if delivery is None:
        _answer_unknown(connection, PUBREL, PUBREL_HEAD, packet_id)
    elif delivery.qos == 2:
        session.received(packet_id, delivery)
    else:
        raise _out_of_turn("PUBREC", packet_id)


def _handle_pubrel(connection: Connection, packet_id: int) -> None:
    """Answered with PUBCOMP whether the identifier is known or not [MQTT-4.3.3-11], and whatever
    has become of the message [MQTT-4.3.3-13]."""
    session = connection.session
    assert session is not None
    if not session.release_incoming(packet_id):
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
