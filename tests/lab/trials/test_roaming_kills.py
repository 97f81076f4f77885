"""A session moves while messages come for it, and a broker is killed between any two steps of that:
it is on one broker, with all that it has, and nothing is lost or comes twice."""

from random import Random

import pytest

from gossamer.mesh.settings import MODES
from gossamer_lab.trials.plan import MOVE, SHAPES, ClientPlan, TrialPlan, TrialStep
from gossamer_lab.trials.trial import run_trial

MOVES_AT = 1.0
KILLS = 8  # for each broker and mode, spread over the time in which the session moves
SECONDS = 0.9


def killed(mode: str, victim: int, turn: int) -> TrialPlan:
    """`s` moves from one broker to another, to and fro, and one of four is killed meanwhile."""
    random = Random(f"{mode} {victim} {turn}")
    shape = tuple(SHAPES)[turn % len(SHAPES)]
    old, new, third = random.sample(range(4), 3)
    clients = [
        ClientPlan("s", old, True, -1, False),
        ClientPlan("p", third, True, -1, False),
        ClientPlan("q", new, True, -1, False),
        ClientPlan("r", old, True, -1, False),
    ]
    links = SHAPES[shape](random, 4)
    plan = TrialPlan(turn, mode, 4, links, 0.0, 0.0, random.choice((0.002, 0.02, 0.3)), clients)
    steps = [
        TrialStep(round(0.5 + number * 0.02, 4), "publish", "pqr"[number % 3], "a/b", qos=2)
        for number in range(90)
    ]
    steps.append(TrialStep(MOVES_AT, MOVE, "s", str(new)))
    if turn % 3 == 2:
        steps.append(TrialStep(MOVES_AT + 0.4, MOVE, "s", str(random.choice((old, third)))))
    down = random.choice((0.0, 0.3, 3.0))
    at = MOVES_AT + SECONDS * (turn + random.random()) / KILLS
    steps.append(TrialStep(round(at, 4), "crash", (old, new, third)[victim], seconds=down))
    steps.sort(key=lambda step: step.at)
    plan.rounds = [[TrialStep(0.1, "subscribe", "s", "a/#", qos=2)], steps]
    return plan


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("victim", [0, 1, 2], ids=["old", "new", "another"])
def test_a_kill_between_any_two_steps(mode: str, victim: int) -> None:
    for turn in range(KILLS):
        assert not run_trial(killed(mode, victim, turn)).faults, turn
