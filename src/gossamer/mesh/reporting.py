"""The mesh to the outside: what each link carries and holds, and the topics under `$SYS/mesh/`."""

from typing import Final

from gossamer.broker.agenda import Duty
from gossamer.broker.core import Core
from gossamer.broker.distributing import publish
from gossamer.mesh.link import Link
from gossamer.mesh.mesh import Mesh
from gossamer.mesh.modes.reporting import choice_statistics
from gossamer.mesh.stock.reporting import stock_statistics
from gossamer.session.message import Message

_PREFIX: Final = "$SYS/mesh/"


def mesh_of(core: Core) -> Mesh | None:
    """The mesh that this broker belongs to; None if it stands alone."""
    neighbours = core.neighbours
    return neighbours if isinstance(neighbours, Mesh) else None


def link_counts(mesh: Mesh, link: Link) -> dict[str, int]:
    """Everything countable about a link. Interests are filters, or set bits in mode `bloom`."""
    traffic = link.traffic()
    session = link.session
    return {
        "interests_told": link.teller.told(),
        "interests_held": mesh.hearing.held(link),
        "messages_received": traffic.messages_received,
        "messages_sent": traffic.messages_sent,
        "bytes_received": traffic.bytes_received,
        "bytes_sent": traffic.bytes_sent,
        "control_messages_received": link.control_messages_heard,
        "control_messages_sent": link.control_messages,
        "control_bytes_received": link.control_bytes_heard,
        "control_bytes_sent": link.control_bytes,
        "queued": session.queued() + session.spilled,
        "spilled": session.spilled,
        "inflight": len(session.inflight),
    }


def link_state(link: Link) -> str:
    """`tree` (in use), `leaving` (its queue is being emptied), `standby` or `away`."""
    if link.connection is None:
        return "away"
    if link.in_tree or link.pulse is None:
        return "tree"
    session = link.session
    is_leaving = link.is_forwarding or session.inflight or session.queue
    return "leaving" if is_leaving else "standby"


def link_cost(link: Link) -> int:
    """What the tree reckons with at this end; 0 for a local network."""
    return 0 if link.pulse is None else link.pulse.cost


def tree_counts(mesh: Mesh) -> dict[str, int]:
    """How this broker sees the mesh's tree; nothing where the operator keeps it."""
    fabric = mesh.fabric
    if fabric is None:
        return {}
    return {
        "brokers": len(fabric.view.tree),
        "settled": int(fabric.settling.is_settled),
        "changes": fabric.changes,
        "waves": fabric.waves.begun,
        "forged": fabric.admission.forged,
        "damped": mesh.flooding.damped,
    }


def errand_counts(mesh: Mesh) -> dict[str, int]:
    """What is for one broker and cannot go on: for good, or until something happens."""
    parked, early = mesh.errands.waiting()
    return {"set_aside": mesh.errands.set_aside, "parked": parked, "early": early}


def statistics(mesh: Mesh) -> dict[str, str]:
    """Topic (under `$SYS/mesh/`) to value."""
    links = mesh.by_name.values()
    found = {
        "name": mesh.settings.name,
        "mode": mesh.settings.mode,
        "links/known": str(len(links)),
        "links/connected": str(sum(link.connection is not None for link in links)),
    }
    for field, count in tree_counts(mesh).items():
        found[f"tree/{field}"] = str(count)
    for field, count in errand_counts(mesh).items():
        found[f"errands/{field}"] = str(count)
    for link in links:
        found[f"link/{link.name}/state"] = link_state(link)
        found[f"link/{link.name}/cost"] = str(link_cost(link))
        found[f"link/{link.name}/connected"] = "1" if link.connection is not None else "0"
        for field, count in link_counts(mesh, link).items():
            found[f"link/{link.name}/{field.replace('_', '/')}"] = str(count)
    found.update(choice_statistics(mesh.choosing))
    if mesh.stocks is not None:
        found.update(stock_statistics(mesh.stocks))
    return found


def start_reporting(mesh: Mesh, now: float) -> None:
    """Once; nothing where `$SYS` is switched off."""
    if mesh.core.settings.sys_interval:
        mesh.core.agenda.add(now, MeshReport(mesh))
        mesh.overview.start(now)


class MeshReport(Duty):
    """Publishes what has changed since the last time, and empties what is no more."""

    def __init__(self, mesh: Mesh) -> None:
        self._mesh = mesh
        self._last: dict[str, str] = {}

    def fire(self, now: float) -> float:
        current = statistics(self._mesh)
        for name in self._last:
            if name not in current:
                self._publish(name, "", now)
        for name, value in current.items():
            if self._last.get(name) != value:
                self._publish(name, value, now)
        self._last = current
        interval = self._mesh.core.settings.sys_interval
        return now + interval if interval else 0.0

    def _publish(self, name: str, value: str, now: float) -> None:
        message = Message(_PREFIX + name, value.encode(), 0, True, None, 0.0, "", "")
        publish(self._mesh.core, message, None, now)
