"""The large scenario, small: modes agree on deliveries and differ in what they send."""

from dataclasses import replace
from pathlib import Path

import pytest

from gossamer.mesh.settings import MODES
from gossamer_lab.scenarios.measures import measure, save
from gossamer_lab.scenarios.scenario import Scenario, ScenarioResult
from gossamer_lab.scenarios.workload import ScenarioSettings

SMALL = ScenarioSettings(
    brokers=12,
    subscribers=150,
    publishers=20,
    topics=12,
    seconds=2.0,
    observed=1.0,
    settled=True,
    seed=3,
)


def run(**changes: object) -> ScenarioResult:
    return Scenario(replace(SMALL, **changes)).run(lambda part, what: None)  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def results() -> dict[str, ScenarioResult]:
    return {mode: run(mode=mode) for mode in MODES}


def test_all_modes_deliver_the_same(results: dict[str, ScenarioResult]) -> None:
    assert results["pf"].deliveries > 100
    for result in results.values():
        assert result.seen == results["pf"].seen
        assert result.deliveries == sum(result.got) == len(result.latencies)


def test_what_crosses_the_links(results: dict[str, ScenarioResult]) -> None:
    links = SMALL.brokers - 1
    assert results["pf"].forwards == results["pf"].published * links
    assert results["pf"].interests == 0
    assert results["sf"].interests == SMALL.subscribers * links
    assert results["ssf"].interests < results["sf"].interests
    for mode in ("sf", "ssf", "bloom"):
        assert results[mode].forwards < results["pf"].forwards
    assert results["sf"].forwards == results["ssf"].forwards


def test_the_samples_add_up_to_the_totals(results: dict[str, ScenarioResult]) -> None:
    for result in results.values():
        assert sum(sample.publications for sample in result.samples) == result.forwards
        assert sum(sample.interests for sample in result.samples) == sum(
            link.interests for link in result.links
        )
        measures = measure(result)
        assert 0.0 < measures.latency_median < measures.latency_99 < 1.0


def test_a_seed_repeats_a_run(results: dict[str, ScenarioResult]) -> None:
    again = run(mode="ssf")
    assert again.links == results["ssf"].links
    assert again.latencies == results["ssf"].latencies
    assert run(mode="ssf", seed=4).links != again.links


def test_slow_brokers_have_queues() -> None:
    busy = measure(run(mode="sf", cost=0.02, settled=False))
    idle = measure(run(mode="sf", cost=0.0, settled=False))
    assert busy.longest_queue > 10 * max(1, idle.longest_average_queue)
    assert busy.latency_median > idle.latency_median


def test_results_become_parquet(results: dict[str, ScenarioResult], tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    paths = save(results["ssf"], tmp_path)
    assert sorted(path.stem for path in paths) == ["brokers", "latencies", "links", "totals"]
    brokers = parquet.read_table(tmp_path / "brokers.parquet")
    assert brokers.num_rows == len(results["ssf"].samples)
    totals = parquet.read_table(tmp_path / "totals.parquet").to_pylist()[0]
    assert totals["deliveries"] == results["ssf"].deliveries
