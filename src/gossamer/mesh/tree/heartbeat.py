"""Whether neighbours still answer, and how far away they are: asked again and again."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from gossamer.broker.agenda import Duty
from gossamer.broker.connection import Connection
from gossamer.mesh.control import PING, PONG, control_packet
from gossamer.mesh.link import Link
from gossamer.wire import reasons
from gossamer.wire.errors import ProtocolError

if TYPE_CHECKING:
    from gossamer.mesh.tree.fabric import Fabric

logger = logging.getLogger(__name__)

_TIME_BYTES: Final = 8


class Heartbeat(Duty):
    """Every third of the silence after which a neighbour is taken for gone."""

    def __init__(self, fabric: Fabric) -> None:
        self._fabric = fabric
        self._due = fabric.core.started_at

    def fire(self, now: float) -> float:
        pause = self._fabric.mesh.settings.silence / 3
        is_late = not 0.0 <= now - self._due < pause
        self._beat(now, is_late)
        self._due = now + pause
        return self._due

    def ask(self, link: Link, now: float) -> None:
        sent = int(now * 1e6).to_bytes(_TIME_BYTES, "big")
        link.send([control_packet(PING, sent)])

    def ping(self, link: Link, payload: bytes) -> None:
        """The neighbour asks."""
        if len(payload) != 1 + _TIME_BYTES:
            raise ProtocolError(reasons.MALFORMED_PACKET, f"{link.name} sent a ping that is none")
        link.send([control_packet(PONG, payload[1:])])

    def pong(self, link: Link, payload: bytes, now: float) -> None:
        """The neighbour answers."""
        pulse = link.pulse
        if len(payload) != 1 + _TIME_BYTES or pulse is None:
            raise ProtocolError(reasons.MALFORMED_PACKET, f"{link.name} answered nothing")
        sent = int.from_bytes(payload[1:], "big") / 1e6
        if pulse.answered(now - sent):
            self._fabric.has_news = True

    def _beat(self, now: float, is_late: bool) -> None:
        """Asks every neighbour for an answer; one that has been silent is gone. If this broker
        itself was held up, nobody is judged by it."""
        mesh = self._fabric.mesh
        silence = mesh.settings.silence
        for link in list(mesh.by_name.values()):
            connection = link.connection
            if connection is None:
                continue
            try:
                if is_late:
                    connection.last_seen = now
                elif now - connection.last_seen > silence:
                    logger.warning(
                        "%s has been silent for %.1f s: the link is cut", link.name, silence
                    )
                    _cut(connection, now)
                    continue
                self.ask(link, now)
            except Exception as error:
                mesh.core.faults.note("a heartbeat", error, f"link {link.name}", now)


def _cut(connection: Connection, now: float) -> None:
    sink = connection.outlet.sink
    connection.lost(now)
    sink.abort()
