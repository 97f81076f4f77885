"""The durable scenarios against the real broker, as small as they can be."""

import pytest

from gossamer_lab.bench import harness, peers
from gossamer_lab.bench.load.scenarios import DURABLE_SCENARIOS, LoadScenario


@pytest.mark.parametrize("scenario", DURABLE_SCENARIOS, ids=lambda scenario: scenario.name)
def test_every_acknowledged_message_arrives(scenario: LoadScenario) -> None:
    result = harness.measure_once(scenario, peers.durable_gossamer(), 0.2, 0.01)
    assert result.failure == ""
    assert result.lost == 0
    assert result.delivered > 0
