"""How a session's queue grows, within its bounds, and what a full one does.

Memory holds the head of a queue up to so many messages and bytes; what comes behind that is
*spilled* to the lane, and read back as the head gets shorter.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from gossamer.session.message import Message
from gossamer.session.message_bytes import message_bytes, stored_bytes
from gossamer.session.message_names import NAME_BYTES
from gossamer.session.queue_policy import (
    CONSEQUENCES,
    DROP_OLDEST,
    OVER_LIMIT,
    REFUSE,
    ROOM_AGAIN,
    QueueRefused,
    Withheld,
)
from gossamer.session.records import DeliveryRecord

if TYPE_CHECKING:
    from gossamer.session.session import Session

logger = logging.getLogger(__name__)

# The head of a queue that memory holds while its client is away: what a thousand sessions of one
# machine can afford. While it is connected a burst should not need the disk to pass.
AWAY_MESSAGES: Final = 1_000
AWAY_BYTES: Final = 1 << 20
PRESENT_MESSAGES: Final = 10_000
PRESENT_BYTES: Final = 8 << 20
# What brokers say to each other is not for a full disk to drop.
BROKERS_OWN: Final = "$gossamer/"


def size_of(session: Session, message: Message) -> int:
    """What it counts for in the queue."""
    return stored_bytes(message) if may_spill(session) else message_bytes(message)


def may_spill(session: Session) -> bool:
    """Whether the store takes what memory should not hold; and what follows that, too."""
    return session.hub.journal.spills and (session.persistent or session.lane.messages > 0)


def is_crowded_for(session: Session, message: Message) -> bool:
    """Whether memory has no room for it, for all that it holds for others. Neighbours' sessions are
    bounded by their own rules."""
    if session.is_peer:
        return False
    own = session.queue_bytes + session.flight_bytes
    return session.hub.deliveries.lacks_room(message, own)


def append(session: Session, delivery: DeliveryRecord) -> None:
    """To the end of the queue: in memory if that is the end, and has room for it."""
    queue = session.head()
    message = delivery.message
    assert message is not None
    hub = session.hub
    lane = session.lane
    is_too_much = session.persistent and (
        _is_long(session, delivery) or is_crowded_for(session, message)
    )
    if hub.journal.spills and (lane.messages or is_too_much):
        if not lane.messages and session.outbox is not None:
            hub.crowded[session] = None  # nothing else may ask for it again
        session.own_lane().add(delivery, message)
        if session.seen is not None and not delivery.share:
            session.seen.spilled(message.name[-NAME_BYTES:])
        return
    if session.is_awaited and hub.passing.ticket:
        delivery.ticket = hub.passing.take()
    queue.append(delivery)
    session.queue_bytes += delivery.size
    hub.deliveries.hold(delivery)
    if session.persistent:
        hub.journal.delivery_queued(session.client_id, delivery)


def _is_long(session: Session, delivery: DeliveryRecord) -> bool:
    """Whether memory holds as much of the queue as it should."""
    queue = session.queue
    if not queue:
        return False
    size = session.queue_bytes + delivery.size
    if session.outbox is None:
        return len(queue) >= AWAY_MESSAGES or size > AWAY_BYTES
    return len(queue) >= PRESENT_MESSAGES or size > PRESENT_BYTES


def let_go_of_first(session: Session, delivery: DeliveryRecord) -> None:
    """What was the first of the queue, and will not be sent."""
    session.hub.deliveries.let_go(delivery)
    if delivery.place:
        session.own_lane().drop(delivery, True)
    else:
        session.forget(delivery)


# What comes back from the lane ------------------------------------------------------------------


def may_refill(session: Session) -> bool:
    """Whether memory takes more of what the lane has: what a session that holds nothing waits for,
    as long as there is any room."""
    deliveries = session.hub.deliveries
    if not deliveries.is_crowded():
        return True
    account = deliveries.account
    return not session.queue_bytes and not session.flight_bytes and account.held <= account.budget


def refill(session: Session) -> bool:
    """Brings the oldest of the lane back; False if there are none, or not at hand yet."""
    lane = session.lane
    if not lane.messages:
        return False
    queue = session.head()
    hub = session.hub
    returned = lane.take_next()
    for delivery in returned:
        message = delivery.message
        if message is None:
            lane.set_aside(delivery)
            continue
        is_wanted = session.seen is None or session.seen.came_back(message.name[-NAME_BYTES:])
        if is_wanted and hub.guard.may_have(session, message):
            queue.append(delivery)
            session.queue_bytes += delivery.size
            hub.deliveries.hold(delivery)
        else:
            lane.drop(delivery, False)
    if not returned:
        _starve(session)
    return bool(returned)


def look_ahead(session: Session) -> list[DeliveryRecord]:
    """The next of the lane, behind what this gave before, to look at and no more; none if it is not
    at hand yet. Until the lane's `stop_looking` nothing may be sent."""
    found = session.own_lane().look_ahead()
    if not found:
        _starve(session)
    return found


