"""One trial from beginning to end, what a mesh at rest must show, and a smaller plan that fails
in the same way."""

from collections.abc import Container
from dataclasses import dataclass, replace
from functools import lru_cache
from random import Random

from gossamer.broker.conditions import (
    SEPARATOR,
    Condition,
    condition_text,
    filter_of,
    read_condition,
)
from gossamer.broker.operator_subscriptions import OperatorSubscription
from gossamer.mesh.aggregates.subscribed import START_SECONDS
from gossamer.mesh.interest.branch_sums import branch_of
from gossamer.mesh.link import Link
from gossamer.mesh.settings import WITHOUT_FILTERS
from gossamer.session.subscription import Subscription
from gossamer.sim.host import SimulatedHost
from gossamer.topics.containment import canonical, contains
from gossamer.wire.errors import ProtocolError
from gossamer_lab.trials.plan import CALM, ROUND_SECONDS, TrialPlan, TrialStep
from gossamer_lab.trials.windows import TICK
from gossamer_lab.trials.world import World

# Until the last windows have ended, and brokers that started late are not waited for any more.
WINDOWS_SECONDS = 4 * TICK.seconds + START_SECONDS


@dataclass
class TrialOutcome:
    plan: TrialPlan
    faults: list[str]
    trace: list[str]
    receipts: int
    events: int
    digest: int  # of everything that the oracle saw happen; the same for the same plan


def run_trial(plan: TrialPlan, keeps_trace: bool = False) -> TrialOutcome:
    """Everything that the plan says, and every promise that was broken meanwhile."""
    return run_world(World(plan, keeps_trace))


def run_world(world: World) -> TrialOutcome:
    """The plan of a world that was just made."""
    plan = world.plan
    oracle = world.oracle
    try:
        _settle(world)
        for steps in plan.rounds:
            oracle.begin_round(all(step.verb in CALM for step in steps))
            start = world.timeline.now
            for step in steps:
                world.timeline.run(start + step.at)
                world.do(step)
            # The last step may be later than that, and time does not go back.
            world.timeline.run(max(world.timeline.now, start + ROUND_SECONDS))
            _settle(world)
            oracle.end_round()
            for fault in wrong_interests(world) + wrong_trees(world) + unlike_modes(world):
                oracle.fault(fault)
            for host in world.up():
                if host.broker.core.faults.total:
                    oracle.fault(f"{host.name} noted {host.broker.core.faults.by_place}")
            for fault in wrong_owners(world) if plan.is_roaming else ():
                oracle.fault(fault)
        if plan.has_windows:
            # What the last ones counted, and what waited for brokers that were away.
            world.timeline.run(world.timeline.now + WINDOWS_SECONDS)
            _settle(world)
            oracle.windows.judge()
            oracle.values.judge()
        for fault in oracle.retained.judge({each.name: retained_of(each) for each in world.up()}):
            oracle.fault(fault)
    except ProtocolError as error:
        oracle.fault(f"a client was sent something wrong: {error.text}")
    return TrialOutcome(
        plan, oracle.faults, world.lines, oracle.receipts, world.timeline.fired, oracle.digest
    )


def _settle(world: World) -> None:
    if not world.come_to_rest():
        world.oracle.fault(f"no rest: {', '.join(world.restlessness())}")


def shrunk(plan: TrialPlan, tries: int = 300) -> TrialPlan:
    """Leaves steps out as long as some fault stays."""
    random = Random(plan.seed)
    for _ in range(tries):
        rounds = [list(steps) for steps in plan.rounds]
        size = sum(len(steps) for steps in rounds)
        if size <= 1:
            break
        share = random.choice((0.5, 0.2, 1.5 / size))
        kept: list[list[TrialStep]] = [
            [s for s in steps if random.random() > share] for steps in rounds
        ]
        while kept and not kept[-1]:
            kept.pop()
        smaller = replace(plan, rounds=kept)
        if sum(len(steps) for steps in kept) < size and run_trial(smaller).faults:
            plan = smaller
    return plan


# What a mesh at rest shows ---------------------------------------------------------------------


def retained_of(host: SimulatedHost) -> dict[str, str]:
    """Payloads by topic, as a subscriber to everything would get them."""
    retained = host.broker.core.retained
    now = host.clock.at(host.timeline.now)
    found = retained.search("#", now) + retained.search("$app/#", now)
    return {message.topic: message.payload.decode() for message in found}


def wrong_interests(world: World) -> list[str]:
    """What a neighbour holds of us against what the definition of the mode says."""
    faults: list[str] = []
    up = {host.name: host for host in world.up()}
    for host in up.values():
        faults += _missing_filters(world, host)
        for name, link in host.mesh.by_name.items():
            if name not in up:
                continue
            needed: set[str] = set()
            read: set[str] = set()
            for session in host.broker.core.sessions.values():
                if session is not link.session:
                    needed.update(host.mesh.needed_by(session))
                    for each in session.subscriptions.values():
                        is_drawn = not (each.share or is_counted_elsewhere(each))
                        read.update(each.reads() if is_drawn else ())
            if {filter_of(interest) for interest in needed} != read:
                faults.append(f"{host.name} needs {sorted(needed)} for {sorted(read)}")
            if not host.mesh.advertisements.is_conditional(link):
                needed = {filter_of(interest) for interest in needed}
            flooded = host.mesh.auto.flooded
            needed = {_collapsed(filter, flooded) for filter in needed}
            back = up[name].mesh.by_name[host.name]
            held = set(back.session.subscriptions)
            if not back.is_forwarding or host.mesh.settings.mode in WITHOUT_FILTERS:
                needed = set()  # or what is wanted is not told as filters
            if host.mesh.advertisements.is_blind_for(link) and world.left:
                needed = set()  # one that is away has not said in filters what it wants
            if not _tells(host.mesh.settings.mode, held, needed):
                faults.append(f"{name} holds {sorted(held)} of {host.name}, needs {sorted(needed)}")
    return faults


