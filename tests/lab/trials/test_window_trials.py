"""Windows of time in random small meshes with faults, and what their oracle must see."""

import time
from collections.abc import Callable

import pytest

from gossamer.mesh.aggregates import gathering
from gossamer.mesh.aggregates.gathering import Gathering
from gossamer.mesh.aggregates.subscribed import SubscribedWindow
from gossamer.mesh.aggregates.values import MeshValues
from gossamer.mesh.settings import MODES
from gossamer.plus.partial_codec import Counts
from gossamer.wire.packets import Publish
from gossamer.wire.properties import Properties
from gossamer_lab.trials.plan import (
    ClientPlan,
    TrialPlan,
    TrialStep,
    make_plan,
    make_roaming_plan,
    read_plan,
)
from gossamer_lab.trials.publications import Publications, TrialPublication
from gossamer_lab.trials.trial import run_trial, run_world
from gossamer_lab.trials.window_oracle import WindowOracle
from gossamer_lab.trials.window_plan import payload_of, with_windows
from gossamer_lab.trials.windows import BY_TOPIC, LAST_VALUES, OVER_TOPICS, TICK
from gossamer_lab.trials.world import World

# For the trials of one mode: so many whatever they take, and more while there is time.
LEAST_TRIALS = 8
MOST_TRIALS = 60
MOST_SECONDS = 1.5

# `make test-pure` runs them.
BROKEN_ON_PURPOSE = pytest.mark.skipif(
    not gathering.__file__.endswith(".py"), reason="what is compiled cannot be replaced in a test"
)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("make", [make_plan, make_roaming_plan], ids=["settled", "roaming"])
def test_windows_are_those_of_one_broker(make: Callable[..., TrialPlan], mode: str) -> None:
    end = time.monotonic() + MOST_SECONDS
    kind = " --roaming" if make is make_roaming_plan else ""
    for seed in range(MOST_TRIALS):
        outcome = run_trial(with_windows(make(seed, mode)))
        command = f"gossamer sim torture --first {seed} --seeds 1 --modes {mode}{kind} --operators"
        assert not outcome.faults, command
        if seed >= LEAST_TRIALS and time.monotonic() > end:
            break


def test_they_change_no_step_of_a_seed() -> None:
    verbs: set[str] = set()
    for seed in range(20):
        plan, without = with_windows(make_plan(seed, "ssf")), make_plan(seed, "ssf")
        for steps, before in zip(plan.rounds, without.rounds, strict=True):
            assert [step for step in steps if step in before] == before
            verbs |= {step.verb for step in steps if step not in before}
    assert verbs == {"subscribe", "publish", "burst"}


def test_a_plan_is_what_its_text_says() -> None:
    plan = with_windows(make_plan(8, "ssf"))
    assert plan.has_windows
    assert read_plan(plan.as_text()) == plan


# A mesh that is broken on purpose ----------------------------------------------------------------


def line_of_two(chain: str, cut: float = 0.0) -> TrialPlan:
    """`c0` at one end publishes, `c1` at the other reads."""
    clients = [ClientPlan(f"c{number}", number, True, -1, False) for number in range(2)]
    values = [
        TrialStep(1.0 + digit, "publish", "c0", "w/a", 2, payloads=[payload_of(digit)])
        for digit in range(4)
    ]
    steps = [TrialStep(0.5, "cut", 0, seconds=cut), *values] if cut else values
    rounds = [[TrialStep(0.5, "subscribe", "c1", f"{chain}/w/+", 2)], [], steps]
    return TrialPlan(1, "ssf", 2, [[0, 1]], 0.0, 0.0, 0.002, clients, rounds)


@pytest.mark.parametrize("chain", [BY_TOPIC, OVER_TOPICS])
@pytest.mark.parametrize("cut", [0.0, 7.0])
def test_everything_is_counted_once(chain: str, cut: float) -> None:
    world = World(line_of_two(chain, cut))
    assert run_world(world).faults == []
    windows = world.oracle.windows
    assert windows.results
    assert bool(windows.corrections) == bool(cut)


