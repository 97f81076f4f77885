"""When everybody agrees on the tree, and all that was sent before has arrived.

Each broker sends a marker with the digest of its view to each of its neighbours in the tree, behind
everything that it has sent there, once all its *other* neighbours in the tree have sent theirs with
the same digest. On a tree that ends: leaves begin, the markers meet, and two cross each link.
A broker that has one from each of them is *settled*.

A marker from `w` to `n` says that everybody behind `w` has adopted this view, that `n` knows all
their interests, and that what they handled under earlier views has arrived at `n` or precedes a
marker somewhere behind `w`. A broker asks for interests with a number, and a marker gives back the
number of the last request: one that answers an earlier request may not have all interests behind
it, and does not count.

Why QoS 0 cannot go in circles, without any name on its messages: it crosses a link only if a broker
has been settled in a view with that link in its tree, stops as soon as the broker's own tree does
not have it, and is dropped by a receiver whose tree does not have it. Views of one broker only
grow, since versions do. When anybody settles in `d`, all of its component have adopted `d` or a
later view, and so use no link that is not in `d`'s tree, and none settles in a later view before
this broker has adopted that. The links in use are part of one tree at any time. A message on its
way when the tree changes was sent before its sender's marker: it arrives before the receiver
settles, or over a link that the receiver's tree does not have, where it is dropped.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from gossamer.broker.mesh_port import MARKER_TOPIC
from gossamer.mesh.control_messages import HOLD, control_packet
from gossamer.mesh.interest.remote import held_digest
from gossamer.mesh.link import Link
from gossamer.mesh.tree.spanning_tree import DIGEST_BYTES
from gossamer.session.message import Message
from gossamer.session.subscription import NO_IDENTIFIERS
from gossamer.wire import reasons
from gossamer.wire.errors import ProtocolError

if TYPE_CHECKING:
    from gossamer.mesh.mesh import Mesh

# A marker must not overtake what waits for the disk, so it waits there itself.
_MARKER_QOS: Final = 2
_NUMBER_BYTES: Final = 4


class TreeAgreement:
    """One broker's markers, sent and received."""

    __slots__ = ("_heard", "_neighbours", "_sent", "digest", "is_settled")

    def __init__(self) -> None:
        self.digest = b""
        self.is_settled = False
        self._neighbours: list[str] = []
        self._heard: dict[str, bytes] = {}
        self._sent: dict[str, None] = {}

    def adopt(self, digest: bytes, neighbours: list[str]) -> None:
        """Another view; markers that came early for it count."""
        self.digest = digest
        self._neighbours = neighbours
        self._sent = {}
        self._judge()

    def heard(self, neighbour: str, digest: bytes) -> None:
        self._heard[neighbour] = digest
        self._judge()

    def unheard(self, neighbour: str) -> None:
        """What the neighbour said before counts no more."""
        self._heard.pop(neighbour, None)
        self._judge()

    def sent(self, neighbour: str) -> None:
        self._sent[neighbour] = None

    def unsent(self, neighbour: str) -> None:
        """The neighbour asks anew, so it needs the marker again."""
        self._sent.pop(neighbour, None)

    def has_sent(self) -> bool:
        """Whether anybody has this broker's word for this view."""
        return bool(self._sent)

    def due(self) -> list[str]:
        """The neighbours whose turn it is, as far as the others' markers tell."""
        missing = [name for name in self._neighbours if self._heard.get(name) != self.digest]
        if len(missing) > 1:
            return []
        waiting = missing if missing else self._neighbours
        return [name for name in waiting if name not in self._sent]

    def _judge(self) -> None:
        digest = self.digest
        heard = self._heard
        self.is_settled = all(heard.get(name) == digest for name in self._neighbours)


class Markers:
    """Sends those that `settling` finds due, and tells it of those that came."""

    __slots__ = ("_agreement", "_mesh")

    def __init__(self, mesh: Mesh, agreement: TreeAgreement) -> None:
        self._mesh = mesh
        self._agreement = agreement

    def ask(self, link: Link) -> None:
        """For what is wanted behind the neighbour, and for a marker behind the answer."""
        link.holds += 1
        self._agreement.unheard(link.name)
        number = link.holds.to_bytes(_NUMBER_BYTES, "big")
        link.send([control_packet(HOLD, number + held_digest(link))])

    def asked(self, link: Link, payload: bytes) -> bytes:
        """The neighbour wants to be told what is wanted here; the digest of what it holds."""
        if len(payload) < 1 + _NUMBER_BYTES:
            raise ProtocolError(reasons.MALFORMED_PACKET, f"{link.name} sent an empty request")
        link.asked = payload[1 : 1 + _NUMBER_BYTES]
        self._agreement.unsent(link.name)
        return payload[1 + _NUMBER_BYTES :]

    def heard(self, link: Link, payload: bytes) -> None:
        if len(payload) != DIGEST_BYTES + _NUMBER_BYTES:
            raise ProtocolError(reasons.MALFORMED_PACKET, f"{link.name} sent a malformed marker")
        link.control_messages_heard += 1
        if int.from_bytes(payload[DIGEST_BYTES:], "big") == link.holds:
            self._agreement.heard(link.name, payload[:DIGEST_BYTES])

    def send_due(self, now: float) -> None:
        for name in self._agreement.due():
            link = self._mesh.by_name[name]
            if link.connection is not None and link.is_compared and not link.is_deferred:
                self._send(link, now)

    def _send(self, link: Link, now: float) -> None:
        payload = self._agreement.digest + link.asked
        message = Message(MARKER_TOPIC, payload, _MARKER_QOS, False, None, 0.0, "", "")
        self._agreement.sent(link.name)
        link.markers += 1
        link.control_messages += 1
        link.session.enqueue(message, _MARKER_QOS, False, NO_IDENTIFIERS, "", now)
