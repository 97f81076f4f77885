"""What is under way to one client: packet identifiers, the flow window, what goes out again.

A session that ends with its connection never needs to send a message twice, so what is in flight
is remembered by number only.
"""

from __future__ import annotations

from typing import Final

from gossamer.session.aliases import TopicAliases
from gossamer.session.message import NAME_BYTES, Message
from gossamer.session.outbox import Hub, Outbox
from gossamer.session.records import RELEASED, SENT, DeliveryRecord
from gossamer.session.seen_names import Seen
from gossamer.session.subscription import NO_IDENTIFIERS
from gossamer.wire.errors import ProtocolError
from gossamer.wire.packets import V5
from gossamer.wire.publish_codec import IDENTIFIERS, PUBREL_HEAD

# What a session without a future remembers of a message in flight.
SENT_ONCE: Final = DeliveryRecord(0, None, 1, False, NO_IDENTIFIERS, 0, SENT)
SENT_EXACTLY: Final = DeliveryRecord(0, None, 2, False, NO_IDENTIFIERS, 0, SENT)
_RELEASED: Final = DeliveryRecord(0, None, 2, False, NO_IDENTIFIERS, 0, RELEASED)


class Inflight:
    """What was sent and not acknowledged, by packet identifier."""

    __slots__ = (
        "_last_id",
        "aliases",
        "client_id",
        "flight_bytes",
        "hub",
        "inflight",
        "outbox",
        "persistent",
        "seen",
        "unsent",
        "window",
    )

    def __init__(self, hub: Hub, client_id: str, persistent: bool) -> None:
        self.hub = hub
        self.client_id = client_id
        self.persistent = persistent  # every change is told to the journal
        self.outbox: Outbox | None = None  # while the client is connected
        self.window = 65_535  # the client's Receive Maximum
        self.inflight: dict[int, DeliveryRecord] = {}
        self.flight_bytes = 0  # of the messages in flight that are kept to be sent again
        self.unsent: dict[int, DeliveryRecord] | None = None  # in flight, not yet sent again
        self.aliases: TopicAliases | None = None  # if the client takes any
        self.seen: Seen | None = None  # while messages may come by two ways
        self._last_id = 0

    def drop_aliases(self) -> None:
        """The connection that they belonged to has ended [MQTT-3.3.2-7]."""
        if self.aliases is not None:
            self.aliases.close()
            self.aliases = None

    def _took_off(self, delivery: DeliveryRecord, message: Message) -> None:
        """It is in flight now, and counts there instead of in the queue."""
        if not delivery.size:
            delivery.size = len(message.topic_bytes) + len(message.payload)
        self.flight_bytes += delivery.size
        self.hub.deliveries.hold(delivery)

    def _landed(self, delivery: DeliveryRecord) -> None:
        """Its message need not be kept any more."""
        self.hub.deliveries.let_go(delivery)
        self.flight_bytes -= delivery.size
        delivery.size = 0

    def in_first_order(self) -> list[DeliveryRecord]:
        pending = list(self.inflight.values())
        pending.sort(key=_by_number)
        return pending

    def received(self, packet_id: int, delivery: DeliveryRecord) -> None:
        """PUBREC for a QoS 2 message: only PUBREL is repeated from here on [MQTT-4.3.3-6]."""
        if self.unsent is not None:
            self.unsent.pop(packet_id, None)
        self._landed(delivery)
        if not self.persistent:
            self.inflight[packet_id] = _RELEASED
        elif delivery.state == SENT:
            if self.seen is not None and delivery.message is not None:
                self.seen.done(delivery.message.name[-NAME_BYTES:])
            if delivery.ticket:
                self._passed(delivery)
            delivery.state = RELEASED
            delivery.message = None
            self.hub.journal.delivery_released(self.client_id, delivery.number)
        outbox = self.outbox
        assert outbox is not None
        # [MQTT-4.3.3-4]; it stays in flight until PUBCOMP [MQTT-4.3.3-5].
        outbox.put_promise(PUBREL_HEAD + IDENTIFIERS[packet_id])

    def _resend(self, outbox: Outbox, now: float) -> None:
        """What is not acknowledged, in the first order [MQTT-4.4.0-1], even if it has expired
        [MQTT-4.3.3-7]; publications as far as the window of the new connection allows."""
        pending = self.in_first_order()
        room = self.window
        for delivery in pending:
            if delivery.state == RELEASED:
                room -= 1
        unsent: dict[int, DeliveryRecord] = {}
        for delivery in pending:
            if delivery.state == RELEASED:
                outbox.put(PUBREL_HEAD + IDENTIFIERS[delivery.packet_id])
            elif room > 0:
                room -= 1
                self._send_again(outbox, delivery, now)
            else:
                unsent[delivery.packet_id] = delivery
        self.unsent = unsent if unsent else None

    def _resume_unsent(self, outbox: Outbox, unsent: dict[int, DeliveryRecord], now: float) -> None:
        while unsent and len(self.inflight) - len(unsent) < self.window:  # [MQTT-3.3.4-9]
            self._send_again(outbox, unsent.pop(next(iter(unsent))), now)
        if not unsent:
            self.unsent = None

    def _send_again(self, outbox: Outbox, delivery: DeliveryRecord, now: float) -> None:
        message = delivery.message
        assert message is not None
        self._send(
            outbox,
            message,
            delivery.qos,
            delivery.retain,
            True,  # [MQTT-3.3.1-1]
            delivery.packet_id,
            delivery.identifiers,
            now,
        )

    def _send(
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
            if _send(outbox, self.aliases, message, qos, retain, dup, packet_id, identifiers, now):
                return
            # [MQTT-3.1.2-25]: the server acts as if it had sent the message.
            self.hub.counters.dropped_too_large += 1
        except (ProtocolError, ValueError, OverflowError) as error:
            # What no packet can carry is set aside; it must not be in the way of those behind it.
            self.hub.faults.note("a delivery", error, f"client {self.client_id!r}", now)
        if packet_id:
            delivery = self.inflight.pop(packet_id)
            self._landed(delivery)
            self._forget(delivery)

    def _passed(self, delivery: DeliveryRecord) -> None:
        """Whoever gave it to this broker to pass on need not wait for this delivery any more."""
        ticket = delivery.ticket
        delivery.ticket = 0
        self.hub.passing.done(ticket)

    def _forget(self, delivery: DeliveryRecord) -> None:
        if delivery.ticket:
            self._passed(delivery)
        if delivery.place:
            self.hub.journal.spilled_removed(self.client_id, delivery, False)
        elif self.persistent and delivery.number and delivery.qos:
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


def _by_number(delivery: DeliveryRecord) -> int:
    return delivery.number


def _send(
    outbox: Outbox,
    aliases: TopicAliases | None,
    message: Message,
    qos: int,
    retain: bool,
    dup: bool,
    packet_id: int,
    identifiers: list[int],
    now: float,
) -> bool:
    """Into the outbox, in the encoding all receivers share if it can be.

    False if the packet is over the client's maximum, and so was not sent [MQTT-3.1.2-24].
    """
    if retain or dup or identifiers or message.expires_at or aliases is not None:
        return _send_special(
            outbox, aliases, message, qos, retain, dup, packet_id, identifiers, now
        )
    version = outbox.version
    is_named = outbox.names and message.name != b""
    head = message.named_head(qos) if is_named else message.head(version, qos)
    if qos == 0:
        if len(head) > outbox.maximum_packet:
            return False
        outbox.messages += 1
        outbox.put(head)
        return True
    tail = message.named_tail() if is_named else message.tail(version)
    if len(head) + 2 + len(tail) > outbox.maximum_packet:
        return False
    outbox.messages += 1
    if qos == 1:
        outbox.put(head)
        outbox.put(IDENTIFIERS[packet_id])
        outbox.put(tail)
    else:
        # Exactly once: the identifier must be on disk before the client sees it.
        outbox.put_promise(head + IDENTIFIERS[packet_id] + tail)
    return True


def _send_special(
    outbox: Outbox,
    aliases: TopicAliases | None,
    message: Message,
    qos: int,
    retain: bool,
    dup: bool,
    packet_id: int,
    identifiers: list[int],
    now: float,
) -> bool:
    """With flags, remaining expiry, identifiers or an alias that fit this receiver only."""
    version = outbox.version
    alias = 0
    is_known = False
    if aliases is not None:
        alias = aliases.number_of(message.topic)
        is_known = alias != 0
        # What waits for a commit must not be the first to name a topic that others use.
        if not is_known and qos != 2:
            alias = aliases.free_number(message.topic)
    packet = message.own_packet(
        version,
        qos,
        retain,
        dup,
        packet_id,
        identifiers if version == V5 else NO_IDENTIFIERS,
        alias,
        is_known,
        now,
        message.name if outbox.names else b"",
    )
    if len(packet) > outbox.maximum_packet:
        return False
    if aliases is not None and alias and not is_known:
        aliases.introduce(message.topic, alias)
    outbox.messages += 1
    if qos == 2:
        outbox.put_promise(packet)
    else:
        outbox.put(packet)
    return True
