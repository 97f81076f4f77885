"""One directed message, and the two forms in which it travels.

*Plain*: a message on one closed topic. Its first User Property says in JSON what it is; payload and
properties are those of the message that it carries. Every version reads this form, and a User
Property holds 65,535 bytes.

*Envelope*: a message on another closed topic, whose payload is a version, what the directed message
is, and behind that the whole message that it carries (`session/message_bytes.py`). It holds what
the plain form cannot: a topic, a client id or a group as long as MQTT allows. Only what needs it
travels so.
"""

from __future__ import annotations

import json
from typing import Final

from gossamer.broker.mesh_port import DIRECTED_TOPIC, ENVELOPE_TOPIC
from gossamer.broker.retained_stamps import copied
from gossamer.mesh.json_fields import JsonFields, malformed, read_fields
from gossamer.session.message import Message
from gossamer.session.message_bytes import packed_message, unpacked_message
from gossamer.session.message_names import NAME_BYTES
from gossamer.topics.names import TopicError, check_name
from gossamer.wire.properties import Properties
from gossamer.wire.scalars import LONGEST_FIELD

DIRECTED_PROPERTY: Final = "gossamer-errand"
_VERSION: Final = 1  # of the envelope
_HEAD: Final = 5  # bytes: the version, and the length of what the directed message is
_MOST_LEVELS: Final = 65_535  # a client's own limit was checked before

Fields = dict[str, object]

NO_MESSAGE: Final = Message("", b"", 0, False, None, 0.0, "", "")


class DirectedMessage(JsonFields):
    """`to` is the broker it is for, `kind` what is to be done there."""

    __slots__ = ("kind", "message", "to")

    def __init__(self, kind: str, to: str, fields: Fields, message: Message) -> None:
        super().__init__(fields, "a directed message")
        self.kind = kind
        self.to = to
        self.message = message  # what it carries

    def identity(self) -> str:
        """By which it can be named; "" where the order of the links is enough."""
        return self.text("id") if "id" in self.fields else ""


def packed(directed: DirectedMessage, qos: int) -> Message:
    """As it travels, at a QoS of its own: plain if it fits. ValueError if nothing can hold it."""
    message = directed.message
    fields: Fields = {
        "to": directed.to,
        "kind": directed.kind,
        "topic": message.topic,
        "qos": message.qos,
        "retain": message.retain,
        **directed.fields,
    }
    said = json.dumps(fields, ensure_ascii=False)
    if len(said.encode()) > LONGEST_FIELD:
        return _in_envelope(directed, qos)
    properties = copied(message.properties)
    properties.user = [(DIRECTED_PROPERTY, said), *properties.user]
    return _travelling(DIRECTED_TOPIC, message.payload, qos, properties, message)


def unpacked(message: Message) -> DirectedMessage:
    """What `packed` made; anything else is the neighbour's error."""
    if message.topic == ENVELOPE_TOPIC:
        return _from_envelope(message)
    properties = message.properties
    if properties is None or not properties.user or properties.user[0][0] != DIRECTED_PROPERTY:
        raise malformed("an empty directed message")
    said = read_fields(properties.user[0][1], "a directed message")
    rest = copied(properties)
    rest.user = properties.user[1:]
    directed = DirectedMessage(said.text("kind"), said.text("to"), said.fields, NO_MESSAGE)
    directed.message = Message(
        _topic(said.text("topic")),
        message.payload,
        said.number("qos", 0, 2),
        said.flag("retain"),
        rest,
        message.expires_at,
        message.publisher,
        message.user,
    )
    return directed


def fitted(message: Message) -> Message:
    """A directed message that was queued in a form which cannot hold it, in one that can."""
    properties = message.properties
    if message.topic != DIRECTED_TOPIC or properties is None or not properties.user:
        return message
    if len(properties.user[0][1].encode()) <= LONGEST_FIELD:
        return message
    return packed(unpacked(message), message.qos).changed(name=message.name)


def identity_of(name: str) -> bytes:
    """The bytes of a directed message's identity."""
    try:
        identity = bytes.fromhex(name)
    except ValueError:
        identity = b""
    if len(identity) != NAME_BYTES:
        raise malformed("a directed message with a malformed identity")
    return identity


def _in_envelope(directed: DirectedMessage, qos: int) -> Message:
    message = directed.message
    said = json.dumps(
        {"to": directed.to, "kind": directed.kind, **directed.fields}, ensure_ascii=False
    ).encode()
    head = bytes((_VERSION,)) + len(said).to_bytes(_HEAD - 1, "big")
    payload = b"".join((head, said, packed_message(message)))
    properties: Properties | None = None
    if message.properties is not None and message.properties.message_expiry is not None:
        properties = Properties()
        properties.message_expiry = message.properties.message_expiry
    return _travelling(ENVELOPE_TOPIC, payload, qos, properties, message)


def _from_envelope(message: Message) -> DirectedMessage:
    data = message.payload
    end = _HEAD + int.from_bytes(data[1:_HEAD], "big")
    if len(data) < _HEAD or data[0] != _VERSION or end > len(data):
        raise malformed("a malformed envelope")
    said = read_fields(data[_HEAD:end], "a directed message")
    try:
        carried = unpacked_message(data[end:])
    except ValueError as error:
        raise malformed(f"a malformed envelope: {error}") from None
    _topic(carried.topic)
    own = carried.changed(
        expires_at=message.expires_at, publisher=message.publisher, user=message.user, name=b""
    )
    return DirectedMessage(said.text("kind"), said.text("to"), said.fields, own)


def _travelling(
    topic: str, payload: bytes, qos: int, properties: Properties | None, carried: Message
) -> Message:
    return Message(
        topic,
        payload,
        qos,
        False,
        properties,
        carried.expires_at,
        carried.publisher,
        carried.user,
    )


def _topic(topic: str) -> str:
    """Of what is carried; some carry nothing."""
    if topic:
        try:
            check_name(topic, _MOST_LEVELS)
        except TopicError as error:
            raise malformed(f"a directed message with an invalid topic: {error}") from None
    return topic
