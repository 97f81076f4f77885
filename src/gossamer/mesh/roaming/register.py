"""Whose session is where: one register of all sessions that outlive their connections.

A broker to which a client connects claims its session. Brokers keep claims for each
other, and these travel like retained messages: the last one counts, every broker learns it, and
brokers that were apart agree when they meet again.

A session that ends with its connection is in no register. Its client's connection is gossip to
all: a broker on which the client is still connected ends the old connection.
"""

from __future__ import annotations

import json
from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from gossamer.broker.delivery import publish
from gossamer.broker.mesh_port import SHARED_TOPICS
from gossamer.broker.session_end import disconnect_session
from gossamer.broker.subscription_tree import Tap
from gossamer.mesh.json_fields import read_fields
from gossamer.session.message import Message
from gossamer.session.session import Session
from gossamer.wire import reasons
from gossamer.wire.errors import ProtocolError
from gossamer.wire.properties import Properties

if TYPE_CHECKING:
    from gossamer.mesh.mesh import Mesh

_PREFIX: Final = SHARED_TOPICS + "sessions/"
# As long as a removal is remembered: who was away for longer may bring a discarded session back.
_CLEARED_SECONDS: Final = 7 * 86_400
# Nobody hears of a claim before it is on disk here: a broker that had forgotten in a crash that it
# waits for a session would tell the next who claims it that there is none.
_CLAIM_QOS: Final = 2
# The kind of gossip that names such clients.
CONNECTED: Final = 0x43


class SessionClaim:
    """`owner` is a broker, or "" if the session was discarded and there is no new one."""

    __slots__ = ("at", "cleared", "client_id", "owner", "prior", "user")

    def __init__(
        self, client_id: str, owner: str, user: str, at: int, cleared: int, prior: str
    ) -> None:
        self.client_id = client_id
        self.owner = owner
        self.user = user
        self.at = at  # microseconds of the hybrid clock
        self.cleared = cleared  # sessions that began before are to be discarded
        self.prior = prior  # the broker that has to hand the session over, "" for none


class ClaimListener:
    """Who is told of news."""

    def claimed(self, claim: SessionClaim, now: float) -> None: ...

    def unclaimed(self, client_id: str, now: float) -> None:
        """Nobody claims a session that this broker has."""


class SessionRegister(Tap):
    def __init__(self, mesh: Mesh, listener: ClaimListener) -> None:
        self._core = mesh.core
        self._listener = listener
        self._own: dict[str, str] = {}  # topics of sessions that are here, to their client ids
        self._core.routes.add_tap(_PREFIX + "#", self)

    def find(self, client_id: str, now: float) -> SessionClaim | None:
        found = self._core.shared.search(_topic(client_id), now)
        claim = _read(found[0].payload) if found else None
        return claim if claim is not None and claim.client_id == client_id else None

    def all(self, now: float) -> list[SessionClaim]:
        found = self._core.shared.search(_PREFIX + "#", now)
        return [claim for each in found if (claim := _read(each.payload)) is not None]

    def write(self, claim: SessionClaim, now: float) -> None:
        topic = _topic(claim.client_id)
        self._own[topic] = claim.client_id
        fields = {
            "client": claim.client_id,
            "owner": claim.owner,
            "user": claim.user,
            "at": claim.at,
            "cleared": claim.cleared,
            "prior": claim.prior,
        }
        properties: Properties | None = None
        expires_at = 0.0
        if not claim.owner:
            properties = Properties()
            properties.message_expiry = _CLEARED_SECONDS
            expires_at = now + _CLEARED_SECONDS
        payload = json.dumps(fields).encode()
        message = Message(topic, payload, _CLAIM_QOS, True, properties, expires_at, "", "")
        publish(self._core, message, None, now)

    def remove(self, client_id: str, now: float) -> None:
        topic = _topic(client_id)
        self._own.pop(topic, None)
        message = Message(topic, b"", _CLAIM_QOS, True, None, 0.0, "", "")
        publish(self._core, message, None, now)

    def here(self, client_id: str) -> None:
        """The session is on this broker: if nobody claims it, that is news."""
        self._own[_topic(client_id)] = client_id

    def take(self, message: Message, origin: Session | None, now: float) -> None:
        """What is kept decides, since this may be old."""
        if origin is None:
            return  # this broker's own
        found = self._core.shared.search(message.topic, now)
        claim = _read(found[0].payload) if found else None
        if claim is not None:
            self._listener.claimed(claim, now)
        elif not found and message.topic in self._own:
            self._listener.unclaimed(self._own[message.topic], now)


def _topic(client_id: str) -> str:
    return _PREFIX + blake2b(client_id.encode(), digest_size=16).hexdigest()


def _read(payload: bytes) -> SessionClaim | None:
    """None for what is not ours to read: whoever passed it on need not have written it."""
    try:
        said = read_fields(payload, "a claim")
        return SessionClaim(
            said.text("client"),
            said.text("owner"),
            said.text("user"),
            said.number("at"),
            said.number("cleared"),
            said.text("prior"),
        )
    except ProtocolError:
        return None


class Presence:
    def __init__(self, mesh: Mesh) -> None:
        self._mesh = mesh
        self._since: dict[str, int] = {}  # by client id, in microseconds of the hybrid clock
        mesh.gossip.handlers[CONNECTED] = self.heard

    def since(self, client_id: str) -> int:
        """0 if it is not connected here."""
        return self._since.get(client_id, 0)

    def came(self, client_id: str, micros: int) -> None:
        self._since[client_id] = micros

    def left(self, client_id: str) -> None:
        self._since.pop(client_id, None)

    def tell(self, session: Session, now: float) -> None:
        at = self.since(session.client_id)
        item = {"client": session.client_id, "user": session.user, "at": at}
        self._mesh.gossip.say(CONNECTED, json.dumps(item).encode(), now, lasting=False)

    def heard(self, origin: str, body: bytes, now: float) -> None:
        item = read_fields(body, "a word of a client")
        client_id = item.text("client")
        user = item.text("user")
        at = item.number("at")
        mesh = self._mesh
        mesh.saw_micros(at)
        session = mesh.core.sessions.get(client_id)
        if session is None or session.persistent or session.is_peer or session.user != user:
            return
        if (self.since(client_id), mesh.settings.name) < (at, origin):
            disconnect_session(mesh.core, session, reasons.SESSION_TAKEN_OVER, "", now)
