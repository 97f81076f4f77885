"""One client's state: who it is, what it subscribes to, what is on its way in both directions.

A session outlives its connection when its expiry says so; then every change is told to the journal.

A message at QoS 1 or 2 is *in flight* from when it is sent until it is acknowledged, as many as the
client's window has room for. What comes behind that waits in the *queue*; an acknowledgement makes
room, so it is then that the next message leaves it. The queue of a session that lasts lives in the
store: memory holds its head, and the *lane* has the rest (`lane.py`). Without a store, and for a
session that ends with its connection, memory holds all of it, within a smaller limit. How a queue
grows, and what a full one does, is in `queue.py`. Neighbours' sessions are like clients'.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from gossamer.budget.ledger import Owner
from gossamer.session.hub import Hub
from gossamer.session.identity import UNKNOWN_ADDRESS, Holder, Identity
from gossamer.session.lane import Lane
from gossamer.session.message import Message
from gossamer.session.message_bytes import stored_bytes
from gossamer.session.message_names import NAME_BYTES
from gossamer.session.outbox import (
    AWAITS_PUBCOMP,
    LAST_IDENTIFIER,
    SENT_EXACTLY,
    SENT_ONCE,
    NumbersInFlight,
    Outbox,
)
from gossamer.session.queue import (
    append,
    drop_oldest,
    is_crowded_for,
    let_go_of_first,
    look_for_room,
    may_refill,
    put_first,
    refill,
    size_of,
    takes_another,
    unfolded,
)
from gossamer.session.queue_policy import NO_LIMITS, QueueLimits, Withheld
from gossamer.session.records import QUEUED, RELEASED, SENT, DeliveryRecord, SessionRecord
from gossamer.session.resumption import in_first_order, resume_more
from gossamer.session.seen_names import Seen
from gossamer.session.subscription import Owed, Receiver, Subscription
from gossamer.wire.errors import ProtocolError

NEVER: Final = 0xFFFFFFFF  # the expiry of a session that stays until it is discarded

# The next messages are asked for while there are still some, so that the client need not wait.
REFILL_BELOW: Final = 2_000
REFILL_BYTES: Final = 2 << 20
# What is in flight is kept until it is acknowledged: past so much the rest waits in the queue,
# however many the client's Receive Maximum lets it have.
FLIGHT_BYTES: Final = 8 << 20
# Enough output for one turn: a long queue is sent in pieces, so that a client that does not read
# costs no more than this beside its queue, and others need not wait for all of it.
TURN_BYTES: Final = 262_144
TURN_MESSAGES: Final = 200


class Session:
    """The client's side of nothing but itself: it never looks at another session."""

    __slots__ = (
        "_last_id",
        "_number",
        "charged",
        "client_id",
        "counts_as_lasting",
        "dropped",
        "flight_bytes",
        "gives_plain",
        "holder",
        "hub",
        "identity",
        "incoming",
        "inflight",
        "is_awaited",
        "is_full",
        "is_peer",
        "is_starving",
        "lane",
        "limits",
        "outbox",
        "owed",
        "owner",
        "persistent",
        "queue",
        "queue_bytes",
        "record",
        "saved_in",
        "seen",
        "subscriptions",
        "takes_plain",
        "takes_runs",
        "unsent",
        "user",
        "waiters",
        "window",
        "withheld",
        "withheld_bytes",
    )

    def __init__(self, hub: Hub, record: SessionRecord) -> None:
        self.hub = hub
        self.record = record
        self.client_id = record.client_id
        self.user = record.user
        self.identity = Identity(record.client_id, record.user, UNKNOWN_ADDRESS, "")
        self.owner: Owner = self.identity  # of what it holds in the ledger
        self.charged = 0  # bytes of the session itself
        self.holder: Holder | None = None  # under whom it is counted
        self.saved_in = 0  # the transaction that first had it; 0 if the store did before the start
        self.outbox: Outbox | None = None  # while the client is connected
        self.subscriptions: dict[str, Subscription] = {}
        # In flight
        self.inflight: dict[int, DeliveryRecord] = {}  # by packet identifier
        self.window = 65_535  # the client's Receive Maximum
        self.flight_bytes = 0  # of the messages in flight that are kept to be sent again
        self.unsent: dict[int, DeliveryRecord] | None = None  # in flight, not yet sent again
        self._last_id = 0
        # In the queue, and what becomes of it when it is full
        self.queue: deque[DeliveryRecord] | None = None  # its head, if the lane has more
        self.queue_bytes = 0  # topics, payloads and properties in `queue`
        self.lane = hub.no_lane  # `own_lane` is for whoever changes it
        self.limits: QueueLimits = NO_LIMITS
        self.dropped = 0  # messages that its full queue did not take, or let go of
        self.waiters: list[Withheld] | None = None  # publishers that wait for room here
        self.owed: Owed | None = None  # retained messages that are not in the queue yet
        self.seen: Seen | None = None  # while messages may come by two ways
        self._number = 0  # of its last delivery
        # From the client
        self.incoming: set[int] | None = None  # QoS 2 publications that wait for their PUBREL
        self.withheld: dict[int, Withheld] | None = None  # those whose acknowledgement waits
        self.withheld_bytes = 0  # of those that are being passed on
        # A byte each, and so together: between wider fields each would take eight.
        self.persistent = record.expiry != 0  # every change is told to the journal
        self.counts_as_lasting = False  # with its holder
        self.is_full = False  # its queue, since it was and until it has room to speak of
        self.is_starving = False  # waits for the store to give back what the lane has
        # A neighbouring broker's: whether QoS 0 is accepted from it, and sent to it, whether it
        # gets runs as one message, and whether those whose messages are passed on to it wait for
        # its answers.
        self.is_peer = False
        self.gives_plain = True
        self.takes_plain = True
        self.takes_runs = True
        self.is_awaited = False

    def bound(self, limits: QueueLimits) -> None:
        """How long its queue may become from now on."""
        self.limits = limits

    # To the client --------------------------------------------------------------------------------

    def deliver(self, message: Message, receiver: Receiver, now: float) -> None:
        """A message that matched, at the QoS both sides agreed on [MQTT-3.8.4-8]."""
        qos = message.qos if message.qos < receiver.qos else receiver.qos
        # [MQTT-3.3.1-12], [MQTT-3.3.1-13]
        retain = message.retain and receiver.retain_as_published
        if qos:
            if self.is_peer:
                message.be_named(self.hub.namer)
                if not self.takes_runs and message.is_run():
                    for single in message.singles():
                        self.enqueue(single, qos, retain, receiver.identifiers, "", now)
                    return
            self.enqueue(message, qos, retain, receiver.identifiers, "", now)
            return
        outbox = self.outbox
        if outbox is None:
            return
        if outbox.blocked:
            self.hub.counters.dropped_slow += 1
            if self.owed is not None:
                self.owed.has_missed = True
            return
        # DUP 0 [MQTT-4.3.1-1]
        self.send(outbox, message, 0, retain, False, 0, receiver.identifiers, now)

    def deliver_as_retained(self, message: Message, receiver: Receiver, now: float) -> None:
        """One retained message, in the place of one that matched: limits apply as to that."""
        qos = message.qos if message.qos < receiver.qos else receiver.qos
        if qos:
            self.enqueue(message, qos, True, receiver.identifiers, "", now)
            return
        outbox = self.outbox
        if outbox is not None and not outbox.blocked:
            self.send(outbox, message, 0, True, False, 0, receiver.identifiers, now)

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
        if (
            outbox is not None
            and not outbox.blocked
            and not self.queue
            and not self.lane.messages
            and self.in_flight() < self.window
            and self.flight_bytes < FLIGHT_BYTES
            and not ((self.persistent or share) and is_crowded_for(self, message))
        ):
            if not self.persistent and not share:
                packet_id = self.take_numbers(1, qos)[0]
            else:
                packet_id = self._free_id()
                delivery = self.new_delivery(message, qos, retain, identifiers, share)
                if self.is_awaited and self.hub.passing.ticket:
                    delivery.ticket = self.hub.passing.take()
                self._take_off(packet_id, delivery, message)
                if self.persistent:
                    self.hub.journal.delivery_queued(self.client_id, delivery)
            self.send(outbox, message, qos, retain, False, packet_id, identifiers, now)
        elif outbox is not None or self.persistent:
            size = size_of(self, message)
            if takes_another(self, message, size, qos, retain, identifiers, share):
                delivery = self.new_delivery(message, qos, retain, identifiers, share)
                delivery.size = size
                append(self, delivery)

    def enqueue_retained(self, messages: list[Message], receiver: Receiver, now: float) -> None:
        """Retained messages of a new subscription, at QoS 0 too; the queue's limit does not apply.

        Whoever calls gives no more at a time than may wait in memory.
        """
        queue = self.head()
        for message in messages:
            qos = min(message.qos, receiver.qos)
            delivery = self.new_delivery(message, qos, True, receiver.identifiers, "")
            if qos and self.lane.messages:
                delivery.size = stored_bytes(message)
                append(self, delivery)
                continue
            queue.append(delivery)
            if qos and self.persistent:
                self.hub.journal.delivery_queued(self.client_id, delivery)
        self.pump(now)

    def pump(self, now: float) -> None:
        """Sends from the queue what the window, the socket and the turn allow.

        Publications wait here, nothing else does [MQTT-3.3.4-10], [MQTT-4.9.0-3].
        """
        outbox = self.outbox
        if outbox is None:
            if self.is_full:
                drop_oldest(self, 0)  # what it asked the store for has come
            return
        lane = self.lane
        if (
            lane.messages
            and self.window
            and not self.is_starving
            and self.queued() < REFILL_BELOW
            and self.queue_bytes < REFILL_BYTES
        ):
            if self.is_peer or may_refill(self):
                refill(self)
            else:
                self.hub.crowded[self] = None  # it is asked again when there is room
        queue = self.queue
        if queue is None:
            if self.owed is not None and not lane.messages:
                self.hub.owing[self] = None
            return
        left = TURN_MESSAGES
        while queue and not outbox.blocked:
            if outbox.size >= TURN_BYTES or left == 0:
                self.hub.waiting[self] = None
                break
            left -= 1
            delivery = queue[0]
            qos = delivery.qos
            if qos and (self.in_flight() >= self.window or self.flight_bytes >= FLIGHT_BYTES):
                break
            queue.popleft()
            message = delivery.message
            assert message is not None
            self.queue_bytes -= delivery.size
            if not self.takes_runs and message.is_run():
                put_first(self, unfolded(self, delivery))
                continue
            if message.is_expired(now):
                # [MQTT-3.3.2-5]
                self.hub.counters.expired += 1
                let_go_of_first(self, delivery)
                continue
            packet_id = 0
            if qos:
                packet_id = self._free_id()
                self._take_off(packet_id, delivery, message)
                if delivery.place:
                    self.own_lane().sent(delivery, self.persistent)
                elif self.persistent:
                    self.hub.journal.delivery_sent(self.client_id, delivery.number, packet_id)
            self.send(
                outbox, message, qos, delivery.retain, False, packet_id, delivery.identifiers, now
            )
        if not queue:
            self.queue = None
            if lane.messages:
                if not self.is_starving and self not in self.hub.crowded:
                    self.hub.waiting[self] = None
            elif self.owed is not None:
                self.hub.owing[self] = None
        if self.is_full:
            look_for_room(self)

    def acknowledged(self, packet_id: int, qos: int, state: int, now: float) -> bool:
        """The message is done with; False if it is not one of that QoS in that state.

        An identifier that is not in use is ignored.
        """
        numbers = self._numbers()
        come = 0 if numbers is None else numbers.state(packet_id)
        if numbers is not None and come:
            if come != _number_state(qos, state):
                return False
            numbers.free(packet_id)
        else:
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
            resume_more(self, unsent, packet_id, now)
        if self.queue is not None or self.lane.messages:
            self.pump(now)
        return True

    def is_in_flight(self, packet_id: int) -> bool:
        numbers = self._numbers()
        if numbers is not None and numbers.state(packet_id):
            return True
        return packet_id in self.inflight

    def received(self, packet_id: int, delivery: DeliveryRecord) -> None:
        """PUBREC for a QoS 2 message: only PUBREL is repeated from here on [MQTT-4.3.3-6]."""
        if self.unsent is not None:
            self.unsent.pop(packet_id, None)
        self.landed(delivery)
        if delivery.state == SENT:
            if self.seen is not None and delivery.message is not None:
                self.seen.done(delivery.message.name[-NAME_BYTES:])
            if delivery.ticket:
                self._passed(delivery)
            delivery.state = RELEASED
            delivery.message = None
            if self.persistent:
                self.hub.journal.delivery_released(self.client_id, delivery.number)

    def send(
        self,
        outbox: Outbox,
        message: Message,
        qos: int,
        retain: bool,
        dup: bool,
        packet_id: int,
        identifiers: list[int],
        now: float,
    ) -> None:
        try:
            if outbox.send(message, qos, retain, dup, packet_id, identifiers, now):
                return
            # [MQTT-3.1.2-25]: the server acts as if it had sent the message.
            self.hub.counters.dropped_too_large += 1
        except (ProtocolError, ValueError, OverflowError) as error:
            # What no packet can carry is set aside; it must not be in the way of those behind it.
            self.hub.faults.note("a delivery", error, f"client {self.client_id!r}", now)
        if packet_id:
            delivery = self.inflight.pop(packet_id, None)
            if delivery is not None:
                self.landed(delivery)
                self.forget(delivery)
            elif outbox.numbers is not None:
                outbox.numbers.free(packet_id)

    def in_flight(self) -> int:
        """How many messages are."""
        numbers = self._numbers()
        return len(self.inflight) + (0 if numbers is None else numbers.count)

    def _numbers(self) -> NumbersInFlight | None:
        """A session that ends with its connection remembers by number only what it has in flight,
        but for what was queued before or is for a shared group."""
        outbox = self.outbox
        return None if outbox is None else outbox.numbers

    def _free_id(self, needs_slot: bool = False) -> int:
        """The next packet identifier not in use; the window keeps one free [MQTT-2.2.1-4]. Only one
        that is to be remembered by number needs a slot among those."""
        packet_id = self._last_id
        inflight = self.inflight
        numbers = self._numbers()
        while True:
            packet_id = packet_id + 1 if packet_id < LAST_IDENTIFIER else 1
            if packet_id in inflight:
                continue
            if numbers is None or numbers.is_free(packet_id, needs_slot):
                break
        self._last_id = packet_id
        return packet_id

    def take_numbers(self, most: int, qos: int) -> tuple[int, int]:
        """Identifiers for new messages that are remembered by number only: the first one, and how
        many follow each other from there, up to so many. Their messages are in flight now."""
        outbox = self.outbox
        assert outbox is not None
        numbers = outbox.numbers
        if numbers is None:
            numbers = NumbersInFlight()
            outbox.numbers = numbers
        # Those that are remembered otherwise need no slot, but leave fewer that one is free for.
        numbers.reserve(most + len(self.inflight))
        first = self._free_id(True)
        count = numbers.free_from(first, most) if most > 1 and not self.inflight else 1
        numbers.put(first, count, SENT_ONCE if qos == 1 else SENT_EXACTLY)
        self._last_id = first + count - 1
        return first, count

    def _take_off(self, packet_id: int, delivery: DeliveryRecord, message: Message) -> None:
        """It is in flight now, and counts there instead of in the queue."""
        delivery.packet_id = packet_id
        delivery.state = SENT
        self.inflight[packet_id] = delivery
        self._count_in_flight(delivery, message)

    def fly_again(self, delivery: DeliveryRecord) -> None:
        """It was in flight before, under the identifier that it has."""
        self.inflight[delivery.packet_id] = delivery
        self._last_id = max(self._last_id, delivery.packet_id)
        if delivery.message is not None:
            delivery.size = 0
            self._count_in_flight(delivery, delivery.message)

    def _count_in_flight(self, delivery: DeliveryRecord, message: Message) -> None:
        if not delivery.size:
            delivery.size = len(message.topic_bytes) + len(message.payload)
        self.flight_bytes += delivery.size
        self.hub.deliveries.hold(delivery)

    def landed(self, delivery: DeliveryRecord) -> None:
        """Its message need not be kept any more."""
        self.hub.deliveries.let_go(delivery)
        self.flight_bytes -= delivery.size
        delivery.size = 0

    def _passed(self, delivery: DeliveryRecord) -> None:
        """Whoever gave it to this broker to pass on need not wait for this delivery any more."""
        ticket = delivery.ticket
        delivery.ticket = 0
        self.hub.passing.done(ticket)

    def end_awaiting(self) -> None:
        """It cannot be reached: what is for it stays here, and who gave it need not wait."""
        self.is_awaited = False
        for delivery in (*self.inflight.values(), *(self.queue or ())):
            if delivery.ticket:
                self._passed(delivery)

    def _is_repeated(self, message: Message, seen: Seen) -> bool:
        message.be_named(self.hub.namer)
        if not message.name:
            return False
        if seen.is_full():
            self.seen = None
            return False
        return seen.is_repeated(message.name[-NAME_BYTES:])

    def queued(self) -> int:
        """Messages in memory that were not sent yet."""
        queue = self.queue
        return 0 if queue is None else len(queue)

    def head(self) -> deque[DeliveryRecord]:
        """What memory has of the queue, to add to it."""
        queue = self.queue
        if queue is None:
            queue = deque()
            self.queue = queue
        return queue

    def own_lane(self) -> Lane:
        """Its lane, to change what is in it."""
        lane = self.lane
        if lane is self.hub.no_lane:
            lane = Lane(self.hub, self.client_id)
            self.lane = lane
        return lane

    def new_delivery(
        self, message: Message, qos: int, retain: bool, identifiers: list[int], share: str
    ) -> DeliveryRecord:
        self._number += 1
        return DeliveryRecord(self._number, message, qos, retain, identifiers, 0, QUEUED, share)

    def number_after(self, number: int) -> None:
        """New deliveries come after those with this number, which are on their way here."""
        self._number = max(self._number, number)

    def last_number(self) -> int:
        return self._number

    def left_over(self) -> list[DeliveryRecord]:
        """Everything not acknowledged, in order: what a session that ends leaves behind."""
        pending = in_first_order(self)
        if self.queue is not None:
            pending.extend(self.queue)
        return pending

    def forget(self, delivery: DeliveryRecord) -> None:
        """It will not be sent, or not again: nobody waits for it, and nothing keeps it."""
        if delivery.ticket:
            self._passed(delivery)
        if delivery.place:
            self.own_lane().drop(delivery, False)
        elif self.persistent and delivery.number and delivery.qos:
            self.hub.journal.delivery_removed(self.client_id, delivery.number)


def _number_state(qos: int, state: int) -> int:
    """The same of a message that is remembered by number only."""
    if qos == 1:
        return SENT_ONCE
    return SENT_EXACTLY if state == SENT else AWAITS_PUBCOMP
