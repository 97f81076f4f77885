"""What a mesh at rest shows: its retained messages, and what its brokers know of each other."""

from gossamer.sim.host import Host
from gossamer.sim.trials.world import World
from gossamer.topics.containment import canonical, contains


def retained_of(host: Host) -> dict[str, str]:
    """Payloads by topic, as a subscriber to everything would get them."""
    retained = host.broker.core.retained
    now = host.clock.at(host.timeline.now)
    found = retained.search("#", now) + retained.search("$app/#", now)
    return {message.topic: message.payload.decode() for message in found}


def wrong_interests(world: World) -> list[str]:
    """What a neighbour holds of us against what the definition of the mode says."""
    faults: list[str] = []
    for host in world.hosts:
        faults += _missing_filters(world, host)
        for name, link in host.mesh.by_name.items():
            needed: set[str] = set()
            for session in host.broker.core.sessions.values():
                if session is not link.session:
                    held_here = session.subscriptions.values()
                    needed.update(each.filter for each in held_here if not each.share)
            other = next(each for each in world.hosts if each.name == name)
            held = set(other.mesh.by_name[host.name].session.subscriptions)
            expected = _expected(world.plan.mode, needed)
            if expected != held:
                faults.append(f"{name} holds {sorted(held)} of {host.name}, not {sorted(expected)}")
    return faults


def _missing_filters(world: World, host: Host) -> list[str]:
    """Every client's filters are known at its own broker."""
    faults: list[str] = []
    for client in world.clients.values():
        if client.host is host:
            session = host.broker.core.sessions.get(client.name)
            known = set() if session is None else set(session.subscriptions)
            if known != set(world.oracle.wanted_by(client.name)):
                faults.append(f"{host.name} knows {sorted(known)} of {client.name}")
    return faults


def _expected(mode: str, needed: set[str]) -> set[str]:
    if mode == "sf":
        return needed
    if mode != "ssf":
        return set()  # what is wanted is not told as filters
    spelled = {canonical(filter) for filter in needed}
    return {
        filter
        for filter in spelled
        if not any(contains(wider, filter) for wider in spelled if wider != filter)
    }
