"""What waits for its turn to be sent to one client: the queue, its bounds, and what spills over.

An acknowledgement makes room in the window, so it is here that the next message leaves the queue.

The queue of a session that lasts lives in the store. Memory holds its head, up to so many messages
and bytes; what comes behind that is *spilled*, and read back as the head gets shorter. Without a
store, and for a session that ends with its connection, memory holds all of it, within a smaller
limit. Neighbours' sessions are like clients'. What a full queue does is in `queue_policy.py`.
"""

from __future__ import annotations

import logging
from collections import deque
from typing import Final

from gossamer.session.inflight import SENT_EXACTLY, SENT_ONCE, Inflight
from gossamer.session.message import NAME_BYTES, Message
from gossamer.session.outbox import Hub
from gossamer.session.queue_policy import (
    CONSEQUENCES,
    DROP_NEWEST,
    DROP_OLDEST,
    OVER_LIMIT,
    REFUSE,
    ROOM_AGAIN,
    QueueRefused,
    Withheld,
)
from gossamer.session.records import QUEUED, SENT, DeliveryRecord
from gossamer.session.retained_owed import Owed
from gossamer.session.seen_names import Seen
from gossamer.session.sizes import message_bytes, stored_bytes
from gossamer.session.subscription import Receiver

logger = logging.getLogger(__name__)

NO_BYTES_LIMIT: Final = 1 << 62
# The head of a queue that memory holds while its client is away: what a thousand sessions of one
# machine can afford. While it is connected a burst should not need the disk to pass.
AWAY_MESSAGES: Final = 1_000
AWAY_BYTES: Final = 1 << 20
PRESENT_MESSAGES: Final = 10_000
PRESENT_BYTES: Final = 8 << 20
# The next messages are asked for while there are still some, so that the client need not wait.
REFILL_BELOW: Final = 2_000
REFILL_BYTES: Final = 2 << 20
# What brokers say to each other is not for a full disk to drop.
BROKERS_OWN: Final = "$gossamer/"
# What is in flight is kept until it is acknowledged: past so much the rest waits in the queue,
# however many the client's Receive Maximum lets it have.
FLIGHT_BYTES: Final = 8 << 20
# Enough output for one turn: a long queue is sent in pieces, so that a client that does not read
# costs no more than this beside its queue, and others need not wait for all of it.
TURN_BYTES: Final = 262_144
TURN_MESSAGES: Final = 200


