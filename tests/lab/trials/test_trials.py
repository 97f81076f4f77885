"""Random small meshes against the oracle, and the oracle against what it must not let pass."""

import os
import subprocess
import sys
import time
from collections.abc import Callable

import pytest

from gossamer.mesh.settings import MODES
from gossamer.wire.packets import Publish
from gossamer_lab.trials.oracle import Oracle, Ordered
from gossamer_lab.trials.plan import (
    ClientPlan,
    TrialPlan,
    TrialStep,
    make_plan,
    make_roaming_plan,
    read_plan,
)
from gossamer_lab.trials.publications import PublicationKey
from gossamer_lab.trials.trial import run_trial
from gossamer_lab.trials.world import World

# For the trials of one mode: so many whatever they take, and more while there is time.
LEAST_TRIALS = 25
MOST_TRIALS = 100
MOST_SECONDS = 3.5


@pytest.mark.parametrize("mode", MODES)
def test_a_mesh_behaves_like_one_broker(mode: str) -> None:
    end = time.monotonic() + MOST_SECONDS
    for seed in range(MOST_TRIALS):
        outcome = run_trial(make_plan(seed, mode))
        assert not outcome.faults, f"gossamer sim torture --first {seed} --seeds 1 --modes {mode}"
        if seed >= LEAST_TRIALS and time.monotonic() > end:
            break


def test_the_mode_changes_in_the_middle_of_trouble() -> None:
    end = time.monotonic() + MOST_SECONDS
    for seed in range(1, MOST_TRIALS, 2):  # those that have changes of the mode
        outcome = run_trial(make_plan(seed))
        assert not outcome.faults, f"gossamer sim torture --first {seed} --seeds 1 --modes mixed"
        if seed >= 2 * LEAST_TRIALS and time.monotonic() > end:
            break


def test_a_plan_is_what_its_text_says() -> None:
    plan = make_plan(7)
    assert read_plan(plan.as_text()) == plan


@pytest.mark.parametrize("make", [make_plan, make_roaming_plan])
def test_bursts_change_nothing_else_of_a_seed(make: Callable[..., TrialPlan]) -> None:
    bursts: list[TrialStep] = []
    for seed in range(20):
        plan, without = make(seed), make(seed, has_bursts=False)
        for steps in plan.rounds:
            bursts += [step for step in steps if step.verb == "burst"]
            steps[:] = [step for step in steps if step.verb != "burst"]
        assert plan == without
    assert {"0", "1", "2"} < {"".join(sorted(set(step.burst))) for step in bursts}
    assert all(len(step.burst) > 1 for step in bursts)


def test_a_burst_is_one_chunk_and_all_of_it_comes() -> None:
    """With a publisher that is away for the last, of which what is sent at QoS 0 is nobody's."""
    clients = [ClientPlan(name, 0, True, -1, False) for name in ("w", "r")]
    clients[1].broker = 1
    plan = TrialPlan(1, "ssf", 2, [[0, 1]], 0.0, 0.0, 0.002, clients)
    plan.rounds = [
        [TrialStep(0.1, "subscribe", "r", "t", 2)],
        [
            TrialStep(0.5, "burst", "w", "t", burst="0" * 5 + "1" * 60 + "2" * 60),
            TrialStep(4.0, "drop", "w"),
            TrialStep(4.0, "burst", "w", "t", burst="0012"),
        ],
    ]
    world = World(plan)
    assert world.come_to_rest()
    end = world.clients["w"].end
    assert end is not None
    end.road.count_anew()
    world.do(plan.rounds[1][0])
    assert end.road.chunks == 1
    outcome = run_trial(plan)
    assert outcome.faults == []
    assert outcome.receipts == 5 + 60 + 60 + 2


DIGEST = """
from gossamer_lab.trials.plan import make_plan
from gossamer_lab.trials.trial import run_trial
print([run_trial(make_plan(seed)).digest for seed in range(20, 24)])
"""


