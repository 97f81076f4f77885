"""Records as rows of the tables and back. What does not read back as it was written raises.

Rows with text or payload carry a checksum: SQLite has none, and the flash of a cheap box forgets.
"""

import json
import marshal
from collections.abc import Iterable, Sequence
from typing import Any, Final
from zlib import crc32

from gossamer.session.message import Message
from gossamer.session.message_bytes import STORED_BYTES, stored_bytes
from gossamer.session.records import (
    QUEUED,
    RELEASED,
    SENT,
    DeliveryRecord,
    SessionRecord,
    SubscriptionRecord,
)
from gossamer.storage.schema import PLACES
from gossamer.wire.properties import Properties

Row = tuple[Any, ...]  # the checksum vouches for the types

# marshal's second format is the last one whose bytes depend on nothing but the values.
_STABLE_FORMAT: Final = 2

# The properties that travel with a message; correlation data is bytes, kept as hexadecimal.
_TRAVELLING: Final = ("payload_format", "message_expiry", "content_type", "response_topic")

# How properties begin that are nothing but a name, as most are of messages that wait in lanes.
_NAME_ALONE: Final = '{"name": "'

_HIGHEST_PACKET_ID: Final = 0xFFFF

# In the place of what others had to remember with a session, before they had rooms of their own.
_NO_NOTE: Final = ""


class UnreadableRow(ValueError):
    """A row that was not written by us, or not read as it was written."""


def sealed(row: Row) -> Row:
    return (*row, crc32(marshal.dumps(row, _STABLE_FORMAT)))


def unsealed(row: Row) -> Row:
    """Without the checksum, which must be right."""
    content = row[:-1]
    if crc32(marshal.dumps(content, _STABLE_FORMAT)) != row[-1]:
        raise UnreadableRow("its checksum is wrong")
    return content


def _properties_text(properties: Properties | None, message_name: bytes) -> str | None:
    if properties is None:
        return f'{_NAME_ALONE}{message_name.hex()}"}}' if message_name else None
    kept: dict[str, object] = {"name": message_name.hex()} if message_name else {}
    for name in _TRAVELLING:
        value = getattr(properties, name)
        if value is not None:
            kept[name] = value
    if properties.correlation_data is not None:
        kept["correlation_data"] = properties.correlation_data.hex()
    if properties.user:
        kept["user"] = properties.user
    return json.dumps(kept, ensure_ascii=False, separators=(",", ":"))


def _properties(text: str | None) -> tuple[Properties | None, bytes]:
    """The properties, and the name between brokers."""
    if text is None:
        return None, b""
    if text.startswith(_NAME_ALONE) and text.count('"') == 4:
        return None, bytes.fromhex(text[len(_NAME_ALONE) : -2])
    kept = json.loads(text)
    message_name = bytes.fromhex(kept.pop("name", ""))
    if message_name and not kept:
        return None, message_name
    properties = Properties()
    for name in _TRAVELLING:
        if name in kept:
            setattr(properties, name, kept[name])
    if "correlation_data" in kept:
        properties.correlation_data = bytes.fromhex(kept["correlation_data"])
    properties.user = [(name, value) for name, value in kept.get("user", ())]
    return properties, message_name


def message_row(key: int, message: Message) -> Row:
    return sealed((key, *_message_columns(message)))


def _message_columns(message: Message) -> Row:
    return (
        message.topic,
        bytes(message.payload),
        message.qos,
        int(message.retain),
        _properties_text(message.properties, message.name),
        float(message.expires_at),
        message.publisher,
        message.user,
    )


def _message_of(columns: Sequence[Any]) -> Message:
    topic, payload, qos, retain, text, expires_at, publisher, user = columns
    properties, name = _properties(text)
    return Message(
        topic, payload, qos, bool(retain), properties, expires_at, publisher, user, name=name
    )


def message_from(row: Row) -> Message:
    key, *columns = unsealed(row)
    message = _message_of(columns)
    message.stored = key
    return message


def session_row(key: int, record: SessionRecord, will: int | None) -> Row:
    return sealed(
        (
            key,
            record.client_id,
            record.user,
            record.expiry,
            float(record.disconnected_at),
            will,
            record.will_delay,
            float(record.will_due),
            int(record.is_311),
            _NO_NOTE,
        )
    )


def session_from(row: Row) -> tuple[SessionRecord, int | None]:
    """The record without its will, and the number of the message that is its will."""
    _, client_id, user, expiry, gone_at, will, will_delay, will_due, is_311, _ = unsealed(row)
    record = SessionRecord(client_id, user, expiry)
    record.disconnected_at = gone_at
    record.will_delay = will_delay
    record.will_due = will_due
    record.is_311 = bool(is_311)
    return record, will


def subscription_row(key: int, session: int, record: SubscriptionRecord) -> Row:
    user = json.dumps(record.user, ensure_ascii=False) if record.user else None
    return sealed(
        (
            key,
            session,
            record.filter,
            record.qos,
            int(record.no_local),
            int(record.retain_as_published),
            record.retain_handling,
            record.identifier,
            user,
        )
    )


