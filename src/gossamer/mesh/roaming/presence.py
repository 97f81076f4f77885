"""Who is connected here since when, and the word to all that a client came.

A session that ends with its connection is in no register; a broker on which its client is still
connected hears of the new connection and ends the old one.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from gossamer.broker.ending import disconnect_session
from gossamer.mesh.said import read_fields
from gossamer.session.session import Session
from gossamer.wire import reasons

if TYPE_CHECKING:
    from gossamer.mesh.mesh import Mesh

# The kind of the words that name such clients.
CONNECTED: Final = 0x43


class Presence:
    def __init__(self, mesh: Mesh) -> None:
        self._mesh = mesh
        self._since: dict[str, int] = {}  # by client id, in microseconds of the hybrid clock
        mesh.flooding.handlers[CONNECTED] = self.heard

    def since(self, client_id: str) -> int:
        """0 if it is not connected here."""
        return self._since.get(client_id, 0)

    def came(self, client_id: str, micros: int) -> None:
        self._since[client_id] = micros

    def left(self, client_id: str) -> None:
        self._since.pop(client_id, None)

    def tell(self, session: Session, now: float) -> None:
        at = self.since(session.client_id)
        word = {"client": session.client_id, "user": session.user, "at": at}
        self._mesh.flooding.say(CONNECTED, json.dumps(word).encode(), now, lasting=False)

    def heard(self, origin: str, body: bytes, now: float) -> None:
        word = read_fields(body, "a word of a client")
        client_id = word.text("client")
        user = word.text("user")
        at = word.number("at")
        mesh = self._mesh
        mesh.saw_micros(at)
        session = mesh.core.sessions.get(client_id)
        if session is None or session.persistent or session.is_peer or session.user != user:
            return
        if (self.since(client_id), mesh.settings.name) < (at, origin):
            disconnect_session(mesh.core, session, reasons.SESSION_TAKEN_OVER, "", now)
