"""`gossamer bench growth` as small as it can be: each load runs, and costs are put side by side."""

from pathlib import Path

import pytest

from gossamer.cli.main import run
from gossamer.topics.names import matches
from gossamer_lab.bench import harness, peers
from gossamer_lab.bench.growth import TITLES, growth_tables, notes
from gossamer_lab.bench.load import state
from gossamer_lab.bench.load.scenarios import GROWTH_SCENARIOS
from gossamer_lab.bench.measurement import Measurement


@pytest.mark.parametrize("growing", list(GROWTH_SCENARIOS))
def test_everything_is_delivered(growing: str) -> None:
    smallest = next(iter(GROWTH_SCENARIOS[growing].values()))
    found = harness.measure_once(smallest, peers.gossamer(), 0.2, 0.5)
    assert found.failure == ""
    assert found.lost == 0
    assert found.delivered > 0
    assert found.cpu_per_delivery()


def test_the_command_tells_and_keeps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["bench", "growth", "--quick", "--over", "connections", "--most", "100"]
    assert run([*words, "--seconds", "0.1", "--out", str(tmp_path)]) == 0
    assert TITLES["connections"] in capsys.readouterr().out
    assert "### connections" in (tmp_path / "growth.md").read_text()
    assert run(["bench", "growth", "--over", "age"]) == 2


def test_costs_side_by_side() -> None:
    def cost(microseconds: float) -> Measurement:
        return Measurement(delivered=1_000_000, broker_cpu_seconds=microseconds)

    results = {
        "growth-topics-1000": {"gossamer": cost(0.4)},
        "growth-topics-1000000": {"gossamer": cost(8.2)},
        "growth-connections-100": {"gossamer": Measurement(failure="it broke", lost=3)},
    }
    topics, connections = growth_tables(results, ["gossamer"])
    assert topics == (
        TITLES["topics"],
        ["broker", "1,000", "1,000,000", "growth"],
        [["gossamer", "0.40", "8.20", "20.5×"]],
    )
    assert connections[2] == [["gossamer", "", ""]]
    assert notes(results) == [
        "Not measured: growth-connections-100, gossamer: it broke.",
        "Lost: growth-connections-100, gossamer: 3 deliveries.",
    ]


def test_a_message_is_for_thirteen_wildcards() -> None:
    filters = state.wildcard_filters()
    assert len(filters) == 100
    for number in (0, 1, 49, 50, 999, 1_000, 123_456, 999_999):
        topic = state.topic(number)
        assert len(topic) == len(state.topic(0)) == 32
        assert sum(matches(filter, topic) for filter in filters) == state.WILDCARD_FAN_OUT