def test_a_seed_decides_everything() -> None:
    """Whatever the process hashes strings with, and whatever secrets it draws."""
    runs = {
        subprocess.run(
            [sys.executable, "-c", DIGEST],
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(runs) == 1


def watched(ordered: Ordered = lambda w, r, is_known: True) -> tuple[Oracle, list[PublicationKey]]:
    """`r` reads `t` at QoS 2 since before the round in which `w` publishes three messages."""
    oracle = Oracle(["r", "w"], lambda _: None, ordered)
    oracle.touched("r", "t")
    oracle.subscribed("r", "t", 2, False)
    oracle.begin_round(True)
    keys = [oracle.publishing("w", "t", 2, False) for _ in range(3)]
    for key in keys:
        oracle.acknowledged(key)
    return oracle, keys


def received(oracle: Oracle, key: PublicationKey, topic: str = "t") -> None:
    oracle.received("r", Publish(topic, key.payload(), 2))


def test_the_oracle_is_content() -> None:
    oracle, keys = watched()
    for key in keys:
        received(oracle, key)
    oracle.end_round()
    assert not oracle.faults


@pytest.mark.parametrize(
    ("order", "word"),
    [([0, 2], "never got w:2"), ([0, 1, 1, 2], "twice"), ([1, 0, 2], "after 2")],
)
def test_the_oracle_sees_loss_repetition_and_disorder(order: list[int], word: str) -> None:
    oracle, keys = watched()
    for number in order:
        received(oracle, keys[number])
    oracle.end_round()
    assert len(oracle.faults) == 1
    assert word in oracle.faults[0]


@pytest.mark.parametrize(
    ("stood", "is_new", "faults"), [(0, 0, 1), (0, 1, 0), (1, 0, 1), (1, 1, 1)]
)
def test_disorder_for_a_new_filter_is_a_fault_if_the_tree_stood(
    stood: int, is_new: int, faults: int
) -> None:
    oracle, keys = watched(lambda w, r, is_known: bool(stood) or is_known)
    if is_new:
        oracle.touched("r", "t")
        oracle.subscribed("r", "t", 2, False)
    for number in (0, 2, 1):
        received(oracle, keys[number])
    assert len(oracle.faults) == faults


def test_the_oracle_sees_what_nobody_published_or_asked_for() -> None:
    oracle, keys = watched()
    received(oracle, keys[0], topic="u")
    received(oracle, PublicationKey("w", 99))
    assert len(oracle.faults) == 2


def test_a_filter_in_doubt_demands_nothing() -> None:
    oracle, _ = watched()
    oracle.touched("r", "t")
    oracle.end_round()
    assert not oracle.faults


def test_a_retained_message_of_an_earlier_round_is_a_fault() -> None:
    oracle, _ = watched()
    oracle.retained.wrote("t", "w", "w:7")
    oracle.begin_round(True)
    oracle.retained.wrote("t", "v", "v:1")
    assert oracle.retained.judge({"b0": {"t": "v:1"}}) == []
    assert len(oracle.retained.judge({"b0": {"t": "w:7"}})) == 1
    assert len(oracle.retained.judge({"b0": {"t": "v:1"}, "b1": {}})) == 2


def test_what_is_published_after_the_answer_to_an_unsubscribe_is_a_fault() -> None:
    oracle, keys = watched()
    received(oracle, keys[0])
    oracle.unsubscribed("r", "t")
    received(oracle, keys[1])
    assert not oracle.faults, "it was on its way"
    late = oracle.publishing("w", "t", 2, False)
    oracle.touched("r", "t")
    received(oracle, late)
    assert not oracle.faults, "it has asked for it again"
    oracle.unsubscribed("r", "t")
    received(oracle, oracle.publishing("w", "t", 2, False))
    assert len(oracle.faults) == 1
    assert "after it had unsubscribed" in oracle.faults[0]


@pytest.mark.parametrize("mover", ["r", "w"])
def test_who_moves_is_in_order_again_in_the_next_round(mover: str) -> None:
    oracle, keys = watched()
    oracle.moved(mover, "b1")
    received(oracle, keys[1])
    received(oracle, keys[0])
    assert not oracle.faults
    oracle.begin_round(False)
    later = [oracle.publishing("w", "t", 2, False) for _ in range(2)]
    received(oracle, later[1])
    received(oracle, later[0])
    assert len(oracle.faults) == 1


def test_a_publisher_that_moved_is_where_it_is_now() -> None:
    """Not where it began: from there only one way leads to the reader."""
    clients = [ClientPlan(name, 1, True, -1, False) for name in ("w", "r")]
    plan = TrialPlan(1, "ssf", 4, [[0, 1], [1, 2], [2, 0], [2, 3]], 0.0, 0.0, 0.002, clients)
    world = World(plan)
    assert world._is_ordered("w", "r", True)
    world.clients["w"].host = world.hosts[0]
    assert not world._is_ordered("w", "r", True)
