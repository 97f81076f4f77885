"""All that a session has on its way to its client, at once: restored, given away, withdrawn."""

from __future__ import annotations

from collections import deque

from gossamer.session.message_names import NAME_BYTES
from gossamer.session.queue import AWAY_BYTES, AWAY_MESSAGES, append, may_spill, size_of
from gossamer.session.records import QUEUED, DeliveryRecord
from gossamer.session.session import Session


def restore(session: Session, deliveries: list[DeliveryRecord], incoming: list[int]) -> None:
    """What a store kept of this session, or another broker sent."""
    for delivery in deliveries:
        session.number_after(delivery.number)
        message = delivery.message
        if delivery.state == QUEUED:
            assert message is not None
            delivery.size = size_of(session, message)
            session.head().append(delivery)
            session.queue_bytes += delivery.size
            session.hub.deliveries.hold(delivery)
        else:
            session.fly_again(delivery)
    if incoming:
        session.incoming = set(incoming)


def give_away(session: Session) -> tuple[list[DeliveryRecord], list[int]]:
    """All deliveries, and the publications that wait for their PUBREL; nothing is left."""
    deliveries = session.left_over()
    incoming = sorted(session.incoming or ())
    for delivery in deliveries:
        session.hub.deliveries.let_go(delivery)
        session.forget(delivery)
        message = delivery.message
        if session.seen is not None and message is not None and delivery.state == QUEUED:
            session.seen.gave_away(message.name[-NAME_BYTES:])
    session.inflight.clear()
    session.flight_bytes = 0
    session.unsent = None
    session.queue = None
    session.queue_bytes = 0
    session.incoming = None
    if session.persistent:
        for packet_id in incoming:
            session.hub.journal.incoming_removed(session.client_id, packet_id)
    return deliveries, incoming


def withdraw(session: Session, deliveries: list[DeliveryRecord]) -> None:
    """Takes back what was not acknowledged yet; a client that has it may keep it."""
    numbers: set[int] = set()
    for delivery in deliveries:
        numbers.add(delivery.number)
        if delivery.packet_id:
            if session.inflight.pop(delivery.packet_id, None) is not None:
                session.landed(delivery)
            if session.unsent is not None:
                session.unsent.pop(delivery.packet_id, None)
        session.hub.deliveries.let_go(delivery)
        session.forget(delivery)
    if session.queue is not None:
        kept = [delivery for delivery in session.queue if delivery.number not in numbers]
        session.queue = deque(kept) if kept else None
        session.queue_bytes = sum([delivery.size for delivery in kept])


def restore_before(session: Session, deliveries: list[DeliveryRecord]) -> None:
    """As `restore`, of a session whose queue has begun to grow here: what waited comes first."""
    newer = list(session.queue or ())
    session.queue = None
    restore(session, deliveries, [])
    if newer:
        session.queue = deque(sorted([*_waiting(session), *newer], key=_by_number))


def merge(session: Session, deliveries: list[DeliveryRecord], incoming: list[int]) -> None:
    """As `restore_before`, of what waited elsewhere. The store takes the end of a long queue."""
    restore_before(session, deliveries)
    if incoming:
        session.incoming = set(incoming)
    _shorten(session)


def _waiting(session: Session) -> list[DeliveryRecord]:
    """Asked in a function of its own: in `restore_before` the compiler would hold on to the None
    that it saw assigned, whatever was restored since."""
    return list(session.queue or ())


def leave_lane(session: Session) -> None:
    """The session ends: what memory holds of its queue is not in the store any more, and what the
    store holds is not its own, for another session may get its name."""
    for delivery in session.queue or ():
        if delivery.place:
            session.own_lane().drop(delivery, True)
            delivery.place = 0
    if session.lane.messages:
        session.lane.leave()


def _shorten(session: Session) -> None:
    queue = session.queue
    if queue is None or session.lane.messages or not may_spill(session):
        return
    end: list[DeliveryRecord] = []
    while len(queue) > AWAY_MESSAGES or (len(queue) > 1 and session.queue_bytes > AWAY_BYTES):
        last = queue.pop()
        session.queue_bytes -= last.size
        session.hub.deliveries.let_go(last)
        end.append(last)
    for delivery in reversed(end):
        session.forget(delivery)
        append(session, delivery)


def _by_number(delivery: DeliveryRecord) -> int:
    return delivery.number
