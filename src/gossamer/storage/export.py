"""Writes everything that can be read of a store as JSON lines, damaged or not.

One object a line, each with a `kind`: session (with its subscriptions, incoming packet identifiers
and will), delivery, retained, operator (a part of an operator's state), kept (what a room of the
broker keeps for itself), and last `problem` for each thing that could not be read. Payloads,
correlation data and what rooms keep are base64.
"""

import json
from base64 import b64encode
from pathlib import Path
from typing import TextIO

from gossamer.session.message import Message
from gossamer.session.records import DeliveryRecord, StoredSession, SubscriptionRecord
from gossamer.storage.first_page import opened_for_salvage
from gossamer.storage.load import load
from gossamer.storage.salvage import salvage
from gossamer.wire.properties import Properties

Json = dict[str, object]


def export(path: Path, target: TextIO) -> list[str]:
    """Write the store's contents to `target`; what could not be read."""
    with opened_for_salvage(path) as connection:
        found = salvage(connection)
    loaded = load(found.rows)
    for session in loaded.snapshot.sessions:
        _write(target, "session", _session(session))
        for delivery in session.deliveries:
            _write(target, "delivery", _delivery(session.record.client_id, delivery))
    for message in loaded.snapshot.retained:
        _write(target, "retained", _message(message))
    for state, part, data in loaded.snapshot.operators:
        _write(target, "operator", {"state": state, "part": part, "data": data.decode()})
    for room, kept in loaded.snapshot.rooms.items():
        for key, value in kept.items():
            content: Json = {"room": room, "key": key, "value": b64encode(value).decode()}
            _write(target, "kept", content)
    problems = [*found.gaps, *loaded.problems]
    for problem in problems:
        _write(target, "problem", {"text": problem})
    return problems


def _write(target: TextIO, kind: str, content: Json) -> None:
    json.dump({"kind": kind, **content}, target, ensure_ascii=False)
    target.write("\n")


def _session(session: StoredSession) -> Json:
    record = session.record
    return {
        "client_id": record.client_id,
        "user": record.user,
        "expiry": record.expiry,
        "disconnected_at": record.disconnected_at,
        "mqtt_311": record.is_311,
        "will": _message(record.will) if record.will is not None else None,
        "will_delay": record.will_delay,
        "will_due": record.will_due,
        "subscriptions": [_subscription(one) for one in session.subscriptions],
        "incoming": session.incoming,
    }


def _subscription(record: SubscriptionRecord) -> Json:
    return {
        "filter": record.filter,
        "qos": record.qos,
        "no_local": record.no_local,
        "retain_as_published": record.retain_as_published,
        "retain_handling": record.retain_handling,
        "identifier": record.identifier,
        "user_properties": record.user,
    }


def _delivery(client_id: str, record: DeliveryRecord) -> Json:
    return {
        "client_id": client_id,
        "number": record.number,
        "qos": record.qos,
        "retain": record.retain,
        "identifiers": record.identifiers,
        "share": record.share,
        "packet_id": record.packet_id,
        "state": ("queued", "sent", "released")[record.state],
        "message": _message(record.message) if record.message is not None else None,
    }


def _message(message: Message) -> Json:
    return {
        "topic": message.topic,
        "payload": b64encode(message.payload).decode(),
        "qos": message.qos,
        "retain": message.retain,
        "expires_at": message.expires_at,
        "publisher": message.publisher,
        "user": message.user,
        "properties": _properties(message.properties) if message.properties is not None else None,
    }


def _properties(properties: Properties) -> Json:
    correlation = properties.correlation_data
    return {
        "payload_format": properties.payload_format,
        "message_expiry": properties.message_expiry,
        "content_type": properties.content_type,
        "response_topic": properties.response_topic,
        "correlation_data": b64encode(correlation).decode() if correlation is not None else None,
        "user": properties.user,
    }
