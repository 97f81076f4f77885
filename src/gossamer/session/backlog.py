"""What waits for its turn to be sent to one client: the queue, its bounds, and what spills over.

An acknowledgement makes room in the window, so it is here that the next message leaves the queue.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from typing import Final

from gossamer.session.flight import SENT_EXACTLY, SENT_ONCE, Flight
from gossamer.session.message import Message
from gossamer.session.naming import NAME_BYTES
from gossamer.session.outlet import Hub
from gossamer.session.owed import Owed
from gossamer.session.records import QUEUED, SENT, DeliveryRecord
from gossamer.session.seen import Seen
from gossamer.session.subscription import Receiver

NO_BYTES_LIMIT: Final = 1 << 62
# A neighbour that is away or slow has this many messages in memory; the rest waits in the store.
SPILL_ABOVE: Final = 10_000
UNSPILL_AT_ONCE: Final = 1_000
# Enough output for one turn: a long queue is sent in pieces, so that a client that does not read
# costs no more than this beside its queue.
TURN_BYTES: Final = 262_144


class Backlog(Flight):
    """What is to be sent, in order, behind what is in flight."""

    __slots__ = (
        "_number",
        "is_peer",
        "is_starving",
        "owed",
        "queue",
        "queue_bytes",
        "queue_bytes_limit",
        "queue_limit",
        "spilled",
    )

    def __init__(self, hub: Hub, client_id: str, persistent: bool, queue_limit: int) -> None:
        super().__init__(hub, client_id, persistent)
        self.is_peer = False  # a neighbouring broker's
        self.queue: deque[DeliveryRecord] | None = None
        self.queue_limit = queue_limit
        self.queue_bytes = 0  # payloads in the queue
        self.queue_bytes_limit = NO_BYTES_LIMIT
        self.spilled = 0  # messages that follow those in the queue, and are in the store only
        self.owed: Owed | None = None  # retained messages that are not in the queue yet
        self.is_starving = False  # waits for the store to give back what was spilled
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
                self.inflight[packet_id] = SENT_ONCE if qos == 1 else SENT_EXACTLY
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
        """Retained messages of a new subscription, at QoS 0 too; the queue's limit does not apply.

        Whoever calls gives no more at a time than may wait in memory.
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
            if self.owed is not None:
                self.hub.owing.append(self)
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
            elif self.owed is not None:
                self.hub.owing.append(self)

    def resume(self, now: float) -> None:
        """A client came back: first what it has not acknowledged goes out again."""
        outlet = self.outlet
        assert outlet is not None
        self._resend(outlet, now)
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
        if not returned and not self.is_starving:
            # They are being read, or written: the store's next word is the time to ask again.
            self.is_starving = True
            self.hub.starving.append(self)
        return bool(returned)

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


def payload_bytes(deliveries: Iterable[DeliveryRecord]) -> int:
    total = 0
    for delivery in deliveries:
        if delivery.message is not None:
            total += len(delivery.message.payload)
    return total
