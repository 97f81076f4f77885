"""Windows of time that several brokers count, beside whatever else a plan has.

Subscribers ask for sums of windows of some seconds, by topic and over topics. Each publication that
they are of is another power of four, so a sum says of each how often it was counted. All of this
has a stream of its own, and of what the plan had only clocks change: they are less wrong. Where
they are wrong by many windows, and where the mode changes, there is nothing to say of a window:
such plans stay as they are.
"""

from random import Random
from typing import Final

from gossamer_lab.trials.plan import MOVE, TrialPlan, TrialStep, draw_moment
from gossamer_lab.trials.publications import WHOLE_KEY
from gossamer_lab.trials.windows import BASE, CHAINS, COUNTED, DIGITS, TOPICS

# Two clocks differ by less than the grace that brokers give each other. What differs by more is
# named as missing for a while, and where the form of a window changes it may be lost.
MOST_SKEW: Final = 0.9
BAD_SKEW: Final = 100.0


def with_windows(plan: TrialPlan) -> TrialPlan:
    """The plan itself, with more steps."""
    random = Random(f"windows of {plan.seed}")
    verbs = {step.verb for steps in plan.rounds for step in steps}
    # Who moves begins another operator on another broker, in the middle of a window.
    movers = {step.what for steps in plan.rounds for step in steps if step.verb == MOVE}
    movers.update(plan.members if plan.is_roaming else ())
    takers = [each.name for each in plan.clients if each.lasting and each.name not in movers]
    if plan.skew > BAD_SKEW or "switch" in verbs or not takers:
        return plan
    plan.skew = min(plan.skew, MOST_SKEW)
    digits = iter(range(DIGITS))
    for number, steps in enumerate(plan.rounds):
        for _ in range(random.choice((1, 2, 3)) if number == 0 else random.choice((0, 0, 1))):
            filter = f"{random.choice(CHAINS)}/{COUNTED}"
            steps.append(
                TrialStep(draw_moment(random), "subscribe", random.choice(takers), filter, 2)
            )
        for _ in range(random.randint(2, 6)):
            step = _publication(random, plan)
            step.payloads = [
                payload_of(digit) for digit, _ in zip(digits, step.burst or "1", strict=False)
            ]
            if step.burst:
                step.burst = step.burst[: len(step.payloads)]
            if step.payloads:
                steps.append(step)
        steps.sort(key=lambda step: step.at)
    return plan


def _publication(random: Random, plan: TrialPlan) -> TrialStep:
    name = random.choice(plan.clients).name
    step = TrialStep(draw_moment(random), "publish", name, random.choice(TOPICS))
    step.qos = random.choice((0, 1, 2, 2))
    step.retain = random.random() < 0.15
    if random.random() < 0.2:
        step.verb = "burst"
        step.burst = random.choice("012") * 3
    return step


def payload_of(digit: int) -> str:
    """All as long as each other, so that many in one chunk are one run."""
    return f'{{"v":{BASE**digit:16d},"k":"{WHOLE_KEY}"}}'
