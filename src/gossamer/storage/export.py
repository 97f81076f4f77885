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
from gossamer.session.records import DeliveryRecord, StoredSession
from gossamer.storage.load import whole
from gossamer.storage.salvage import opened_for_salvage, salvage
from gossamer.wire.properties import Properties

Json = dict[str, object]


def export(path: Path, target: TextIO) -> list[str]:
    """Write the store's contents to `target`; what could not be read."""
    with opened_for_salvage(path) as connection:
        found = salvage(connection)
    loaded = whole(found.rows)
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
        **_fields(record, "client_id", "user", "expiry", "disconnected_at"),
        "mqtt_311": record.is_311,
        "will": None if record.will is None else _message(record.will),
        **_fields(record, "will_delay", "will_due"),
        "subscriptions": [
            {
                **_fields(one, "filter", "qos", "no_local", "retain_as_published"),
                **_fields(one, "retain_handling", "identifier"),
                "user_properties": one.user,
            }
            for one in session.subscriptions
        ],
        "incoming": session.incoming,
    }


def _delivery(client_id: str, record: DeliveryRecord) -> Json:
    return {
        "client_id": client_id,
        **_fields(record, "number", "qos", "retain", "identifiers", "share", "packet_id"),
        "state": ("queued", "sent", "released")[record.state],
        "message": None if record.message is None else _message(record.message),
    }


def _message(message: Message) -> Json:
    properties = message.properties
    return {
        "topic": message.topic,
        "payload": b64encode(message.payload).decode(),
        **_fields(message, "qos", "retain", "expires_at", "publisher", "user"),
        "properties": None if properties is None else _properties(properties),
    }


def _properties(properties: Properties) -> Json:
    data = properties.correlation_data
    return {
        **_fields(properties, "payload_format", "message_expiry", "content_type", "response_topic"),
        "correlation_data": None if data is None else b64encode(data).decode(),
        "user": properties.user,
    }


def _fields(record: object, *names: str) -> Json:
    """Attributes under their own names."""
    return {name: getattr(record, name) for name in names}
