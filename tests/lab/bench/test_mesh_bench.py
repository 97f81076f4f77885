"""The bench of chains: a tiny run of each kind, and what the report makes of numbers."""

import shutil
from pathlib import Path

import pytest

from gossamer_lab.bench.chains import BrokerChain, bare_chain, gossamer_chain, mosquitto_chain
from gossamer_lab.bench.harness import measure_once
from gossamer_lab.bench.idle_links import HEADERS, IdleCost
from gossamer_lab.bench.idle_links import measure as measure_idle
from gossamer_lab.bench.load.scenarios import MESH_LATENCY, MESH_SCENARIOS
from gossamer_lab.bench.measurement import Measurement
from gossamer_lab.bench.mesh import (
    kept,
    kept_of_all,
    kept_of_rate,
    latency_table,
    latency_verdicts,
    save,
    scenario_tables,
    verdicts,
)

QOS_1 = MESH_SCENARIOS[1]


def chain(kind: str) -> BrokerChain:
    found = gossamer_chain(2) if kind == "gossamer" else mosquitto_chain(2)
    if found is None:
        pytest.skip("mosquitto is not installed")
    return found


@pytest.mark.parametrize("kind", ["gossamer", "mosquitto"])
def test_a_chain_of_two_carries_everything(kind: str) -> None:
    run = measure_once(QOS_1, chain(kind), 0.3)
    assert run.failure == ""
    assert run.delivered > 0
    assert run.lost == 0
    assert 0 < run.busiest_cpu_seconds < run.broker_cpu_seconds


@pytest.mark.parametrize("chain", [gossamer_chain(2, "bloom", is_durable=True), bare_chain(3)])
def test_how_long_a_message_is_on_its_way(chain: BrokerChain) -> None:
    run = measure_once(MESH_LATENCY, chain, 0.2)
    assert run.failure == ""
    assert run.lost == 0
    assert run.p50_microseconds is not None
    assert run.p99_microseconds is not None
    assert 0.0 < run.p50_microseconds <= run.p99_microseconds


def test_what_idle_links_cost() -> None:
    cost = measure_idle(3.0, {})  # an idle link says nothing for a second and more
    assert cost.bytes > 0.0
    assert cost.broker_share > 0.0
    assert cost.road_bytes is None or cost.road_bytes > cost.bytes
    assert IdleCost(10.0, 2.0, 0.0, 0.0).road_bytes == 10.0 + 2 * HEADERS


def test_the_report(tmp_path: Path) -> None:
    chains = [gossamer_chain(1), gossamer_chain(3, "ssf")]
    one = Measurement(seconds=1.0, delivered=1000, broker_cpu_seconds=1.0, busiest_cpu_seconds=1.0)
    three = Measurement(seconds=1.0, delivered=600, broker_cpu_seconds=2.0, busiest_cpu_seconds=0.8)
    assert kept(three, one) == 0.75
    assert kept_of_all(three, one) == pytest.approx(0.3)
    assert kept_of_rate(three, one) == pytest.approx(0.6)
    assert kept(Measurement(failure="no"), one) is None
    name = chains[1].name
    results = {"mesh-qos1": {"gossamer × 1": one, name: three}}
    (table,) = scenario_tables(results, chains)
    assert table.rows[1] == [
        "gossamer × 3, ssf",
        "600",
        "3,333.33",
        "1,333.33",
        "750",
        "75%",
        "30%",
        "60%",
        "0",
    ]
    (verdict,) = verdicts("mesh-qos1", results["mesh-qos1"], chains)
    assert verdict.startswith("ok: gossamer × 3, ssf keep 75%")
    three.p50_microseconds, three.p99_microseconds = 900.0, 6_000.0
    assert latency_table({name: three}).rows == [
        [name, "900", "6,000", "3,333.33", "1,333.33", "0"]
    ]
    (verdict,) = latency_verdicts({chains[0].name: one, name: three}, chains)
    assert verdict.startswith("MISSED: gossamer × 3, ssf: p50 0.90 ms, p99 6.00 ms")
    for file in save(results, chains, tmp_path):
        assert "gossamer × 3" in file.read_text() or file.suffix == ".json"
    failed = {"mesh-qos1": {"gossamer × 1": Measurement(failure="why"), name: three}}
    (table,) = scenario_tables(failed, chains)
    assert table.rows[1][5] == ""
    assert table.notes == ["gossamer × 1: why"]


def test_mosquitto_is_optional(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    assert mosquitto_chain(2) is None