@BROKEN_ON_PURPOSE
def test_a_broker_that_counts_twice_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    take = Gathering.take

    def twice(
        self: Gathering, broker: str, since: float, piece: int, pieces: int, counts: Counts
    ) -> bool:
        take(self, broker, since, piece, pieces, counts)
        return take(self, broker, since, piece, pieces, counts)

    monkeypatch.setattr(Gathering, "take", twice)
    assert "2 times" in run_trial(line_of_two(BY_TOPIC)).faults[0]


@BROKEN_ON_PURPOSE
def test_a_broker_that_is_left_out_without_a_word_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Gathering, "missing", lambda self, brokers, end: [])
    faults = run_trial(line_of_two(BY_TOPIC, 7.0)).faults
    assert any("is in no window" in fault for fault in faults)


@BROKEN_ON_PURPOSE
def test_counts_that_are_dropped_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(SubscribedWindow, "accepts", lambda self, partial, now: False)
    assert all("is in no window" in fault for fault in run_trial(line_of_two(BY_TOPIC)).faults)


def test_the_last_sum_has_the_last_values() -> None:
    world = World(line_of_two(LAST_VALUES, 7.0))
    assert run_world(world).faults == []
    assert world.oracle.values.results


@BROKEN_ON_PURPOSE
def test_values_that_are_not_told_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(MeshValues, "_tell", lambda self, own, brokers, now: None)
    assert "in its last sum" in run_trial(line_of_two(LAST_VALUES)).faults[0]


# The oracle by itself ----------------------------------------------------------------------------


class Reading:
    """Subscription 1 reads what `w` publishes at the broker `b`, whose clock it sets."""

    def __init__(self) -> None:
        self.faults: list[str] = []
        self.wall = 1_000 * TICK.seconds
        self.oracle = WindowOracle(self.faults.append)
        self.oracle.whereabouts = lambda client: ("b", self.wall)
        self.oracle.brokers = 2
        self._publications = Publications()

    def publish(self, digit: int, qos: int = 2, window: int = 0) -> TrialPublication:
        self.wall = (1_000 + window) * TICK.seconds + 1.0
        made = self._publications.add("w", "w/a", qos, template=payload_of(digit))
        self.oracle.publishing(made, {1})
        made.acknowledged = True
        self.oracle.acknowledged(made.key)
        return made

    def result(self, value: int, *user: tuple[str, str]) -> None:
        properties = Properties()
        properties.user = list(user)
        packet = Publish(f"{BY_TOPIC}/w/a", b"%d.0" % value, 2, properties=properties)
        self.oracle.received("r", 1, BY_TOPIC + "/", packet)


CORRECTION = ("plus_correction", "1970-01-01T01:06:40Z")
MISSING = ("plus_missing", "b")


def test_what_is_complete_has_no_fault() -> None:
    reading = Reading()
    reading.publish(0)
    reading.publish(1)
    reading.publish(2, window=1)
    reading.result(5)
    reading.result(16)
    reading.oracle.judge()
    assert not reading.faults


def test_what_is_missing_must_be_said_and_must_come() -> None:
    reading = Reading()
    reading.publish(0)
    reading.publish(1)
    reading.result(1, MISSING)
    assert not reading.faults
    reading.oracle.judge()
    assert "in no window" in reading.faults.pop()
    reading.result(5, CORRECTION)
    reading.oracle.judge()
    assert not reading.faults


@pytest.mark.parametrize(
    ("results", "word"),
    [
        ([(1, ())], "not said so"),
        ([(2, ())], "2 times"),
        ([(5, ()), (1, ())], "of an earlier window"),
        ([(16, ())], "nobody published"),
        ([(5, (("plus_correction", "1970-01-01T01:06:44Z"),))], "of several windows"),
        (
            [(1, (MISSING,)), (5, (CORRECTION,)), (5, (CORRECTION,)), (5, (CORRECTION,))],
            "too often",
        ),
    ],
)
def test_what_is_wrong_is_found(
    results: list[tuple[int, tuple[tuple[str, str], ...]]], word: str
) -> None:
    reading = Reading()
    reading.publish(0)
    reading.publish(1)
    for value, user in results:
        reading.result(value, *user)
    assert word in reading.faults[0]


def test_what_entered_in_two_windows_is_in_two_results() -> None:
    reading = Reading()
    reading.publish(0)
    reading.publish(1, window=1)
    reading.result(5)
    assert "of several windows" in reading.faults[0]
