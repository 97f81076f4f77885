"""The benchmark of the archive, as small as it can be."""

import pytest

from gossamer_lab.bench import harness
from gossamer_lab.bench.archive import SCENARIOS, lines, peers
from gossamer_lab.bench.archive_rates import measure
from gossamer_lab.bench.load.scenarios import LoadScenario


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_a_broker_that_archives_delivers(scenario: LoadScenario) -> None:
    archiving = peers()[1]
    result = harness.measure_once(scenario, archiving, 0.2, 0.01)
    assert result.failure == ""
    assert result.lost == 0
    assert result.delivered > 0


def test_every_rate_is_measured_and_shown() -> None:
    rates = measure(4_000)
    assert rates.rows == 4_000
    assert len(rates.rates) == 8
    assert all(rate > 0 for rate in rates.rates.values())
    assert rates.bytes_a_row_sealed < rates.bytes_a_row_log
    assert len(lines(rates)) == len(rates.rates) + 1