def subscription_from(row: Row) -> SubscriptionRecord:
    _, _, topic_filter, qos, no_local, as_published, handling, identifier, user = unsealed(row)
    record = SubscriptionRecord(
        topic_filter,
        qos,
        bool(no_local),
        bool(as_published),
        handling,
        identifier,
    )
    if user is not None:
        record.user = [(name, value) for name, value in json.loads(user)]
    return record


def delivery_row(key: int, session: int, record: DeliveryRecord, message: int | None) -> Row:
    identifiers = ",".join(map(str, record.identifiers)) if record.identifiers else None
    return (
        key,
        session,
        record.number,
        message,
        record.qos,
        int(record.retain),
        identifiers,
        record.share or None,
        record.packet_id,
        record.state,
    )


def waiting_row(key: int, session: int, record: DeliveryRecord, message: Message) -> Row:
    identifiers = ",".join(map(str, record.identifiers)) if record.identifiers else None
    return sealed(
        (
            key,
            session,
            record.number,
            record.qos,
            int(record.retain),
            identifiers,
            record.share or None,
            *_message_columns(message),
        )
    )


def waiting_from(row: Row) -> DeliveryRecord:
    # By place and not by names for all: this is read for each message of a queue that drains.
    content = unsealed(row)
    message = _message_of(content[7:])
    identifiers: str | None = content[5]
    given = [] if identifiers is None else [int(one) for one in identifiers.split(",")]
    record = DeliveryRecord(
        content[2], message, content[3], bool(content[4]), given, 0, QUEUED, content[6] or ""
    )
    key: int = content[0]
    record.place = key % PLACES
    record.size = stored_bytes(message)
    return record


def damaged_waiting(row: Row) -> DeliveryRecord:
    """In the place of a row that cannot be believed: without a message, and its size is a guess."""
    record = DeliveryRecord(0, None, 0, False, [], 0, QUEUED)
    record.place = row[0] % PLACES
    record.size = STORED_BYTES
    for value in (row[7], row[8]):  # topic and payload
        if isinstance(value, str | bytes):
            record.size += len(value)
    return record


def lane_row(key: int, values: tuple[int, int, int, int, int, int]) -> Row:
    """Session, next place, last number, messages, bytes, and whether some are shared."""
    return sealed((key, *values))


def lane_from(row: Row) -> tuple[int, int, int, int, int, int]:
    _, session, following, last_number, messages, size, shared = unsealed(row)
    return session, following, last_number, messages, size, shared


def inflight_row(lane: int, taken: int, runs: Iterable[tuple[int, int]]) -> Row:
    """The last place that was sent, and where runs of packet identifiers begin."""
    return sealed((lane, taken, ",".join([f"{place}:{first}" for place, first in runs])))


def inflight_from(row: Row) -> tuple[int, list[tuple[int, int]]]:
    _, taken, text = unsealed(row)
    runs = [one.split(":") for one in text.split(",")]
    return taken, [(int(place), int(packet_id)) for place, packet_id in runs]


def waiting_from_spill(row: Row, key: int, number: int) -> tuple[Row, int]:
    """A row of format 2 as one of `waiting`, and the bytes that it counts for."""
    _, session, qos, retain, *columns = unsealed(row)
    message = _message_of(columns)
    record = DeliveryRecord(number, message, qos, bool(retain), [], 0, QUEUED)
    return waiting_row(key, session, record, message), stored_bytes(message)


def delivery_sent(row: Row, packet_id: int) -> Row:
    return (*row[:8], packet_id, SENT)


def delivery_released(row: Row) -> Row:
    return (*row[:3], None, *row[4:9], RELEASED)


def delivery_from(row: Row, message: Message | None) -> DeliveryRecord:
    """Has no checksum, being the most frequent row; every number is checked for its range."""
    _, _, number, _, qos, retain, identifiers, share, packet_id, state = row
    _expect(number, 0, 1 << 62, "number")
    _expect(qos, 0, 2, "qos")
    _expect(retain, 0, 1, "retain")
    _expect(packet_id, 0, _HIGHEST_PACKET_ID, "packet_id")
    _expect(state, QUEUED, RELEASED, "state")
    return DeliveryRecord(
        number,
        message,
        qos,
        bool(retain),
        [] if identifiers is None else [int(one) for one in str(identifiers).split(",")],
        packet_id,
        state,
        share or "",
    )


def packet_id_from(row: Row) -> int:
    packet_id: int = row[2]
    _expect(packet_id, 1, _HIGHEST_PACKET_ID, "packet_id")
    return packet_id


def _expect(value: object, lowest: int, highest: int, name: str) -> None:
    if type(value) is not int or not lowest <= value <= highest:
        raise UnreadableRow(f"its {name} is {value!r}")
