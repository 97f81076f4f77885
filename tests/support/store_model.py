"""A store as naive as can be: the truth that the real ones are compared with."""

import copy
from typing import Any

from gossamer.session.journal import Journal
from gossamer.session.message import Message
from gossamer.session.records import (
    RELEASED,
    SENT,
    DeliveryRecord,
    SessionRecord,
    Snapshot,
    SubscriptionRecord,
)
from gossamer.wire.properties import Properties

State = dict[str, Any]

PROPERTIES = (
    "payload_format",
    "message_expiry",
    "content_type",
    "response_topic",
    "correlation_data",
    "user",
)


def message_state(message: Message | None) -> State | None:
    if message is None:
        return None
    properties = message.properties
    return {
        "topic": message.topic,
        "payload": message.payload,
        "qos": message.qos,
        "retain": message.retain,
        "expires_at": message.expires_at,
        "publisher": message.publisher,
        "user": message.user,
        "properties": {name: getattr(properties, name) for name in PROPERTIES}
        if properties
        else None,
    }


def session_state(record: SessionRecord) -> State:
    return {
        "user": record.user,
        "expiry": record.expiry,
        "disconnected_at": record.disconnected_at,
        "will": message_state(record.will),
        "will_delay": record.will_delay,
        "will_due": record.will_due,
        "is_311": record.is_311,
        "subscriptions": {},
        "deliveries": {},
        "incoming": set(),
    }


def subscription_state(record: SubscriptionRecord) -> State:
    return {
        "qos": record.qos,
        "no_local": record.no_local,
        "retain_as_published": record.retain_as_published,
        "retain_handling": record.retain_handling,
        "identifier": record.identifier,
        "user": list(record.user),
    }


def delivery_state(record: DeliveryRecord) -> State:
    return {
        "message": message_state(record.message),
        "qos": record.qos,
        "retain": record.retain,
        "identifiers": list(record.identifiers),
        "share": record.share,
        "packet_id": record.packet_id,
        "state": record.state,
    }


def snapshot_state(snapshot: Snapshot) -> State:
    """A snapshot as plain values that can be compared."""
    sessions: State = {}
    for session in snapshot.sessions:
        state = session_state(session.record)
        for subscription in session.subscriptions:
            state["subscriptions"][subscription.filter] = subscription_state(subscription)
        numbers = [delivery.number for delivery in session.deliveries]
        assert numbers == sorted(set(numbers))
        for delivery in session.deliveries:
            state["deliveries"][delivery.number] = delivery_state(delivery)
        state["incoming"] = set(session.incoming)
        assert session.record.client_id not in sessions
        sessions[session.record.client_id] = state
    retained = {message.topic: message_state(message) for message in snapshot.retained}
    assert len(retained) == len(snapshot.retained)
    return {"sessions": sessions, "retained": retained, "rooms": snapshot.rooms}


class Model(Journal):
    """Applies every call at once to one nested dictionary."""

    def __init__(self) -> None:
        super().__init__()
        self.sessions: State = {}
        self.retained: State = {}
        self.rooms: dict[str, dict[str, bytes]] = {}

    def state(self) -> State:
        state = {"sessions": self.sessions, "retained": self.retained, "rooms": self.rooms}
        return copy.deepcopy(state)

    def session_saved(self, record: SessionRecord) -> None:
        state = session_state(record)
        old = self.sessions.get(record.client_id)
        if old is not None:
            for name in ("subscriptions", "deliveries", "incoming"):
                state[name] = old[name]
        self.sessions[record.client_id] = state

    def session_removed(self, client_id: str) -> None:
        self.sessions.pop(client_id, None)

    def subscription_saved(self, client_id: str, record: SubscriptionRecord) -> None:
        self.sessions[client_id]["subscriptions"][record.filter] = subscription_state(record)

    def subscription_removed(self, client_id: str, filter: str) -> None:
        self.sessions[client_id]["subscriptions"].pop(filter, None)

    def delivery_queued(self, client_id: str, record: DeliveryRecord) -> None:
        self.sessions[client_id]["deliveries"][record.number] = delivery_state(record)

    def delivery_sent(self, client_id: str, number: int, packet_id: int) -> None:
        self.sessions[client_id]["deliveries"][number].update(packet_id=packet_id, state=SENT)

    def delivery_released(self, client_id: str, number: int) -> None:
        self.sessions[client_id]["deliveries"][number].update(message=None, state=RELEASED)

    def delivery_removed(self, client_id: str, number: int) -> None:
        self.sessions[client_id]["deliveries"].pop(number, None)

    def delivery_spilled(self, client_id: str, record: DeliveryRecord) -> None:
        self.delivery_queued(client_id, record)

    def spilled_taken(self, client_id: str, record: DeliveryRecord) -> None:
        self.delivery_queued(client_id, record)

    def spilled_removed(self, client_id: str, record: DeliveryRecord, is_first: bool) -> None:
        self.delivery_removed(client_id, record.number)

    def incoming_added(self, client_id: str, packet_id: int) -> None:
        self.sessions[client_id]["incoming"].add(packet_id)

    def incoming_removed(self, client_id: str, packet_id: int) -> None:
        self.sessions[client_id]["incoming"].discard(packet_id)

    def retained_saved(self, message: Message, replaced: int) -> int:
        self.retained[message.topic] = message_state(message)
        return 0

    def retained_removed(self, topic: str, stored: int) -> None:
        self.retained.pop(topic, None)

    def keep(self, room: str, key: str, value: bytes) -> None:
        self.rooms.setdefault(room, {})[key] = value

    def drop(self, room: str, key: str) -> None:
        self.rooms.get(room, {}).pop(key, None)
        if not self.rooms.get(room, {"": b""}):
            del self.rooms[room]

    def drop_room(self, room: str) -> None:
        self.rooms.pop(room, None)


def a_message(topic: str = "a/b", payload: bytes = b"x", rich: bool = False) -> Message:
    """A message; a rich one has every property that travels."""
    properties = None
    if rich:
        properties = Properties()
        properties.payload_format = 1
        properties.message_expiry = 60
        properties.content_type = "text/plain; ☂"
        properties.response_topic = "answers/ü"
        properties.correlation_data = b"\x00\xff\x80"
        properties.user = [("unit", "°C"), ("unit", "K")]
    return Message(topic, payload, 1, False, properties, 1234.5 if rich else 0.0, "pub", "anna")
