"""The mesh to the outside: what links, bridges and mode `auto` report, and the topics under
`$SYS/mesh/`."""

import json
from typing import Final

from gossamer.broker.conditions import judgements_for
from gossamer.broker.core import Core
from gossamer.broker.delivery import publish
from gossamer.broker.timers import Timer
from gossamer.mesh.bridges.bridge import Bridge
from gossamer.mesh.bridges.bridges import Bridges
from gossamer.mesh.interest.auto import AutoChoice, BranchChoice
from gossamer.mesh.link import Link
from gossamer.mesh.mesh import Mesh
from gossamer.session.message import Message

_PREFIX: Final = "$SYS/mesh/"
_DIGITS = 3


def mesh_of(core: Core) -> Mesh | None:
    """The mesh that this broker belongs to; None if it stands alone."""
    neighbours = core.neighbours
    return neighbours if isinstance(neighbours, Mesh) else None


def link_counts(mesh: Mesh, link: Link) -> dict[str, int]:
    """Everything countable about a link. Interests are filters, or set bits in mode `bloom`."""
    traffic = link.traffic()
    session = link.session
    judgements = judgements_for(mesh.core, session)
    return {
        "interests_told": link.advertiser.told(),
        "interests_held": mesh.remote_interest.held(link),
        "messages_received": traffic.messages_received,
        "messages_sent": traffic.messages_sent,
        "bytes_received": traffic.bytes_received,
        "bytes_sent": traffic.bytes_sent,
        "wire_bytes_received": traffic.bytes_received - traffic.saved_received,
        "wire_bytes_sent": traffic.bytes_sent - traffic.saved_sent,
        "control_messages_received": link.control_messages_heard,
        "control_messages_sent": link.control_messages,
        "control_bytes_received": link.control_bytes_heard,
        "control_bytes_sent": link.control_bytes,
        "interest_messages_sent": link.interest_messages,
        "interest_bytes_sent": link.interest_bytes,
        "judged_messages": judgements.judged,
        "rejected_messages": judgements.rejected,
        "rejected_bytes": judgements.rejected_bytes,
        "unjudged_messages": judgements.unjudged,
        "queued": session.queued() + session.lane.messages,
        "spilled": session.lane.messages,
        "inflight": session.in_flight(),
    }


def link_state(link: Link) -> str:
    """`tree` (in use), `leaving` (its queue is being emptied), `standby` or `away`."""
    if link.connection is None:
        return "away"
    if link.in_tree or link.round_trip is None:
        return "tree"
    session = link.session
    is_leaving = link.is_forwarding or session.in_flight() or session.queue
    return "leaving" if is_leaving else "standby"


def link_cost(link: Link) -> int:
    """What the tree reckons with at this end; 0 for a local network."""
    return 0 if link.round_trip is None else link.round_trip.cost


def tree_counts(mesh: Mesh) -> dict[str, int]:
    """How this broker sees the mesh's tree."""
    tree_links = mesh.tree_links
    return {
        "brokers": len(tree_links.view.tree),
        "settled": int(tree_links.agreement.is_settled),
        "changes": tree_links.changes,
        "waves": tree_links.rebroadcast.begun,
        "forged": tree_links.deduplication.forged,
        "damped": mesh.gossip.damped,
    }


def directed_counts(mesh: Mesh) -> dict[str, int]:
    """What is for one broker and cannot go on: for good, or until something happens."""
    parked, early = mesh.router.waiting()
    return {
        "set_aside": mesh.router.set_aside,
        "refused": mesh.router.refusals,
        "parked": parked,
        "early": early,
    }


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
    for field, count in directed_counts(mesh).items():
        found[f"errands/{field}"] = str(count)
    for link in links:
        found[f"link/{link.name}/state"] = link_state(link)
        found[f"link/{link.name}/cost"] = str(link_cost(link))
        found[f"link/{link.name}/connected"] = "1" if link.connection is not None else "0"
        for field, count in link_counts(mesh, link).items():
            found[f"link/{link.name}/{field.replace('_', '/')}"] = str(count)
    found.update(choice_statistics(mesh.auto))
    if mesh.bridges is not None:
        found.update(bridge_statistics(mesh.bridges))
    return found


def start_reporting(mesh: Mesh, now: float) -> None:
    """Once; nothing where `$SYS` is switched off."""
    if mesh.core.settings.sys_interval:
        mesh.core.timers.add(now, MeshSysTopics(mesh))
        mesh.overview.start(now)


class MeshSysTopics(Timer):
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


def choice_view(choice: BranchChoice) -> dict[str, str | int | float]:
    """`ratio` is equation 5: the bytes of filters as a part of those of flooding."""
    return {
        "mode": "pf" if choice.is_flooded else "ssf",
        "ratio": round(choice.ratio, _DIGITS),
        "ibr": round(choice.ibr(), _DIGITS),
        "spr": round(choice.spr(), _DIGITS),
        "interested": choice.interested,
        "brokers": choice.brokers,
        "published_bytes": round(choice.published),
        "subscribed_bytes": round(choice.subscribed),
    }


def choice_statistics(choosing: AutoChoice) -> dict[str, str]:
    """Topic (under `$SYS/mesh/`) to value."""
    return {
        f"auto/{branch}": json.dumps(choice_view(choice))
        for branch, choice in choosing.choices.items()
    }


def bridge_counts(bridge: Bridge) -> dict[str, int]:
    """Everything countable about one."""
    traffic = bridge.traffic()
    return {
        "connected": int(bridge.connection is not None),
        "owner": int(bridge.is_owner),
        "subscribed": len(bridge.asked) if bridge.is_owner else 0,
        "messages_received": traffic.messages_received,
        "messages_sent": traffic.messages_sent,
        "queued": bridge.session.queued(),
        "inflight": bridge.session.in_flight(),
        "echoes": bridge.sent.echoes,
    }


def bridge_statistics(bridges: Bridges) -> dict[str, str]:
    """Topic (under `$SYS/mesh/`) to value."""
    found: dict[str, str] = {}
    for name, bridge in bridges.by_name.items():
        for field, count in bridge_counts(bridge).items():
            found[f"stock/{name}/{field.replace('_', '/')}"] = str(count)
    return found
