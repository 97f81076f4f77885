"""The bench of chains: a tiny run of each kind, and what the report makes of numbers."""

import shutil
from pathlib import Path

import pytest

from gossamer_lab.bench.harness import measure_once
from gossamer_lab.bench.load.scenarios import MESH_SCENARIOS
from gossamer_lab.bench.measurement import Measurement
from gossamer_lab.bench.mesh import (
    BrokerChain,
    gossamer_chain,
    kept,
    kept_of_all,
    mosquitto_chain,
    save,
    scenario_tables,
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


def test_the_report(tmp_path: Path) -> None:
    chains = [gossamer_chain(1), gossamer_chain(3)]
    one = Measurement(seconds=1.0, delivered=1000, broker_cpu_seconds=1.0, busiest_cpu_seconds=1.0)
    three = Measurement(seconds=1.0, delivered=600, broker_cpu_seconds=2.0, busiest_cpu_seconds=0.8)
    assert kept(three, one) == 0.75
    assert kept_of_all(three, one) == pytest.approx(0.3)
    assert kept(Measurement(failure="no"), one) is None
    results = {"mesh-qos1": {"gossamer × 1": one, "gossamer × 3": three}}
    (table,) = scenario_tables(results, chains)
    assert table.rows[1] == [
        "gossamer × 3",
        "600",
        "3,333.33",
        "1,333.33",
        "750",
        "75%",
        "30%",
        "0",
    ]
    for file in save(results, chains, tmp_path):
        assert "gossamer × 3" in file.read_text() or file.suffix == ".json"
    failed = {"mesh-qos1": {"gossamer × 1": Measurement(failure="why"), "gossamer × 3": three}}
    (table,) = scenario_tables(failed, chains)
    assert table.rows[1][5] == ""
    assert table.notes == ["gossamer × 1: why"]


def test_mosquitto_is_optional(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda *_, **__: None)
    assert mosquitto_chain(2) is None
