"""What is for one broker only: it goes from neighbour to neighbour until it is there.

An errand is a message on a closed topic, in the queues of links like any other: it waits for links
that are down, survives restarts, and keeps its place among what was sent before and after it. Its
first User Property says in JSON what it is; payload and properties are those of the message that
it carries, if it carries one.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final, cast

from gossamer.broker.neighbours import ERRAND_TOPIC, LOCAL_TOPICS
from gossamer.broker.stamps import copied
from gossamer.mesh.link import Link
from gossamer.session.message import Message
from gossamer.session.naming import NAME_BYTES
from gossamer.wire import reasons
from gossamer.wire.errors import ProtocolError

if TYPE_CHECKING:
    from gossamer.mesh.mesh import Mesh

ERRAND_PROPERTY: Final = "gossamer-errand"

# An errand whose broker cannot be reached at all waits here, in order, like a retained message that
# never leaves this broker.
_PARKED_UNDER: Final = LOCAL_TOPICS[1] + "parked/"

Fields = dict[str, object]


class Errand:
    """`to` is the broker it is for, `kind` what is to be done there."""

    __slots__ = ("fields", "kind", "message", "to")

    def __init__(self, kind: str, to: str, fields: Fields, message: Message) -> None:
        self.kind = kind
        self.to = to
        self.fields = fields
        self.message = message  # what it carries

    def text(self, name: str) -> str:
        value = self.fields.get(name)
        if not isinstance(value, str):
            raise _malformed(f"an errand without {name}")
        return value

    def number(self, name: str) -> int:
        value = self.fields.get(name)
        if not isinstance(value, int):
            raise _malformed(f"an errand without {name}")
        return value

    def texts(self, name: str) -> list[str]:
        value = self.fields.get(name)
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise _malformed(f"an errand without {name}")
        return cast(list[str], value)


class ErrandHandler:
    """What one kind of errand does where it arrives."""

    def run(self, errand: Errand, origin: Link, now: float) -> None: ...


NO_MESSAGE: Final = Message("", b"", 0, False, None, 0.0, "", "")


def packed(errand: Errand, qos: int) -> Message:
    """As it travels, at a QoS of its own."""
    message = errand.message
    fields: Fields = {
        "to": errand.to,
        "kind": errand.kind,
        "topic": message.topic,
        "qos": message.qos,
        "retain": message.retain,
        **errand.fields,
    }
    properties = copied(message.properties)
    properties.user = [(ERRAND_PROPERTY, json.dumps(fields)), *properties.user]
    return Message(
        ERRAND_TOPIC,
        message.payload,
        qos,
        False,
        properties,
        message.expires_at,
        message.publisher,
        message.user,
    )


def unpacked(message: Message) -> Errand:
    """What `packed` made; anything else is the neighbour's error."""
    properties = message.properties
    if properties is None or not properties.user or properties.user[0][0] != ERRAND_PROPERTY:
        raise _malformed("an errand that says nothing")
    try:
        fields = json.loads(properties.user[0][1])
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, dict):
        raise _malformed("an errand that cannot be read")
    rest = copied(properties)
    rest.user = properties.user[1:]
    errand = Errand("", "", fields, NO_MESSAGE)
    errand.kind = errand.text("kind")
    errand.to = errand.text("to")
    qos = errand.number("qos")
    if not 0 <= qos <= 2:
        raise _malformed("an errand with a QoS that is none")
    errand.message = Message(
        errand.text("topic"),
        message.payload,
        qos,
        fields.get("retain") is True,
        rest,
        message.expires_at,
        message.publisher,
        message.user,
    )
    return errand


class Errands:
    """Sends, passes on, and runs what has arrived."""

    def __init__(self, mesh: Mesh) -> None:
        self._mesh = mesh
        self.handlers: dict[str, ErrandHandler] = {}
        self._has_parked = True  # as far as is known: an earlier life may have left some
        self._seen_changes = -1

    def send(self, errand: Errand, qos: int, now: float) -> bool:
        """False if no way leads there."""
        link = self._mesh.reaching.next_hop(errand.to)
        if link is None:
            return False
        fabric = self._mesh.fabric
        if fabric is not None and qos:
            errand.fields["id"] = fabric.memory.name(qos).hex()
        link.session.deliver(packed(errand, qos), link.receiver, now)
        return True

    def arrived(self, message: Message, origin: Link, is_wave: bool, now: float) -> None:
        """A wave goes to everybody by itself."""
        errand = unpacked(message)
        handler = self.handlers.get(errand.kind)
        if errand.to != self._mesh.settings.name:
            if not is_wave:
                self._pass_on(errand, message, origin, now)
        elif handler is None:
            raise _malformed(f"an errand of the unknown kind {errand.kind!r}")
        elif self._is_new(errand):
            handler.run(errand, origin, now)

    def end_turn(self, now: float) -> None:
        """Sends on what had to wait for its broker to be reached."""
        reaching = self._mesh.reaching
        if not self._has_parked or self._seen_changes == reaching.changes:
            return
        self._seen_changes = reaching.changes
        retained = self._mesh.core.retained
        parked = retained.search(_PARKED_UNDER + "#", now)
        self._has_parked = len(parked) > 0
        for kept in sorted(parked, key=_topic):
            to = unpacked(kept).to
            link = reaching.next_hop(to)
            if link is not None and reaching.is_reached(to):
                retained.discard(kept.topic)
                link.session.deliver(_moved(kept, ERRAND_TOPIC, False), link.receiver, now)

    def _pass_on(self, errand: Errand, message: Message, origin: Link, now: float) -> None:
        reaching = self._mesh.reaching
        link = reaching.next_hop(errand.to)
        if link is None or link is origin:
            if link is None or not reaching.is_reached(errand.to):
                self._park(message, now)
                return
            # Trees disagree for a moment. Back there its old name would be taken for a repetition.
            message.rename(b"")
        link.session.deliver(message, link.receiver, now)

    def _park(self, message: Message, now: float) -> None:
        if message.qos:
            topic = f"{_PARKED_UNDER}{self._mesh.next_micros(now):020d}"
            kept = _moved(message, topic, True)
            self._mesh.core.retained.keep(kept, kept)
            self._has_parked = True

    def _is_new(self, errand: Errand) -> bool:
        """Whatever ways it took, and whatever names it had on them."""
        fabric = self._mesh.fabric
        identity = errand.fields.get("id")
        if fabric is None or not isinstance(identity, str):
            return True
        try:
            name = bytes.fromhex(identity)
        except ValueError:
            name = b""
        if len(name) != NAME_BYTES:
            raise _malformed("an errand with an identity that is none")
        return fabric.memory.is_new(name, 2)


def _moved(message: Message, topic: str, retain: bool) -> Message:
    """The same on another topic; between brokers it has no name yet."""
    return Message(
        topic,
        message.payload,
        message.qos,
        retain,
        message.properties,
        message.expires_at,
        message.publisher,
        message.user,
    )


def _topic(message: Message) -> str:
    return message.topic


def _malformed(what: str) -> ProtocolError:
    return ProtocolError(reasons.MALFORMED_PACKET, f"a neighbour sent {what}")
