"""One client's state: subscriptions, what is on its way in both directions, expiry and will.

A session outlives its connection when its expiry says so; then every change is told to the
journal. What goes to the client is in `inflight.py` and `queue.py`; here is who the client is, what
comes from it at QoS 2, and how a session is restored, moved and taken back.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from gossamer.budget.ledger import Owner
from gossamer.session.identity import UNKNOWN_ADDRESS, Identity
from gossamer.session.message import NAME_BYTES, Message
from gossamer.session.outbox import Hub
from gossamer.session.queue import Queue
from gossamer.session.records import QUEUED, DeliveryRecord, SessionRecord
from gossamer.session.subscription import Receiver, Subscription
from gossamer.wire.publish_codec import IDENTIFIERS, PUBCOMP_HEAD

NEVER: Final = 0xFFFFFFFF  # the expiry of a session that stays until it is discarded


class Session(Queue):
    """The client's side of nothing but itself: it never looks at another session."""

    __slots__ = (
        "charged",
        "counts_as_lasting",
        "gives_plain",
        "holder",
        "identity",
        "incoming",
        "owner",
        "record",
        "saved_in",
        "subscriptions",
        "takes_plain",
        "user",
    )

    def __init__(self, hub: Hub, record: SessionRecord) -> None:
        super().__init__(hub, record.client_id, record.expiry != 0)
        self.record = record
        self.user = record.user
        self.identity = Identity(record.client_id, record.user, UNKNOWN_ADDRESS, "")
        self.charged = 0  # bytes of the session itself
        self.owner = Owner(record.client_id, record.user, "")  # of what it holds in the ledger
        self.holder = ""  # under whom it is counted, and whether among those that last
        self.counts_as_lasting = False
        # Of a neighbour: whether QoS 0 is accepted from it, and sent to it.
        self.gives_plain = True
        self.takes_plain = True
        self.subscriptions: dict[str, Subscription] = {}
        self.incoming: set[int] | None = None  # QoS 2 publications that wait for their PUBREL
        self.saved_in = 0  # the transaction that first had it; 0 if the store did before the start

    # To the client --------------------------------------------------------------------------------

    def deliver(self, message: Message, receiver: Receiver, now: float) -> None:
        """A message that matched, at the QoS both sides agreed on [MQTT-3.8.4-8]."""
        qos = message.qos if message.qos < receiver.qos else receiver.qos
        if qos == 0:
            self._deliver_at_most_once(message, receiver, now)
            return
        if self.is_peer:
            message.be_named(self.hub.namer)
        # [MQTT-3.3.1-12], [MQTT-3.3.1-13]
        retain = message.retain and receiver.retain_as_published
        self.enqueue(message, qos, retain, receiver.identifiers, "", now)

    def _deliver_at_most_once(self, message: Message, receiver: Receiver, now: float) -> None:
        outbox = self.outbox
        if outbox is None:
            return
        if outbox.blocked:
            self.hub.counters.dropped_slow += 1
            return
        retain = message.retain and receiver.retain_as_published
        # DUP 0 [MQTT-4.3.1-1]
        self._send(outbox, message, 0, retain, False, 0, receiver.identifiers, now)

    # From the client, at QoS 2 --------------------------------------------------------------------

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

    def refuse_incoming(self, packet_id: int) -> None:
        """It was accepted a moment ago, and is not: the identifier is free [MQTT-4.3.3-9]."""
        incoming = self.incoming
        if incoming is not None and packet_id in incoming:
            incoming.discard(packet_id)
            if self.persistent:
                self.hub.journal.incoming_removed(self.client_id, packet_id)

    def release_incoming(self, packet_id: int) -> bool:
        """PUBREL: the identifier is free for a new message [MQTT-4.3.3-12]; False if it was so."""
        incoming = self.incoming
        known = incoming is not None and packet_id in incoming
        if known:
            assert incoming is not None
            incoming.discard(packet_id)
            if self.persistent:
                self.hub.journal.incoming_removed(self.client_id, packet_id)
            outbox = self.outbox
            assert outbox is not None
            outbox.put_promise(PUBCOMP_HEAD + IDENTIFIERS[packet_id])
        return known

    # Kept, moved and taken back -------------------------------------------------------------------

    def restore(self, deliveries: list[DeliveryRecord], incoming: list[int]) -> None:
        """What a store kept of this session, or another broker sent."""
        for delivery in deliveries:
            self._number = max(self._number, delivery.number)
            if delivery.state == QUEUED:
                if self.queue is None:
                    self.queue = deque()
                assert delivery.message is not None
                delivery.size = self._size(delivery.message)
                self.queue.append(delivery)
                self.queue_bytes += delivery.size
                self.hub.deliveries.hold(delivery)
            else:
                self.inflight[delivery.packet_id] = delivery
                if delivery.message is not None:
                    delivery.size = 0
                    self._took_off(delivery, delivery.message)
                self._last_id = max(self._last_id, delivery.packet_id)
        if incoming:
            self.incoming = set(incoming)

    def restore_spilled(self, messages: int, size: int, last_number: int) -> None:
        """What the store keeps of the queue's end."""
        self.spilled = messages
        self.spilled_bytes = size
        self._number = max(self._number, last_number)

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
            self.hub.deliveries.let_go(delivery)
            self._forget(delivery)
            message = delivery.message
            if self.seen is not None and message is not None and delivery.state == QUEUED:
                self.seen.gave_away(message.name[-NAME_BYTES:])
        self.inflight.clear()
        self.flight_bytes = 0
        self.unsent = None
        self.queue = None
        self.queue_bytes = 0
        self.incoming = None
        if self.persistent:
            for packet_id in incoming:
                self.hub.journal.incoming_removed(self.client_id, packet_id)
        return deliveries, incoming

    def left_over(self) -> list[DeliveryRecord]:
        """Everything not acknowledged, in order: what a session that ends leaves behind."""
        pending = self.in_first_order()
        if self.queue is not None:
            pending.extend(self.queue)
        return pending

    def leave_lane(self) -> None:
        """The session ends: what memory holds of its queue is not in the store any more, and what
        the store holds is not its own, for another session may get its name."""
        for delivery in self.queue or ():
            if delivery.place:
                self.hub.journal.spilled_removed(self.client_id, delivery, True)
                delivery.place = 0
        self.spilled = 0
        self.spilled_bytes = 0

    def withdraw(self, deliveries: list[DeliveryRecord]) -> None:
        """Takes back what was not acknowledged yet; a client that has it may keep it."""
        numbers: set[int] = set()
        for delivery in deliveries:
            numbers.add(delivery.number)
            if delivery.packet_id:
                if self.inflight.pop(delivery.packet_id, None) is not None:
                    self._landed(delivery)
                if self.unsent is not None:
                    self.unsent.pop(delivery.packet_id, None)
            self.hub.deliveries.let_go(delivery)
            self._forget(delivery)
        if self.queue is not None:
            kept = [delivery for delivery in self.queue if delivery.number not in numbers]
            self.queue = deque(kept) if kept else None
            self.queue_bytes = sum([delivery.size for delivery in kept])
