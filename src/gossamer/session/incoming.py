"""Publications at QoS 2 that a client sent: from when one is accepted until its PUBREL releases it,
what comes under its packet identifier is the same one again [MQTT-4.3.3-10].
"""

from __future__ import annotations

from gossamer.session.session import Session


def is_incoming(session: Session, packet_id: int) -> bool:
    incoming = session.incoming
    return incoming is not None and packet_id in incoming


def accept_incoming(session: Session, packet_id: int) -> None:
    incoming = session.incoming
    if incoming is None:
        incoming = set()
        session.incoming = incoming
    incoming.add(packet_id)
    if session.persistent:
        session.hub.journal.incoming_added(session.client_id, packet_id)


def refuse_incoming(session: Session, packet_id: int) -> bool:
    """It was accepted and is not, or not any more: the identifier is free [MQTT-4.3.3-9]. False if
    it was so."""
    incoming = session.incoming
    if incoming is None or packet_id not in incoming:
        return False
    incoming.discard(packet_id)
    if session.persistent:
        session.hub.journal.incoming_removed(session.client_id, packet_id)
    return True
