"""Plans in which clients go from broker to broker, and groups share what is published.

Made from the plans of other trials: some clients rove, some are members of one shared group and
subscribe to nothing else.
"""

from random import Random

from gossamer_lab.trials.plan import TrialPlan, TrialStep, make_plan

GROUP_FILTERS = ("#", "+/b", "a/#", "a", "+/+/+")
MOVE = "move"


def group_of(plan: TrialPlan) -> str:
    """The shared filter that the plan's members subscribe to."""
    return "$share/crew/" + GROUP_FILTERS[plan.seed % len(GROUP_FILTERS)]


def members_of(plan: TrialPlan) -> list[str]:
    """Every other client, but never all."""
    return [client.name for client in plan.clients[1::2]]


def is_joint(plan: TrialPlan) -> bool:
    """Whether it is a plan of this kind."""
    group = group_of(plan)
    return any(step.verb == MOVE or step.topic == group for steps in plan.rounds for step in steps)


def make_joint_plan(seed: int, mode: str = "", shape: str = "") -> TrialPlan:
    plan = make_plan(seed, mode, shape)
    random = Random(f"joint {seed}")
    members = members_of(plan)
    for client in plan.clients:
        client.no_local = False  # a broker does not know who published what came from another
        if client.name in members or random.random() < 0.5:
            client.lasting = True
    rovers = [client.name for client in plan.clients if client.lasting]
    churning = members[1:] if random.random() < 0.5 else []
    for number, steps in enumerate(plan.rounds):
        steps[:] = [
            step
            for step in steps
            # Any broker may be visited, so none is away for long.
            if not _is_of_member(step, members) and step.verb not in ("leave", "join")
        ]
        if number == 0:
            steps += [TrialStep(0.1, "subscribe", each, group_of(plan), 2) for each in members]
        else:
            steps += _moves(random, rovers, plan.brokers)
            steps += _churn(random, churning, group_of(plan))
        steps.sort(key=lambda step: step.at)
    return plan


def _is_of_member(step: TrialStep, members: list[str]) -> bool:
    return step.verb in ("subscribe", "unsubscribe") and step.what in members


def _moves(random: Random, rovers: list[str], brokers: int) -> list[TrialStep]:
    steps: list[TrialStep] = []
    for _ in range(random.choice((0, 1, 4)) if rovers else 0):
        at = round(random.choice((0.5, 1.0, 2.0, 4.0)) + random.expovariate(4.0), 4)
        steps.append(TrialStep(at, MOVE, random.choice(rovers), str(random.randrange(brokers))))
    return steps


def _churn(random: Random, members: list[str], group: str) -> list[TrialStep]:
    steps: list[TrialStep] = []
    for member in members:
        verb = random.choice(("subscribe", "unsubscribe"))
        steps.append(TrialStep(round(random.uniform(0.5, 5.0), 4), verb, member, group, 2))
    return steps
