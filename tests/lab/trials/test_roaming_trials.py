"""Clients that move and groups that share, in random small meshes, against the oracle."""

import time

import pytest

from gossamer.mesh.settings import MODES
from gossamer.wire.packets import Publish
from gossamer_lab.trials.oracle import Oracle
from gossamer_lab.trials.plan import GROUP_FILTERS, make_plan, make_roaming_plan, read_plan
from gossamer_lab.trials.publications import PublicationKey
from gossamer_lab.trials.trial import run_trial

# For the trials of one mode: so many whatever they take, and more while there is time.
LEAST_TRIALS = 15
MOST_TRIALS = 40
MOST_SECONDS = 3.0
GROUP = "$share/crew/t"


@pytest.mark.parametrize("mode", MODES)
def test_a_mesh_is_one_broker_to_the_outside(mode: str) -> None:
    end = time.monotonic() + MOST_SECONDS
    for seed in range(MOST_TRIALS):
        outcome = run_trial(make_roaming_plan(seed, mode))
        assert not outcome.faults, f"sim torture --first {seed} --seeds 1 --modes {mode} --roaming"
        if seed >= LEAST_TRIALS and time.monotonic() > end:
            break


def test_nothing_overtakes_a_session_that_moves_while_the_tree_changes() -> None:
    assert not run_trial(make_roaming_plan(34, "pf")).faults


def test_a_plan_says_what_it_is() -> None:
    plan = make_roaming_plan(3)
    assert read_plan(plan.as_text()).is_roaming
    assert not make_plan(3).is_roaming
    assert plan.group == f"$share/crew/{GROUP_FILTERS[3]}"


def watched() -> tuple[Oracle, PublicationKey]:
    """`m` and `n` share `t` since before the round in which `w` publishes at QoS 2."""
    oracle = Oracle(["m", "n", "w"], lambda _: None, group=GROUP, members=["m", "n"])
    for name in ("m", "n"):
        oracle.touched(name, GROUP)
        oracle.subscribed(name, GROUP, 2, False)
    oracle.begin_round(True)
    key = oracle.publishing("w", "t", 2, False)
    oracle.acknowledged(key)
    return oracle, key


def test_the_oracle_lets_one_member_have_it() -> None:
    oracle, key = watched()
    oracle.received("n", Publish("t", key.payload(), 2))
    oracle.end_round()
    assert oracle.faults == []


@pytest.mark.parametrize("readers", [[], ["m", "n"], ["m", "m"]])
def test_the_oracle_finds_what_is_missing_or_too_much(readers: list[str]) -> None:
    oracle, key = watched()
    for reader in readers:
        oracle.received(reader, Publish("t", key.payload(), 2))
    oracle.end_round()
    assert oracle.faults