class Queue(Inflight):
    """What is to be sent, in order, behind what is in flight."""

    __slots__ = (
        "_number",
        "damaged",
        "dropped",
        "is_awaited",
        "is_full",
        "is_peer",
        "is_starving",
        "looked_from",
        "owed",
        "queue",
        "queue_bytes",
        "queue_bytes_limit",
        "queue_limit",
        "queue_memory_limit",
        "queue_policy",
        "spilled",
        "spilled_bytes",
        "waiters",
        "withheld",
        "withheld_bytes",
    )

    def __init__(self, hub: Hub, client_id: str, persistent: bool) -> None:
        super().__init__(hub, client_id, persistent)
        self.is_peer = False  # a neighbouring broker's
        # Whether those whose messages are passed on to it wait for its answers.
        self.is_awaited = False
        self.queue: deque[DeliveryRecord] | None = None  # its head, if some is spilled
        self.queue_limit = 0  # messages; 0 if only bytes count
        self.queue_bytes = 0  # topics, payloads and properties in `queue`
        self.queue_bytes_limit = NO_BYTES_LIMIT  # where the store holds what memory should not
        self.queue_memory_limit = NO_BYTES_LIMIT  # where memory holds everything
        self.queue_policy = DROP_NEWEST
        self.spilled = 0  # messages that follow those in the queue, and are in the store only
        self.owed: Owed | None = None  # retained messages that are not in the queue yet
        self.spilled_bytes = 0
        self.damaged = 0  # messages that waited in the store and could not be read back
        self.dropped = 0  # messages that its full queue did not take, or let go of
        self.is_full = False  # since it was, and until it has room to speak of
        self.is_starving = False  # waits for the store to give back what was spilled
        self.looked_from = -1  # while somebody looks through it: where the first of that is
        self.waiters: list[Withheld] | None = None  # publishers that wait for room here
        self.withheld: dict[int, Withheld] | None = None  # its own publications that wait elsewhere
        self.withheld_bytes = 0  # of those that are being passed on
        self._number = 0

    def enqueue(
        self,
        message: Message,
        qos: int,
        retain: bool,
        identifiers: list[int],
        share: str,
        now: float,
    ) -> None:
        """A message at QoS 1 or 2: sent now if the window allows it [MQTT-4.9.0-2], else queued
        [MQTT-4.5.0-1], in order [MQTT-4.6.0-5].

        It is sent with an unused identifier and DUP 0, however it came [MQTT-3.3.1-3], and stays
        in flight until it is acknowledged: [MQTT-4.3.2-1], [MQTT-4.3.2-2], [MQTT-4.3.2-3],
        [MQTT-4.3.3-1], [MQTT-4.3.3-2], [MQTT-4.3.3-3]
        """
        if self.seen is not None and not share and self._is_repeated(message, self.seen):
            return
        outbox = self.outbox
        queue = self.queue
        if (
            outbox is not None
            and not outbox.blocked
            and not queue
            and not self.spilled
            and len(self.inflight) < self.window
            and self.flight_bytes < FLIGHT_BYTES
            and not ((self.persistent or share) and self._is_crowded_for(message))
        ):
            if not self.persistent and not share:
                packet_id = self._free_id()
                self.inflight[packet_id] = SENT_ONCE if qos == 1 else SENT_EXACTLY
                self._send(outbox, message, qos, retain, False, packet_id, identifiers, now)
                return
            delivery = self._new_delivery(message, qos, retain, identifiers, share)
            packet_id = self._free_id()
            delivery.packet_id = packet_id
            delivery.state = SENT
            if self.is_awaited and self.hub.passing.ticket:
                delivery.ticket = self.hub.passing.take()
            self.inflight[packet_id] = delivery
            size = len(message.topic_bytes) + len(message.payload)
            delivery.size = size
            self.flight_bytes += size
            self.hub.deliveries.hold(delivery)
            if self.persistent:
                self.hub.journal.delivery_queued(self.client_id, delivery)
            self._send(outbox, message, qos, retain, False, packet_id, identifiers, now)
            return
        if outbox is None and not self.persistent:
            return
        size = self._size(message)
        lacks_memory = not self._may_spill() and self._is_crowded_for(message)
        if lacks_memory:
            self.hub.deliveries.account.refused += 1
        if (lacks_memory or self._lacks_room(size)) and not (
            self.is_peer and message.topic.startswith(BROKERS_OWN)
        ):
            self._begin_fullness()
            if self.queue_policy == REFUSE and message.publisher:
                self.hub.refusing.append(
                    QueueRefused(self, message, qos, retain, identifiers, share)
                )
                return
            if self.queue_policy != DROP_OLDEST or (lacks_memory and not queue):
                self.count_dropped()
                return
            if lacks_memory:
                self._exchange_oldest(size)
            self._drop_oldest(size)
        delivery = self._new_delivery(message, qos, retain, identifiers, share)
        delivery.size = size
        self._append(delivery)

    def enqueue_over(self, refused: QueueRefused, withheld: Withheld) -> bool:
        """A message whose publisher cannot be refused, and will wait instead; False if the queue
        is so far over its limit that it does not take that either."""
        message = refused.message
        size = self._size(message)
        places = self.queue_limit
        if self._waiting_bytes() + size > self._bytes_limit() * OVER_LIMIT or (
            places and self.queued() + self.spilled >= places * OVER_LIMIT
        ):
            self.count_dropped()
            return False
        delivery = self._new_delivery(
            message, refused.qos, refused.retain, refused.identifiers, refused.share
        )
        delivery.size = size
        self._append(delivery)
        if self.waiters is None:
            self.waiters = []
        self.waiters.append(withheld)
        withheld.queues += 1
        return True

    def enqueue_retained(self, messages: list[Message], receiver: Receiver, now: float) -> None:
        """Retained messages of a new subscription, at QoS 0 too; the queue's limit does not apply.

        Whoever calls gives no more at a time than may wait in memory.
        """
        queue = self.queue
        if queue is None:
            queue = deque()
            self.queue = queue
        journal = self.hub.journal
        for message in messages:
            qos = min(message.qos, receiver.qos)
            delivery = self._new_delivery(message, qos, True, receiver.identifiers, "")
            if qos and self.spilled:
                delivery.size = stored_bytes(message)
                self._append(delivery)
                continue
            queue.append(delivery)
            if qos and self.persistent:
                journal.delivery_queued(self.client_id, delivery)
        self.pump(now)

    def _is_crowded_for(self, message: Message) -> bool:
        """Whether memory has no room for it, for all that it holds for others. Neighbours' sessions
        are bounded by their own rules."""
        if self.is_peer:
            return False
        own = self.queue_bytes + self.flight_bytes
        return self.hub.deliveries.lacks_room(message, own)

    def pump(self, now: float) -> None:
        """Sends from the queue what the window, the socket and the turn allow.

        Publications wait here, nothing else does [MQTT-3.3.4-10], [MQTT-4.9.0-3].
        """
        outbox = self.outbox
        if outbox is None:
            if self.is_full and self.queue_policy == DROP_OLDEST:
                self._drop_oldest(0)  # what it asked the store for has come
            return
        if (
            self.spilled
            and self.window
            and not self.is_starving
            and self.queued() < REFILL_BELOW
            and self.queue_bytes < REFILL_BYTES
        ):
            if self.is_peer or self.may_refill():
                self._unspill()
            else:
                self.hub.crowded[self] = None  # it is asked again when there is room
        queue = self.queue
        if queue is None:
            if self.owed is not None and not self.spilled:
                self.hub.owing[self] = None
            return
        journal = self.hub.journal
        left = TURN_MESSAGES
        while queue and not outbox.blocked:
            if outbox.size >= TURN_BYTES or left == 0:
                self.hub.waiting[self] = None
                break
            left -= 1
            delivery = queue[0]
            qos = delivery.qos
            if qos and (len(self.inflight) >= self.window or self.flight_bytes >= FLIGHT_BYTES):
                break
            queue.popleft()
            message = delivery.message
            assert message is not None
            self.queue_bytes -= delivery.size
            if message.is_expired(now):
                # [MQTT-3.3.2-5]
                self.hub.counters.expired += 1
                self.hub.deliveries.let_go(delivery)
                self._forget_first(delivery)
                continue
            packet_id = 0
            if qos:
                packet_id = self._free_id()
                delivery.packet_id = packet_id
                delivery.state = SENT
                self.inflight[packet_id] = delivery
                self._took_off(delivery, message)
                if delivery.place:
                    self._take(delivery)
                elif self.persistent:
                    journal.delivery_sent(self.client_id, delivery.number, packet_id)
            self._send(
                outbox, message, qos, delivery.retain, False, packet_id, delivery.identifiers, now
            )
        if not queue:
            self.queue = None
            if self.spilled:
                if not self.is_starving and self not in self.hub.crowded:
                    self.hub.waiting[self] = None
            elif self.owed is not None:
                self.hub.owing[self] = None
        if self.is_full:
            self.look_for_room()

    def resume(self, now: float) -> None:
        """A client came back: first what it has not acknowledged goes out again."""
        outbox = self.outbox
        assert outbox is not None
        self._resend(outbox, now)
        self.pump(now)

    def acknowledged(self, packet_id: int, qos: int, state: int, now: float) -> bool:
        """The message is done with; False if it is not one of that QoS in that state.

        An identifier that is not in use is ignored.
        """
        delivery = self.inflight.pop(packet_id, None)
        if delivery is None:
            return True
        if delivery.qos != qos or delivery.state != state:
            self.inflight[packet_id] = delivery
            return False
        self.flight_bytes -= delivery.size
        if delivery.is_held:
            self.hub.deliveries.let_go(delivery)
        if delivery.ticket:
            self._passed(delivery)
        if self.persistent:
            self.hub.journal.delivery_removed(self.client_id, delivery.number)
        unsent = self.unsent
        if unsent is not None:
            unsent.pop(packet_id, None)
            outbox = self.outbox
            assert outbox is not None
            self._resume_unsent(outbox, unsent, now)
        if self.queue is not None or self.spilled:
            self.pump(now)
        return True

    def end_awaiting(self) -> None:
        """It cannot be reached: what is for it stays here, and who gave it need not wait."""
        self.is_awaited = False
        for delivery in (*self.inflight.values(), *(self.queue or ())):
            if delivery.ticket:
                self._passed(delivery)

    def queued(self) -> int:
        """Messages in memory that were not sent yet."""
        queue = self.queue
        return 0 if queue is None else len(queue)

    def refill(self) -> bool:
        """Brings back some of what was spilled; False if there is nothing, or not at hand yet."""
        return self.spilled > 0 and self._unspill()

    def look_ahead(self) -> list[DeliveryRecord]:
        """The next of what was spilled, behind what this gave before, to look at and no more; none
        if it is not at hand yet. Until `stop_looking` nothing may be sent."""
        journal = self.hub.journal
        if self.looked_from < 0:
            self.looked_from = journal.spilled_mark(self.client_id)
        found = journal.unspill(self.client_id)
        if not found:
            self._starve()
        return found

    def stop_looking(self) -> None:
        """What was looked at is to come once more."""
        if self.looked_from >= 0:
            self.hub.journal.spilled_again(self.client_id, self.looked_from)
            self.looked_from = -1

    def shorten(self) -> None:
        """Memory has all of a queue that came from elsewhere: the store takes its end."""
        queue = self.queue
        if queue is None or self.spilled or not self._may_spill():
            return
        end: list[DeliveryRecord] = []
        while len(queue) > AWAY_MESSAGES or (len(queue) > 1 and self.queue_bytes > AWAY_BYTES):
            last = queue.pop()
            self.queue_bytes -= last.size
            self.hub.deliveries.let_go(last)
            end.append(last)
        for delivery in reversed(end):
            self._forget(delivery)
            self._append(delivery)

    def look_for_room(self) -> None:
        """Ends the episode of a full queue once there is room, and answers who waited for it."""
        waiting = self._waiting_bytes()
        limit = self._bytes_limit()
        if waiting > limit or self._lacks_places(0):
            return
        if not self.is_peer and not self._may_spill() and self.hub.deliveries.is_crowded():
            return
        waiters = self.waiters
        if waiters is not None:
            self.waiters = None
            for withheld in waiters:
                withheld.has_room()
        places = self.queue_limit
        if waiting <= limit * ROOM_AGAIN and (
            not places or self.queued() + self.spilled <= places * ROOM_AGAIN
        ):
            self.is_full = False
            self.hub.full.pop(self, None)
            logger.info(
                "the queue of client %r has room again; %d messages for it were dropped so far",
                self.client_id,
                self.dropped,
            )

    def end_fullness(self) -> None:
        """The session ends: nobody waits for it any more."""
        self.hub.crowded.pop(self, None)
        self.is_full = False
        self.hub.full.pop(self, None)
        waiters = self.waiters
        self.waiters = None
        if waiters is not None:
            for withheld in waiters:
                withheld.has_room()

    # The store's part -----------------------------------------------------------------------------

    def _append(self, delivery: DeliveryRecord) -> None:
        """To the end of the queue: in memory if that is the end, and has room for it."""
        queue = self.queue
        if queue is None:
            queue = deque()
            self.queue = queue
        journal = self.hub.journal
        message = delivery.message
        assert message is not None
        if journal.spills and (
            self.spilled
            or (
                self.persistent
                and (self._is_long(queue, delivery) or self._is_crowded_for(message))
            )
        ):
            # The copy in the store must be known by the name that others will have it by.
            message.be_named(self.hub.namer)
            if not self.spilled and self.outbox is not None:
                self.hub.crowded[self] = None  # nothing else may ask for it again
            self.spilled += 1
            self.spilled_bytes += delivery.size
            journal.delivery_spilled(self.client_id, delivery)
            if self.seen is not None and not delivery.share:
                self.seen.spilled(message.name[-NAME_BYTES:])
            return
        if self.is_awaited and self.hub.passing.ticket:
            delivery.ticket = self.hub.passing.take()
        queue.append(delivery)
        self.queue_bytes += delivery.size
        self.hub.deliveries.hold(delivery)
        if self.persistent:
            journal.delivery_queued(self.client_id, delivery)

    def _is_long(self, queue: deque[DeliveryRecord], delivery: DeliveryRecord) -> bool:
        """Whether memory holds as much of the queue as it should."""
        if not queue:
            return False
        size = self.queue_bytes + delivery.size
        if self.outbox is None:
            return len(queue) >= AWAY_MESSAGES or size > AWAY_BYTES
        return len(queue) >= PRESENT_MESSAGES or size > PRESENT_BYTES

    def _unspill(self) -> bool:
        """Brings the oldest messages back; False if they are not at hand yet."""
        self.stop_looking()
        queue = self.queue
        if queue is None:
            queue = deque()
            self.queue = queue
        hub = self.hub
        returned = hub.journal.unspill(self.client_id)
        for delivery in returned:
            self.spilled -= 1
            self.spilled_bytes -= delivery.size
            if delivery.message is None:
                self._set_aside(delivery)
                continue
            name = delivery.message.name[-NAME_BYTES:]
            is_wanted = self.seen is None or self.seen.came_back(name)
            if is_wanted and hub.guard.may_have(self, delivery.message):
                queue.append(delivery)
                self.queue_bytes += delivery.size
                hub.deliveries.hold(delivery)
            else:
                hub.journal.spilled_removed(self.client_id, delivery, False)
        if not self.spilled:
            self.spilled_bytes = 0  # of what was damaged it was a guess
        if not returned:
            self._starve()
        return bool(returned)

    def _starve(self) -> None:
        """They are being read, or written: the store's next word is the time to ask again."""
        if not self.is_starving:
            self.is_starving = True
            self.hub.starving.append(self)

    def _set_aside(self, delivery: DeliveryRecord) -> None:
        """Its row is damaged: it cannot be sent, and must not be in the way of those behind it."""
        if not self.damaged:
            logger.error(
                "messages that waited in the store for client %r are damaged: they are set aside "
                "and counted, and the others are sent; `gossamer store check` looks at all of it",
                self.client_id,
            )
        self.damaged += 1
        self.hub.counters.damaged += 1
        self.hub.journal.spilled_removed(self.client_id, delivery, False)

    def _take(self, delivery: DeliveryRecord) -> None:
        """What was spilled is sent: from now on it is a delivery like others."""
        journal = self.hub.journal
        if self.persistent:
            journal.spilled_taken(self.client_id, delivery)
        else:
            journal.spilled_removed(self.client_id, delivery, True)
        delivery.place = 0

    def _forget_first(self, delivery: DeliveryRecord) -> None:
        """What was the first of the queue, and will not be sent."""
        if delivery.place:
            self.hub.journal.spilled_removed(self.client_id, delivery, True)
        else:
            self._forget(delivery)

    # Bounds ---------------------------------------------------------------------------------------

    def _size(self, message: Message) -> int:
        return stored_bytes(message) if self._may_spill() else message_bytes(message)

    def _may_spill(self) -> bool:
        """Whether the store takes what memory should not hold; and what follows that, too."""
        return self.hub.journal.spills and (self.persistent or self.spilled > 0)

    def _waiting_bytes(self) -> int:
        return self.queue_bytes + self.spilled_bytes

    def _bytes_limit(self) -> int:
        return self.queue_bytes_limit if self._may_spill() else self.queue_memory_limit

    def _lacks_room(self, size: int) -> bool:
        """Whether a message of this size is too much; one that nothing waits before never is.

        Of size 0: whether what waits is too much already.
        """
        waiting = self._waiting_bytes()
        if waiting == 0:
            return False
        if waiting + size > self._bytes_limit() or self._lacks_places(1 if size else 0):
            return True
        journal = self.hub.journal
        return self.spilled > 0 and journal.spilled_bytes + size > journal.spill_limit

    def _lacks_places(self, more: int) -> bool:
        places = self.queue_limit
        return places > 0 and self.queued() + self.spilled + more > places

    def _begin_fullness(self) -> None:
        if self.is_full:
            return
        self.is_full = True
        self.hub.full[self] = None
        is_crowded = not self._may_spill() and self.hub.deliveries.is_crowded()
        logger.warning(
            "the queue of client %r is full (%d messages, %d bytes%s): %s",
            self.client_id,
            self.queued() + self.spilled,
            self._waiting_bytes(),
            "; limits.delivery_bytes are taken by all queues together" if is_crowded else "",
            CONSEQUENCES[self.queue_policy],
        )

    def count_dropped(self) -> None:
        self.dropped += 1
        self.hub.counters.dropped_full += 1

    def _drop_oldest(self, size: int) -> None:
        """Until there is room for so many bytes. What is on disk only is read first; meanwhile the
        queue may be longer than its limit by what comes until then."""
        freed = 0
        while self._lacks_room(size):
            queue = self.queue
            if not queue:
                if self.spilled and self._unspill():
                    continue
                break
            oldest = queue.popleft()
            self.queue_bytes -= oldest.size
            self.hub.deliveries.let_go(oldest)
            freed += oldest.size
            self._forget_first(oldest)
            self.count_dropped()
            if freed > size > 0 and self._waiting_bytes() + size <= self._bytes_limit():
                break  # it is others that fill the disk
        if not self.queue:
            self.queue = None

    def _exchange_oldest(self, size: int) -> None:
        """Memory is full of what it holds for all: as much as comes goes, of its own oldest."""
        queue = self.queue
        while queue and size > 0:
            oldest = queue.popleft()
            self.queue_bytes -= oldest.size
            size -= oldest.size
            self.hub.deliveries.let_go(oldest)
            self._forget_first(oldest)
            self.count_dropped()

    def may_refill(self) -> bool:
        """Whether memory takes more of what was spilled: what a session that holds nothing waits
        for, as long as there is any room."""
        deliveries = self.hub.deliveries
        if not deliveries.is_crowded():
            return True
        account = deliveries.account
        return not self.queue_bytes and not self.flight_bytes and account.held <= account.budget

    def _new_delivery(
        self, message: Message, qos: int, retain: bool, identifiers: list[int], share: str
    ) -> DeliveryRecord:
        self._number += 1
        return DeliveryRecord(self._number, message, qos, retain, identifiers, 0, QUEUED, share)

    def _is_repeated(self, message: Message, seen: Seen) -> bool:
        message.be_named(self.hub.namer)
        if not message.name:
            return False
        if seen.is_full():
            self.seen = None
            return False
        return seen.is_repeated(message.name[-NAME_BYTES:])
