"""One trial from beginning to end, and a smaller plan that fails in the same way."""

from dataclasses import dataclass, replace
from random import Random

from gossamer.wire.errors import ProtocolError
from gossamer_lab.trials.joint_plan import is_joint
from gossamer_lab.trials.joint_world import JointWorld
from gossamer_lab.trials.plan import ROUND_SECONDS, TrialPlan, TrialStep
from gossamer_lab.trials.probes import retained_of, unlike_modes, wrong_interests, wrong_trees
from gossamer_lab.trials.world import World

CALM = ("subscribe", "unsubscribe", "publish", "clear")


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
    world = JointWorld(plan, keeps_trace) if is_joint(plan) else World(plan, keeps_trace)
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
            if isinstance(world, JointWorld):
                for fault in world.wrong_owners():
                    oracle.fault(fault)
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