def is_counted_elsewhere(subscription: Subscription) -> bool:
    """Whether every broker counts its part of it, and nothing that is published is sent for it."""
    return isinstance(subscription, OperatorSubscription) and not subscription.operation.draws


def wrong_trees(world: World) -> list[str]:
    """At rest everybody who is joined uses one and the same tree, and nothing is left of others:
    each link is as in a mesh that has just been started."""
    faults: list[str] = []
    up = {host.name: host for host in world.up()}
    for host in up.values():
        tree_links = host.mesh.tree_links
        members = tree_links.view.tree
        edges = sum(len(neighbours) for neighbours in members.values()) // 2
        if edges != len(members) - 1:
            faults.append(f"{host.name} has a tree of {len(members)} with {edges} links")
        for name in members:
            if name not in up or up[name].mesh.tree_links.view.digest != tree_links.view.digest:
                faults.append(f"{host.name} and {name} do not agree on the tree")
        for name, link in host.mesh.by_name.items():
            if name in up:
                faults += _wrong_link(host, link, name in tree_links.view.neighbours())
    return faults


def _wrong_link(host: SimulatedHost, link: Link, is_chosen: bool) -> list[str]:
    session = link.session
    used = {link.in_tree, link.is_forwarding, session.takes_plain, session.gives_plain}
    left = session.inflight or session.queue or session.lane.messages
    if used != {is_chosen} or left or (not is_chosen and session.subscriptions):
        return [
            f"{host.name} to {link.name}: chosen {is_chosen}, in tree {link.in_tree}, forwarding "
            f"{link.is_forwarding}, QoS 0 {session.takes_plain}, left {bool(left)}"
        ]
    return []


def wrong_owners(world: World) -> list[str]:
    """At rest a session is where its client is, and nowhere else; brokers where it was pass on to
    it only what it still subscribes to."""
    faults: list[str] = []
    for client in world.clients.values():
        owners: list[str] = []
        wanted = set(world.oracle.wanted_by(client.name))
        for host in world.hosts:
            session = host.broker.core.sessions.get(client.name)
            if session is None:
                continue
            if not host.mesh.roaming.transfers.of(session).is_away():
                owners.append(host.name)
            elif ended := set(session.subscriptions) - wanted:
                faults.append(f"{host.name} still takes {sorted(ended)} for {client.name}")
        if owners != [client.host.name]:
            where = client.host.name
            faults.append(f"{client.name} is on {where}, its session on {owners}")
    return faults


def unlike_modes(world: World) -> list[str]:
    """At rest everybody who is joined does as was decided last."""
    up = {host.name: host.mesh for host in world.up()}
    return [
        f"{name} runs in mode {mesh.settings.mode}, {other} in {up[other].settings.mode}"
        for name, mesh in up.items()
        for other, link in mesh.by_name.items()
        if link.connection is not None and up[other].settings.mode != mesh.settings.mode
    ]


def _missing_filters(world: World, host: SimulatedHost) -> list[str]:
    """Every client's filters are known at its own broker."""
    faults: list[str] = []
    for client in world.clients.values():
        if client.host is host:
            session = host.broker.core.sessions.get(client.name)
            known = set() if session is None else set(session.subscriptions)
            if known != set(world.oracle.wanted_by(client.name)):
                faults.append(f"{host.name} knows {sorted(known)} of {client.name}")
    return faults


def _collapsed(interest: str, flooded: Container[str]) -> str:
    """As mode `auto` tells it, where the branch is flooded."""
    branch = branch_of(filter_of(interest))
    return f"{branch}/#" if branch is not None and branch in flooded else interest


def _tells(mode: str, held: set[str], needed: set[str]) -> bool:
    """Whether these are told for those: below the bound of merging each of them is needed, none
    contains another, and all that is needed is contained in one."""
    if mode == "sf":
        return held == {filter_of(interest) for interest in needed}
    if not held <= {_canonical(interest) for interest in needed}:
        return False
    if any(_contains(one, other) for one in held for other in held if one != other):
        return False
    return all(any(_contains(one, _canonical(each)) for one in held) for each in needed)


def _canonical(interest: str) -> str:
    filter = filter_of(interest)
    return canonical(filter) + interest[len(filter) :]


@lru_cache(maxsize=4096)
def _contains(wide: str, narrow: str) -> bool:
    """Interests, with conditions or without."""
    if not contains(filter_of(wide), filter_of(narrow)):
        return False
    if SEPARATOR not in wide:
        return True
    return SEPARATOR in narrow and _condition(wide).contains(_condition(narrow))


@lru_cache(maxsize=4096)
def _condition(interest: str) -> Condition:
    return read_condition(condition_text(interest))
