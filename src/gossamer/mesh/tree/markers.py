"""Markers on the wire: this broker's word for a view, behind all that it has sent on a link.

What they mean is in `settling.py`. A neighbour asks for interests with a number, and a marker gives
back the number of the last question: one that answers an earlier question may not have all
interests behind it, and does not count.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gossamer.broker.neighbours import MARKER_TOPIC
from gossamer.mesh.control import HOLD, control_packet
from gossamer.mesh.link import Link
from gossamer.mesh.modes.hearing import held_digest
from gossamer.mesh.tree.graph import DIGEST_BYTES
from gossamer.mesh.tree.settling import Settling
from gossamer.session.message import Message
from gossamer.session.subscription import NO_IDENTIFIERS
from gossamer.wire import reasons
from gossamer.wire.errors import ProtocolError

if TYPE_CHECKING:
    from gossamer.mesh.mesh import Mesh

# A marker must not overtake what waits for the disk, so it waits there itself.
_MARKER_QOS: Final = 2
_NUMBER_BYTES: Final = 4


class Markers:
    """Sends those that `settling` finds due, and tells it of those that came."""

    __slots__ = ("_mesh", "_settling")

    def __init__(self, mesh: Mesh, settling: Settling) -> None:
        self._mesh = mesh
        self._settling = settling

    def ask(self, link: Link) -> None:
        """For what is wanted behind the neighbour, and for a marker behind the answer."""
        link.holds += 1
        self._settling.unheard(link.name)
        number = link.holds.to_bytes(_NUMBER_BYTES, "big")
        link.send([control_packet(HOLD, number + held_digest(link))])

    def asked(self, link: Link, payload: bytes) -> bytes:
        """The neighbour wants to be told what is wanted here; the digest of what it holds."""
        if len(payload) < 1 + _NUMBER_BYTES:
            raise ProtocolError(reasons.MALFORMED_PACKET, f"{link.name} asked for nothing")
        link.asked = payload[1 : 1 + _NUMBER_BYTES]
        self._settling.unsent(link.name)
        return payload[1 + _NUMBER_BYTES :]

    def heard(self, link: Link, payload: bytes) -> None:
        if len(payload) != DIGEST_BYTES + _NUMBER_BYTES:
            raise ProtocolError(reasons.MALFORMED_PACKET, f"{link.name} sent a marker that is none")
        link.control_messages_heard += 1
        if int.from_bytes(payload[DIGEST_BYTES:], "big") == link.holds:
            self._settling.heard(link.name, payload[:DIGEST_BYTES])

    def send_due(self, now: float) -> None:
        for name in self._settling.due():
            link = self._mesh.by_name[name]
            if link.connection is not None and link.is_compared and not link.is_deferred:
                self._send(link, now)

    def _send(self, link: Link, now: float) -> None:
        payload = self._settling.digest + link.asked
        message = Message(MARKER_TOPIC, payload, _MARKER_QOS, False, None, 0.0, "", "")
        self._settling.sent(link.name)
        link.markers += 1
        link.control_messages += 1
        link.session.enqueue(message, _MARKER_QOS, False, NO_IDENTIFIERS, "", now)
