"""One client's state: subscriptions, what is on its way in both directions, expiry and will.

A session outlives its connection when its expiry says so; then every change is told to the
journal. A session that ends with its connection never needs to send a message twice, so what is
in flight is remembered by number only.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final

from gossamer.session.aliases import TopicAliases
from gossamer.session.frames import (
    IDENTIFIERS,
    PUBCOMP_HEAD,
    PUBREL_HEAD,
)
from gossamer.session.identity import UNKNOWN_ADDRESS, Identity
from gossamer.session.message import Message
from gossamer.session.naming import NAME_BYTES
from gossamer.session.outlet import Hub, Outlet
from gossamer.session.records import QUEUED, RELEASED, SENT, DeliveryRecord, SessionRecord
from gossamer.session.seen import Seen
from gossamer.session.sending import send
from gossamer.session.subscription import NO_IDENTIFIERS, Receiver, Subscription

NO_BYTES_LIMIT: Final = 1 << 62
NEVER: Final = 0xFFFFFFFF  # the expiry of a session that stays until it is discarded
# A neighbour that is away or slow has this many messages in memory; the rest waits in the store.
SPILL_ABOVE: Final = 10_000
UNSPILL_AT_ONCE: Final = 1_000
# Enough output for one turn: a long queue is sent in pieces, so that a client that does not read
# costs no more than this beside its queue.
TURN_BYTES: Final = 262_144

# What a session without a future remembers of a message in flight.
_SENT_ONCE: Final = DeliveryRecord(0, None, 1, False, NO_IDENTIFIERS, 0, SENT)
_SENT_EXACTLY: Final = DeliveryRecord(0, None, 2, False, NO_IDENTIFIERS, 0, SENT)
_RELEASED: Final = DeliveryRecord(0, None, 2, False, NO_IDENTIFIERS, 0, RELEASED)


class Session:
    """The client's side of nothing but itself: it never looks at another session."""

    __slots__ = (
        "_last_id",
        "_number",
        "aliases",
        "client_id",
        "gives_plain",
        "hub",
        "identity",
        "incoming",
        "inflight",
        "is_peer",
        "outlet",
        "persistent",
        "queue",
        "queue_bytes",
        "queue_bytes_limit",
        "queue_limit",
        "record",
        "saved_in",
        "seen",
        "spilled",
        "subscriptions",
        "takes_plain",
        "unsent",
        "user",
        "window",
    )

    def __init__(self, hub: Hub, record: SessionRecord, queue_limit: int) -> None:
        self.hub = hub
        self.record = record
        self.client_id = record.client_id
        self.user = record.user
        self.identity = Identity(record.client_id, record.user, UNKNOWN_ADDRESS, "")
        self.persistent = record.expiry != 0
        self.is_peer = False  # a neighbouring broker's
        # Of a neighbour: whether QoS 0 is accepted from it, and sent to it.
        self.gives_plain = True
        self.takes_plain = True
        self.queue_limit = queue_limit
        self.queue_bytes = 0  # payloads in the queue
        self.queue_bytes_limit = NO_BYTES_LIMIT
        self.outlet: Outlet | None = None
        self.window = 65_535  # the client's Receive Maximum
        self.subscriptions: dict[str, Subscription] = {}
        self.inflight: dict[int, DeliveryRecord] = {}
        self.incoming: set[int] | None = None  # QoS 2 publications that wait for their PUBREL
        self.queue: deque[DeliveryRecord] | None = None
        self.unsent: dict[int, DeliveryRecord] | None = None  # in flight, not yet sent again
        self.saved_in = 0  # the transaction that first had it; 0 if the store did before the start
        self.seen: Seen | None = None  # while messages may come by two ways
        self.spilled = 0  # messages that follow those in the queue, and are in the store only
        self.aliases: TopicAliases | None = None  # if the client takes any
        self._last_id = 0
        self._number = 0

    # Sending ---------------------------------------------------------------------------------

    def deliver(self, message: Message, receiver: Receiver, now: float) -> None:
        """A message that matched, at the QoS both sides agreed on [MQTT-3.8.4-8]."""
        qos = message.qos if message.qos < receiver.qos else receiver.qos
        if qos == 0:
            self._deliver_at_most_once(message, receiver, now)
            return
        if self.is_peer and not message.name:
            message.name = self.hub.namer.name(message.qos)
        # [MQTT-3.3.1-12], [MQTT-3.3.1-13]
        retain = message.retain and receiver.retain_as_published
        self.enqueue(message, qos, retain, receiver.identifiers, "", now)

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
        outlet = self.outlet
        queue = self.queue
        if (
            outlet is not None
            and not outlet.blocked
            and not queue
            and not self.spilled
            and len(self.inflight) < self.window
        ):
            if not self.persistent and not share:
                packet_id = self._free_id()
                self.inflight[packet_id] = _SENT_ONCE if qos == 1 else _SENT_EXACTLY
                self._send(outlet, message, qos, retain, False, packet_id, identifiers, now)
                return
            delivery = self._new_delivery(message, qos, retain, identifiers, share)
            packet_id = self._free_id()
            delivery.packet_id = packet_id
            delivery.state = SENT
            self.inflight[packet_id] = delivery
            if self.persistent:
                self.hub.journal.delivery_queued(self.client_id, delivery)
            self._send(outlet, message, qos, retain, False, packet_id, identifiers, now)
            return
        if outlet is None and not self.persistent:
            return
        if queue is None:
            queue = deque()
            self.queue = queue
        elif (
            len(queue) >= self.queue_limit
            or self.queue_bytes + len(message.payload) > self.queue_bytes_limit
        ):
            # A full queue keeps what it has promised and refuses what is new.
            self.hub.counters.dropped_full += 1
            return
        delivery = self._new_delivery(message, qos, retain, identifiers, share)
        journal = self.hub.journal
        if self.is_peer and journal.spills and (self.spilled or len(queue) >= SPILL_ABOVE):
            self.spilled += 1
            journal.delivery_spilled(self.client_id, delivery)
            return
        queue.append(delivery)
        self.queue_bytes += len(message.payload)
        if self.persistent:
            journal.delivery_queued(self.client_id, delivery)

    def enqueue_retained(self, messages: list[Message], receiver: Receiver, now: float) -> None:
        """The retained messages of a new subscription, at the client's own pace.

        They wait in the queue by reference, at QoS 0 too, so that a million of them cost a client
        that reads slowly no memory for encodings; the queue's limit does not apply.
        """
        queue = self.queue
        if queue is None:
            queue = deque()
            self.queue = queue
        for message in messages:
            qos = min(message.qos, receiver.qos)
            delivery = self._new_delivery(message, qos, True, receiver.identifiers, "")
            queue.append(delivery)
            if qos and self.persistent:
                self.hub.journal.delivery_queued(self.client_id, delivery)
        self.pump(now)

    def pump(self, now: float) -> None:
        """Sends from the queue what the window, the socket and the turn allow.

        Publications wait here, nothing else does [MQTT-3.3.4-10], [MQTT-4.9.0-3].
        """
        outlet = self.outlet
        if outlet is None:
            return
        is_starved = self.spilled > 0 and self.queued() < UNSPILL_AT_ONCE and not self._unspill()
        queue = self.queue
        if queue is None:
            return
        while queue and not outlet.blocked:
            if outlet.size >= TURN_BYTES:
                self.hub.waiting.append(self)
                return
            delivery = queue[0]
            qos = delivery.qos
            if qos and len(self.inflight) >= self.window:
                return
            queue.popleft()
            message = delivery.message
            assert message is not None
            self.queue_bytes = max(0, self.queue_bytes - len(message.payload))
            if message.is_expired(now):
                # [MQTT-3.3.2-5]
                self.hub.counters.expired += 1
                self._forget(delivery)
                continue
            packet_id = 0
            if qos:
                packet_id = self._free_id()
                delivery.packet_id = packet_id
                delivery.state = SENT
                self.inflight[packet_id] = delivery
                if self.persistent:
                    self.hub.journal.delivery_sent(self.client_id, delivery.number, packet_id)
            self._send(
                outlet, message, qos, delivery.retain, False, packet_id, delivery.identifiers, now
            )
        if not queue:
            self.queue = None
            self.queue_bytes = 0
            if self.spilled and not is_starved:
                self.hub.waiting.append(self)

    def resume(self, now: float) -> None:
        """A client came back: what it has not acknowledged goes out again, in the first order
        [MQTT-4.4.0-1], even if it has expired [MQTT-4.3.3-7]; publications as far as the window
        of the new connection allows."""
        outlet = self.outlet
        assert outlet is not None
        pending = list(self.inflight.values())
        pending.sort(key=_by_number)
        room = self.window
        for delivery in pending:
            if delivery.state == RELEASED:
                room -= 1
        unsent: dict[int, DeliveryRecord] = {}
        for delivery in pending:
            if delivery.state == RELEASED:
                outlet.put(PUBREL_HEAD + IDENTIFIERS[delivery.packet_id])
            elif room > 0:
                room -= 1
                self._send_again(outlet, delivery, now)
            else:
                unsent[delivery.packet_id] = delivery
        self.unsent = unsent if unsent else None
        self.pump(now)

    def _resume_unsent(self, outlet: Outlet, unsent: dict[int, DeliveryRecord], now: float) -> None:
        while unsent and len(self.inflight) - len(unsent) < self.window:  # [MQTT-3.3.4-9]
            self._send_again(outlet, unsent.pop(next(iter(unsent))), now)
        if not unsent:
            self.unsent = None

    def _send_again(self, outlet: Outlet, delivery: DeliveryRecord, now: float) -> None:
        message = delivery.message
        assert message is not None
        self._send(
            outlet,
            message,
            delivery.qos,
            delivery.retain,
            True,  # [MQTT-3.3.1-1]
            delivery.packet_id,
            delivery.identifiers,
            now,
        )

    def _deliver_at_most_once(self, message: Message, receiver: Receiver, now: float) -> None:
        outlet = self.outlet
        if outlet is None:
            return
        if outlet.blocked:
            self.hub.counters.dropped_slow += 1
            return
        retain = message.retain and receiver.retain_as_published
        # DUP 0 [MQTT-4.3.1-1]
        self._send(outlet, message, 0, retain, False, 0, receiver.identifiers, now)

    def _send(
        self,
        outlet: Outlet,
        message: Message,
        qos: int,
        retain: bool,
        dup: bool,
        packet_id: int,
        identifiers: list[int],
        now: float,
    ) -> None:
        if send(outlet, self.aliases, message, qos, retain, dup, packet_id, identifiers, now):
            return
        # [MQTT-3.1.2-25]: the server acts as if it had sent the message.
        self.hub.counters.dropped_too_large += 1
        if packet_id:
            self._forget(self.inflight.pop(packet_id))

    def _unspill(self) -> bool:
        """Brings the oldest messages back; False if the store has none on disk yet."""
        queue = self.queue
        if queue is None:
            queue = deque()
            self.queue = queue
        journal = self.hub.journal
        returned = journal.unspill(self.client_id, UNSPILL_AT_ONCE)
        for spilled in returned:
            self._number += 1
            spilled.number = self._number
            queue.append(spilled)
            journal.delivery_queued(self.client_id, spilled)
        self.spilled -= len(returned)
        if not returned:
            # They are being written: the next commit is the time to ask again.
            self.hub.starving.append(self)
        return bool(returned)

    # Acknowledgements of what we sent -----------------------------------------------------------

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
        if self.persistent:
            self.hub.journal.delivery_removed(self.client_id, delivery.number)
        unsent = self.unsent
        if unsent is not None:
            unsent.pop(packet_id, None)
            outlet = self.outlet
            assert outlet is not None
            self._resume_unsent(outlet, unsent, now)
        if self.queue is not None or self.spilled:
            self.pump(now)
        return True

    def received(self, packet_id: int, delivery: DeliveryRecord) -> None:
        """PUBREC for a QoS 2 message: only PUBREL is repeated from here on [MQTT-4.3.3-6]."""
        if self.unsent is not None:
            self.unsent.pop(packet_id, None)
        if not self.persistent:
            self.inflight[packet_id] = _RELEASED
        elif delivery.state == SENT:
            if self.seen is not None and delivery.message is not None:
                self.seen.done(delivery.message.name[-NAME_BYTES:])
            delivery.state = RELEASED
            delivery.message = None
            self.hub.journal.delivery_released(self.client_id, delivery.number)
        outlet = self.outlet
        assert outlet is not None
        # [MQTT-4.3.3-4]; it stays in flight until PUBCOMP [MQTT-4.3.3-5].
        outlet.put_promise(PUBREL_HEAD + IDENTIFIERS[packet_id])

    # What the client sends at QoS 2 -------------------------------------------------------------

    def is_incoming(self, packet_id: int) -> bool:
        incoming = self.incoming
        return incoming is not None and packet_id in incoming

    def accept_incoming(self, packet_id: int) -> None:
        incoming = self.incoming
        if incoming is None:
            incoming = set()
            self.incoming = incoming
        incoming.add(packet_id)
        if self.persistent:
            self.hub.journal.incoming_added(self.client_id, packet_id)

    def release_incoming(self, packet_id: int) -> bool:
        """PUBREL: the identifier is free for a new message [MQTT-4.3.3-12]; False if it was so."""
        incoming = self.incoming
        known = incoming is not None and packet_id in incoming
        if known:
            assert incoming is not None
            incoming.discard(packet_id)
            if self.persistent:
                self.hub.journal.incoming_removed(self.client_id, packet_id)
            outlet = self.outlet
            assert outlet is not None
            outlet.put_promise(PUBCOMP_HEAD + IDENTIFIERS[packet_id])
        return known

    # Bookkeeping --------------------------------------------------------------------------------

    def restore(
        self, deliveries: list[DeliveryRecord], incoming: list[int], spilled: int = 0
    ) -> None:
        """What a store kept of this session."""
        self.spilled = spilled
        for delivery in deliveries:
            self._number = max(self._number, delivery.number)
            if delivery.state == QUEUED:
                if self.queue is None:
                    self.queue = deque()
                self.queue.append(delivery)
            else:
                self.inflight[delivery.packet_id] = delivery
                self._last_id = max(self._last_id, delivery.packet_id)
        if self.queue is not None:
            self.queue_bytes = _payload_bytes(self.queue)
        if incoming:
            self.incoming = set(incoming)

    def number_after(self, number: int) -> None:
        """New deliveries come after those with this number, which are on their way here."""
        self._number = max(self._number, number)

    def last_number(self) -> int:
        return self._number

    def give_away(self) -> tuple[list[DeliveryRecord], list[int]]:
        """All deliveries, and the publications that wait for their PUBREL; nothing is left."""
        deliveries = self.left_over()
        incoming = sorted(self.incoming or ())
        for delivery in deliveries:
            self._forget(delivery)
            message = delivery.message
            if self.seen is not None and message is not None and delivery.state == QUEUED:
                self.seen.gave_away(message.name[-NAME_BYTES:])
        self.inflight.clear()
        self.unsent = None
        self.queue = None
        self.queue_bytes = 0
        self.incoming = None
        if self.persistent:
            for packet_id in incoming:
                self.hub.journal.incoming_removed(self.client_id, packet_id)
        return deliveries, incoming

    def queued(self) -> int:
        """Messages in memory that were not sent yet."""
        queue = self.queue
        return 0 if queue is None else len(queue)

    def reclaim(self) -> bool:
        """Brings everything back that was spilled; False if some of it is not on disk yet."""
        while self.spilled:
            if not self._unspill():
                return False
        return True

    def withdraw(self, deliveries: list[DeliveryRecord]) -> None:
        """Takes back what was not acknowledged yet; a client that has it may keep it."""
        numbers: set[int] = set()
        for delivery in deliveries:
            numbers.add(delivery.number)
            if delivery.packet_id:
                self.inflight.pop(delivery.packet_id, None)
                if self.unsent is not None:
                    self.unsent.pop(delivery.packet_id, None)
            self._forget(delivery)
        if self.queue is not None:
            kept = [delivery for delivery in self.queue if delivery.number not in numbers]
            self.queue = deque(kept) if kept else None
            self.queue_bytes = _payload_bytes(kept)

    def left_over(self) -> list[DeliveryRecord]:
        """Everything not acknowledged, in order: what a session that ends leaves behind."""
        pending = list(self.inflight.values())
        pending.sort(key=_by_number)
        if self.queue is not None:
            pending.extend(self.queue)
        return pending

    def _new_delivery(
        self, message: Message, qos: int, retain: bool, identifiers: list[int], share: str
    ) -> DeliveryRecord:
        self._number += 1
        return DeliveryRecord(self._number, message, qos, retain, identifiers, 0, QUEUED, share)

    def _is_repeated(self, message: Message, seen: Seen) -> bool:
        if not message.name:
            message.name = self.hub.namer.name(message.qos)
        if not message.name:
            return False
        if seen.is_full():
            self.seen = None
            return False
        return seen.is_repeated(message.name[-NAME_BYTES:])

    def _forget(self, delivery: DeliveryRecord) -> None:
        if self.persistent and delivery.number and delivery.qos:
            self.hub.journal.delivery_removed(self.client_id, delivery.number)

    def _free_id(self) -> int:
        """The next packet identifier not in use; the window keeps one free [MQTT-2.2.1-4]."""
        packet_id = self._last_id
        inflight = self.inflight
        while True:
            packet_id = packet_id + 1 if packet_id < 65_535 else 1
            if packet_id not in inflight:
                break
        self._last_id = packet_id
        return packet_id


def _payload_bytes(deliveries: Iterable[DeliveryRecord]) -> int:
    total = 0
    for delivery in deliveries:
        if delivery.message is not None:
            total += len(delivery.message.payload)
    return total


def _by_number(delivery: DeliveryRecord) -> int:
    return delivery.number
