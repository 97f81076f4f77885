"""PUBACK, PUBREC, PUBREL and PUBCOMP from a client."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.session.frames import IDENTIFIERS, PUBCOMP_HEAD, PUBREL_HEAD
from gossamer.wire import reasons
from gossamer.wire.packets import PUBCOMP, PUBREL, V5, Acknowledgement
from gossamer.wire.publish_codec import encode_acknowledgement

if TYPE_CHECKING:
    from gossamer.broker.connection import Connection


def handle_puback(connection: Connection, packet_id: int, now: float) -> None:
    session = connection.session
    assert session is not None
    session.acknowledged(packet_id, now)


def handle_pubcomp(connection: Connection, packet_id: int, now: float) -> None:
    session = connection.session
    assert session is not None
    session.acknowledged(packet_id, now)


def handle_pubrec(connection: Connection, packet_id: int, reason: int, now: float) -> None:
    session = connection.session
    assert session is not None
    if reason >= reasons.UNSPECIFIED_ERROR:
        # [MQTT-4.3.3-4]: a refused message is not released.
        session.acknowledged(packet_id, now)
    elif not session.received(packet_id):
        _answer_unknown(connection, PUBREL, PUBREL_HEAD, packet_id)


def handle_pubrel(connection: Connection, packet_id: int) -> None:
    session = connection.session
    assert session is not None
    if not session.release_incoming(packet_id):
        _answer_unknown(connection, PUBCOMP, PUBCOMP_HEAD, packet_id)


def _answer_unknown(connection: Connection, kind: int, head: bytes, packet_id: int) -> None:
    if connection.version == V5:
        answer = Acknowledgement(kind, packet_id, reasons.PACKET_IDENTIFIER_NOT_FOUND)
        connection.outlet.put_promise(encode_acknowledgement(answer, V5))
    else:
        connection.outlet.put_promise(head + IDENTIFIERS[packet_id])