def _starve(session: Session) -> None:
    """They are being read, or written: the store's next word is the time to ask again."""
    if not session.is_starving:
        session.is_starving = True
        session.hub.starving.append(session)
        session.hub.journal.is_awaited = True  # what was spilled a moment ago comes back behind it


# Runs for a neighbour that does not know them ----------------------------------------------------


def unfolded(session: Session, delivery: DeliveryRecord) -> list[DeliveryRecord]:
    """The messages of a run that is in no queue or window any more, as deliveries of their own."""
    run = delivery.message
    assert run is not None
    singles: list[DeliveryRecord] = []
    for message in run.singles():
        single = session.new_delivery(message, delivery.qos, False, delivery.identifiers, "")
        single.size = size_of(session, message)
        singles.append(single)
    session.hub.deliveries.let_go(delivery)
    session.forget(delivery)
    return singles


def put_first(session: Session, deliveries: list[DeliveryRecord]) -> None:
    """Before all that waits. Should the broker crash before they are sent, they come after it."""
    queue = session.head()
    for delivery in reversed(deliveries):
        queue.appendleft(delivery)
        session.queue_bytes += delivery.size
        session.hub.deliveries.hold(delivery)
    if session.persistent:
        for delivery in deliveries:
            session.hub.journal.delivery_queued(session.client_id, delivery)


def call_back_runs(session: Session) -> None:
    """A neighbour that knew runs comes back and does not: those that it has not acknowledged go to
    it again one by one, before what waits. It knows by their names what it has."""
    called: list[DeliveryRecord] = []
    for delivery in session.left_over():
        message = delivery.message
        if delivery.packet_id and message is not None and message.is_run():
            del session.inflight[delivery.packet_id]
            session.landed(delivery)
            called.extend(unfolded(session, delivery))
    put_first(session, called)


# Bounds -----------------------------------------------------------------------------------------


def takes_another(
    session: Session,
    message: Message,
    size: int,
    qos: int,
    retain: bool,
    identifiers: list[int],
    share: str,
) -> bool:
    """Whether the message may wait in the queue; if not, it was dropped, or its publisher hears of
    it. Room is made for it if that is the policy."""
    hub = session.hub
    lacks_memory = not may_spill(session) and is_crowded_for(session, message)
    if lacks_memory:
        hub.deliveries.account.refused += 1
    elif not _lacks_room(session, size):
        return True
    if session.is_peer and message.topic.startswith(BROKERS_OWN):
        return True
    _begin_fullness(session)
    policy = session.limits.policy
    if policy == REFUSE and message.publisher:
        hub.refusing.append(QueueRefused(session, message, qos, retain, identifiers, share))
        return False
    if policy != DROP_OLDEST or (lacks_memory and not session.queue):
        count_dropped(session)
        return False
    if lacks_memory:
        _exchange_oldest(session, size)
    drop_oldest(session, size)
    return True


def enqueue_over(session: Session, refused: QueueRefused, withheld: Withheld) -> bool:
    """A message whose publisher cannot be refused, and will wait instead; False if the queue is so
    far over its limit that it does not take that either."""
    message = refused.message
    size = size_of(session, message)
    places = session.limits.messages
    if _waiting_bytes(session) + size > _bytes_limit(session) * OVER_LIMIT or (
        places and session.queued() + session.lane.messages >= places * OVER_LIMIT
    ):
        count_dropped(session)
        return False
    delivery = session.new_delivery(
        message, refused.qos, refused.retain, refused.identifiers, refused.share
    )
    delivery.size = size
    append(session, delivery)
    if session.waiters is None:
        session.waiters = []
    session.waiters.append(withheld)
    withheld.queues += 1
    return True


