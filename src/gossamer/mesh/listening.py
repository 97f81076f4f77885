"""Control messages of neighbours: each goes to the part of the mesh that it is for.

Whatever nobody expects is an error of the neighbour's, and ends its connection.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gossamer.mesh import control
from gossamer.mesh.link import Link
from gossamer.mesh.retaining import missing_there
from gossamer.wire import reasons
from gossamer.wire.errors import ProtocolError

if TYPE_CHECKING:
    from gossamer.mesh.mesh import Mesh


def listen(mesh: Mesh, link: Link, payload: bytes, now: float) -> None:
    link.heard(payload)
    kind = payload[0] if payload else 0
    if kind in control.INTERESTS:
        mesh.hearing.hear(link, payload)
    elif kind == control.HOLD:
        fabric = mesh.fabric
        held = payload[1:] if fabric is None else fabric.markers.asked(link, payload)
        mesh.telling.answer(link, held)
    elif kind == control.EPOCH:
        mesh.neighbourhood.hear_epoch(link, payload[1:])
    elif kind == control.REACH:
        mesh.reaching.hear(link, payload[1:])
    elif kind == control.RETAINED:
        missing = missing_there(mesh.core, payload[1:])
        link.session.enqueue_retained(missing, link.receiver, now)
    elif kind == control.MEASURES:
        mesh.choosing.gathering.hear(link, payload[1:], now)
    elif kind == control.FLOOD:
        mesh.flooding.hear(link, payload, now)
    elif kind == control.FLOOD_DIGEST:
        mesh.flooding.hear_digest(link, payload)
    elif kind == control.FLOOD_LIST:
        mesh.flooding.hear_list(link, payload)
    else:
        _listen_in_graph(mesh, link, kind, payload, now)


def _listen_in_graph(mesh: Mesh, link: Link, kind: int, payload: bytes, now: float) -> None:
    """What is said only where links may form any graph."""
    fabric = mesh.fabric
    if fabric is not None and kind == control.PING:
        fabric.heartbeat.ping(link, payload)
    elif fabric is not None and kind == control.PONG:
        fabric.heartbeat.pong(link, payload, now)
    elif fabric is not None and kind == control.LEAVE:
        link.is_compared = False
    else:
        raise ProtocolError(
            reasons.PROTOCOL_ERROR, f"{link.name} sent a control message of kind {kind}"
        )
