"""`gossamer bench stalls` as small as it can be: every scenario runs, and the waits are told."""

import json
import socket
from pathlib import Path

import pytest

from gossamer.cli.main import run
from gossamer_lab.bench import peers, stalls
from gossamer_lab.bench.chains import gossamer_chain
from gossamer_lab.bench.load import packets
from gossamer_lab.bench.load.disturbances import BY_NAME, SCENARIOS, StallScenario
from gossamer_lab.bench.stalls import (
    COLUMNS,
    Pinger,
    PingRoad,
    PingRun,
    StallResult,
    StallRun,
    waits,
)

SCALE = 0.002


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stalls, "AT_LEAST_SECONDS", 0.2)
    monkeypatch.setattr(stalls, "WARM_UP_SECONDS", 0.1)


@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda scenario: scenario.name)
def test_every_ping_comes_in_every_scenario(scenario: StallScenario) -> None:
    found = stalls.measure(scenario, peers.gossamer(), kept=700, scale=SCALE)
    assert found.missing == ""
    assert found.broker.lost == found.echo.lost == 0
    assert 0 < found.broker.p50 <= found.broker.p99 <= found.broker.p999 <= found.broker.worst


@pytest.mark.parametrize("name", ["sessions", "wildcard"])
def test_two_brokers_of_a_mesh(name: str) -> None:
    found = stalls.measure(BY_NAME[name], gossamer_chain(2), kept=0, scale=SCALE)
    assert found.missing == ""
    assert found.broker.lost == 0


def test_the_command_tells_and_keeps(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["bench", "stalls", "--quick", "--repeat", "1", "-s", "crowd"]
    words += ["--only", "gossamer on disk", "--out", str(tmp_path)]
    assert run(words) == 0
    output = capsys.readouterr().out
    assert "100 clients connect and subscribe" in output
    (result,) = json.loads((tmp_path / "stalls.json").read_text())["results"]
    assert result["broker"] == "gossamer on disk"
    assert len(result["runs"]) == 1
    assert result["failures"] == []
    assert "| gossamer on disk |" in (tmp_path / "stalls.md").read_text()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["-s", "storm"], "choose from retained, wildcard"),
        (["--only", "nobody"], "choose from gossamer, gossamer on disk, gossamer × 2"),
        (["--beside", "/nowhere"], "no src/gossamer"),
    ],
)
def test_wrong_use(words: list[str], told: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", "stalls", *words]) == 2
    assert told in capsys.readouterr().err


def test_a_wait_counts_from_when_the_ping_was_due() -> None:
    found = waits([1.0, 2.0, 3.0, 4.0], {0: 1.001, 1: 2.5, 3: 4.002})
    assert found.p50 == pytest.approx(500.0)
    # What did not come is not better than what was late.
    assert (found.worst, found.lost) == (1000 * stalls.PATIENCE_SECONDS, 1)


def test_what_the_machine_did_is_taken_off() -> None:
    through_broker = {0: 1.030, 1: 2.020, 2: 3.001}
    through_echo = {0: 1.029, 1: 2.001, 2: 3.001}
    found = StallRun.of(PingRun([1.0, 2.0, 3.0], [through_broker, through_echo]), "")
    assert found.less_echo == pytest.approx(1.0)
    # The broker's own pause, at another time than the machine's.
    assert found.each_less_echo == pytest.approx(19.0)


def test_the_median_of_the_runs_counts() -> None:
    runs = [
        StallRun.of(PingRun([0.0], [{0: worst / 1000}, {0: 0.001}]), "")
        for worst in (9.0, 3.0, 100.0)
    ]
    cells = StallResult("crowd", "gossamer", runs, []).cells("a crowd")
    told = dict(zip(COLUMNS, cells, strict=True))
    assert (told["broker"], told["worst"], told["less echo"]) == ("gossamer", "9.00", "8.00")
    failed = StallResult("crowd", "gossamer", [], ["it broke", "it broke"])
    assert failed.notes() == ["crowd, gossamer: it broke"]
    assert len(failed.cells("a crowd")) == len(COLUMNS)


def test_pings_go_on_all_roads_and_parts_of_them_are_put_together() -> None:
    here, there = socket.socketpair()
    with here, there:
        # What is sent arrives at the other end: a way there without a way back.
        road = PingRoad(here, there)
        found = Pinger([road]).run(0.05, 0.05)
        assert len(found.due) == len(found.came[0]) > 1
        packet = packets.publish(stalls.TOPIC, (77).to_bytes(4, "big"))
        here.sendall(packet[:5])
        road.read()
        here.sendall(packet[5:])
        road.read()
        assert 77 in road.came