def _waiting_bytes(session: Session) -> int:
    return session.queue_bytes + session.lane.bytes


def _bytes_limit(session: Session) -> int:
    limits = session.limits
    return limits.stored_bytes if may_spill(session) else limits.memory_bytes


def has_room_for(session: Session, size: int) -> bool:
    """Whether a message of this size would be taken without a look at the policy."""
    return not _lacks_room(session, size)


def _lacks_room(session: Session, size: int) -> bool:
    """Whether a message of this size is too much; one that nothing waits before never is.

    Of size 0: whether what waits is too much already.
    """
    waiting = _waiting_bytes(session)
    if waiting == 0:
        return False
    if waiting + size > _bytes_limit(session) or _lacks_places(session, 1 if size else 0):
        return True
    journal = session.hub.journal
    return session.lane.messages > 0 and journal.spilled_bytes + size > journal.spill_limit


def _lacks_places(session: Session, more: int) -> bool:
    places = session.limits.messages
    return places > 0 and session.queued() + session.lane.messages + more > places


def count_dropped(session: Session) -> None:
    if session.owed is not None:
        session.owed.has_missed = True
    session.dropped += 1
    session.hub.counters.dropped_full += 1


def drop_oldest(session: Session, size: int) -> None:
    """Where that is the policy, until there is room for so many bytes. What is on disk only is read
    first; meanwhile the queue may be longer than its limit by what comes until then."""
    if session.limits.policy != DROP_OLDEST:
        return
    freed = 0
    while _lacks_room(session, size):
        if not session.queue:
            if refill(session):
                continue
            break
        freed += _drop_first(session)
        if freed > size > 0 and _waiting_bytes(session) + size <= _bytes_limit(session):
            break  # it is others that fill the disk
    if not session.queue:
        session.queue = None


def _exchange_oldest(session: Session, size: int) -> None:
    """Memory is full of what it holds for all: as much as comes goes, of its own oldest."""
    while session.queue and size > 0:
        size -= _drop_first(session)


def _drop_first(session: Session) -> int:
    """How many bytes that were."""
    queue = session.queue
    assert queue is not None
    oldest = queue.popleft()
    size = oldest.size
    session.queue_bytes -= size
    let_go_of_first(session, oldest)
    count_dropped(session)
    return size


# The episode of a full queue --------------------------------------------------------------------


def _begin_fullness(session: Session) -> None:
    if session.is_full:
        return
    session.is_full = True
    session.hub.full[session] = None
    is_crowded = not may_spill(session) and session.hub.deliveries.is_crowded()
    logger.warning(
        "the queue of client %r is full (%d messages, %d bytes%s): %s",
        session.client_id,
        session.queued() + session.lane.messages,
        _waiting_bytes(session),
        "; limits.delivery_bytes are taken by all queues together" if is_crowded else "",
        CONSEQUENCES[session.limits.policy],
    )


def look_for_room(session: Session) -> None:
    """Ends the episode of a full queue once there is room, and answers who waited for it."""
    waiting = _waiting_bytes(session)
    limit = _bytes_limit(session)
    if waiting > limit or _lacks_places(session, 0):
        return
    if not session.is_peer and not may_spill(session) and session.hub.deliveries.is_crowded():
        return
    _answer_waiters(session)
    places = session.limits.messages
    if waiting <= limit * ROOM_AGAIN and (
        not places or session.queued() + session.lane.messages <= places * ROOM_AGAIN
    ):
        session.is_full = False
        session.hub.full.pop(session, None)
        logger.info(
            "the queue of client %r has room again; %d messages for it were dropped so far",
            session.client_id,
            session.dropped,
        )


def end_fullness(session: Session) -> None:
    """The session ends: nobody waits for it any more."""
    session.hub.crowded.pop(session, None)
    session.is_full = False
    session.hub.full.pop(session, None)
    _answer_waiters(session)


def _answer_waiters(session: Session) -> None:
    waiters = session.waiters
    session.waiters = None
    for withheld in waiters or ():
        withheld.has_room()
