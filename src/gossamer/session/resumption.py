"""A client comes back, with the session that it had: what it has not acknowledged goes out again.

That is in the first order [MQTT-4.4.0-1], even if it has expired [MQTT-4.3.3-7]; publications as
far as the window of the new connection allows, the others as it acknowledges those [MQTT-3.3.4-9].
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.session.records import RELEASED, DeliveryRecord
from gossamer.wire.publish_codec import IDENTIFIERS, PUBREL_HEAD

if TYPE_CHECKING:
    from gossamer.session.outbox import Outbox
    from gossamer.session.session import Session


def resume_session(session: Session, now: float) -> None:
    """What was in flight, then what waits."""
    outbox = session.outbox
    assert outbox is not None
    pending = in_first_order(session)
    room = session.window
    for delivery in pending:
        if delivery.state == RELEASED:
            room -= 1
    unsent: dict[int, DeliveryRecord] = {}
    for delivery in pending:
        if delivery.state == RELEASED:
            outbox.put(PUBREL_HEAD + IDENTIFIERS[delivery.packet_id])
        elif room > 0:
            room -= 1
            _send_again(session, outbox, delivery, now)
        else:
            unsent[delivery.packet_id] = delivery
    session.unsent = unsent if unsent else None
    session.pump(now)


def resume_more(
    session: Session, unsent: dict[int, DeliveryRecord], acknowledged: int, now: float
) -> None:
    """The client has acknowledged a message: of those that were not sent again yet there is room
    for another."""
    unsent.pop(acknowledged, None)
    outbox = session.outbox
    assert outbox is not None
    while unsent and session.in_flight() - len(unsent) < session.window:
        _send_again(session, outbox, unsent.pop(next(iter(unsent))), now)
    if not unsent:
        session.unsent = None


def in_first_order(session: Session) -> list[DeliveryRecord]:
    """What is in flight."""
    pending = list(session.inflight.values())
    pending.sort(key=_by_number)
    return pending


def _send_again(session: Session, outbox: Outbox, delivery: DeliveryRecord, now: float) -> None:
    message = delivery.message
    assert message is not None
    session.send(
        outbox,
        message,
        delivery.qos,
        delivery.retain,
        True,  # [MQTT-3.3.1-1]
        delivery.packet_id,
        delivery.identifiers,
        now,
    )


def _by_number(delivery: DeliveryRecord) -> int:
    return delivery.number
