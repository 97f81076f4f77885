"""What is for one broker only: it goes from neighbour to neighbour until it is there.

An errand is a message on a closed topic, in the queues of links like any other: it waits for links
that are down, survives restarts, and keeps its place among what was sent before and after it. Its
first User Property says in JSON what it is; payload and properties are those of the message that
it carries, if it carries one. Where the tree may change between two of them, each has an identity,
by which it is run once, and may name another that has to be run before.
"""

from __future__ import annotations

import json
import secrets
from collections import deque
from typing import TYPE_CHECKING, Final, cast

from mypy_extensions import mypyc_attr

from gossamer.broker.neighbours import ERRAND_TOPIC
from gossamer.broker.stamps import copied
from gossamer.mesh.link import Link
from gossamer.mesh.relay.waiting_errands import EARLY, PARKED, WaitingErrands
from gossamer.session.message import Message
from gossamer.session.naming import NAME_BYTES
from gossamer.wire import reasons
from gossamer.wire.errors import ProtocolError

if TYPE_CHECKING:
    from gossamer.mesh.mesh import Mesh

ERRAND_PROPERTY: Final = "gossamer-errand"

Fields = dict[str, object]

# Of their own, not those of messages: what is remembered of a busy broker's messages is forgotten
# while an errand may still be named.
_SOURCE_BYTES: Final = NAME_BYTES // 2


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

    def identity(self) -> str:
        """By which it can be named; "" where the order of the links is enough."""
        return self.text("id") if "id" in self.fields else ""

    def texts(self, name: str) -> list[str]:
        value = self.fields.get(name)
        if not isinstance(value, list) or not all(isinstance(each, str) for each in value):
            raise _malformed(f"an errand without {name}")
        return cast(list[str], value)


@mypyc_attr(allow_interpreted_subclasses=True)
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
        self._source = secrets.token_bytes(_SOURCE_BYTES)
        self._sent = 0
        self._parked = WaitingErrands(mesh.core, PARKED)
        self._early = WaitingErrands(mesh.core, EARLY)
        self._seen_changes = -1

    def send(self, errand: Errand, qos: int, now: float) -> bool:
        """False if no way leads there."""
        link = self._mesh.reaching.next_hop(errand.to)
        if link is None:
            return False
        if self._mesh.fabric is not None and qos:
            self._sent += 1
            number = self._sent.to_bytes(NAME_BYTES - _SOURCE_BYTES, "big")
            errand.fields["id"] = (self._source + number).hex()
        link.session.deliver(packed(errand, qos), link.receiver, now)
        return True

    def arrived(self, message: Message, origin: Link, is_wave: bool, now: float) -> None:
        """A wave goes by itself to all who are reached. For the others it waits where it began,
        and there only: every broker's copy would become a wave again."""
        errand = unpacked(message)
        if errand.to != self._mesh.settings.name:
            if not is_wave:
                self._pass_on(errand, message, origin, now)
            elif self._began_here(message) and not self._mesh.reaching.is_reached(errand.to):
                self._park(message, now)
        elif self._is_early(errand):
            after = _name(errand.text("after")).hex()
            self._early.keep(message, after, _name(errand.identity()).hex())
        else:
            self._run(errand, origin, now)

    def _run(self, first: Errand, origin: Link, now: float) -> None:
        """And those that waited for it."""
        due = deque([first])
        while due:
            errand = due.popleft()
            handler = self.handlers.get(errand.kind)
            if handler is None:
                raise _malformed(f"an errand of the unknown kind {errand.kind!r}")
            if not self._is_new(errand):
                continue
            handler.run(errand, origin, now)
            if self._early.most and errand.identity():
                done = _name(errand.identity()).hex()
                for place, message in self._early.waiting(done, now):
                    self._early.taken(done, place)
                    due.append(unpacked(message))

    def end_turn(self, now: float) -> None:
        """Sends on what had to wait for its broker to be reached."""
        reaching = self._mesh.reaching
        if not self._parked.most or self._seen_changes == reaching.changes:
            return
        self._seen_changes = reaching.changes
        for place, message in self._parked.waiting("", now):
            to = unpacked(message).to
            link = reaching.next_hop(to)
            if link is not None and reaching.is_reached(to):
                self._parked.taken("", place)
                link.session.deliver(message, link.receiver, now)

    def waiting(self) -> tuple[int, int]:
        """How many wait for their broker, and how many for another errand."""
        return self._parked.most, self._early.most

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
            self._parked.keep(message, "", f"{self._mesh.next_micros(now):020d}")

    def _began_here(self, wave: Message) -> bool:
        fabric = self._mesh.fabric
        return fabric is not None and fabric.memory.is_own(wave.name)

    def _is_new(self, errand: Errand) -> bool:
        """Whatever ways it took, and whatever names it had on them."""
        fabric = self._mesh.fabric
        identity = errand.identity()
        return fabric is None or not identity or fabric.memory.is_new(_name(identity), 2)

    def _is_early(self, errand: Errand) -> bool:
        """Whether the one that it follows has not been run here."""
        fabric = self._mesh.fabric
        if fabric is None or "after" not in errand.fields:
            return False
        return not fabric.memory.knows(_name(errand.text("after")))


def _name(identity: str) -> bytes:
    try:
        name = bytes.fromhex(identity)
    except ValueError:
        name = b""
    if len(name) != NAME_BYTES:
        raise _malformed("an errand with an identity that is none")
    return name


def _malformed(what: str) -> ProtocolError:
    return ProtocolError(reasons.MALFORMED_PACKET, f"a neighbour sent {what}")
