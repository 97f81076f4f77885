"""The reduced form of the scenario against the full simulation of the same network."""

import pytest

from gossamer_lab.scenarios.scenario import Scenario
from gossamer_lab.scenarios.workload import ScenarioSettings, draw

pytest.importorskip("numpy")

from gossamer_lab.scenarios.reduced import reduce


def settings(mode: str, alpha: float) -> ScenarioSettings:
    return ScenarioSettings(
        brokers=30,
        subscribers=240,
        publishers=60,
        mode=mode,
        alpha=alpha,
        topics=20,
        seconds=2.0,
        settled=True,
        seed=3,
    )


def test_a_seed_draws_the_same_network() -> None:
    assert draw(settings("sf", 0.3)) == draw(settings("ssf", 0.3))


@pytest.mark.parametrize("alpha", [0.0, 0.3, 0.9])
def test_messages_state_and_forwards_are_those_of_the_brokers(alpha: float) -> None:
    reduced = reduce(settings("ssf", alpha))
    flooded = Scenario(settings("sf", alpha)).run(lambda part, what: None)
    selective = Scenario(settings("ssf", alpha)).run(lambda part, what: None)
    assert reduced.sf_messages == flooded.interests
    assert reduced.sf_held == pytest.approx(2 * flooded.told / 30)
    assert reduced.ssf_held == pytest.approx(2 * selective.told / 30)
    # Ties: what arrives in the same step is handled together by the brokers.
    assert reduced.ssf_messages == pytest.approx(selective.interests, rel=0.15)
    # Which topics are published is drawn at random.
    assert reduced.wanted_forwards == pytest.approx(selective.forwards / 2.0, rel=0.1)


def test_without_wildcards_nothing_is_a_tie() -> None:
    reduced = reduce(settings("ssf", 0.0))
    selective = Scenario(settings("ssf", 0.0)).run(lambda part, what: None)
    assert reduced.ssf_messages == selective.interests


def test_flooding_sends_everything_over_every_link() -> None:
    assert reduce(settings("pf", 0.3)).pf_forwards == 60 * 29
