"""`gossamer bench start` as small as it can be: a store is filled, and a broker starts on it."""

import json
from pathlib import Path

import pytest

from gossamer.cli.main import run
from gossamer_lab.bench import start as starting
from gossamer_lab.bench.start import COLUMNS, StartRun, row, verdict


def test_a_start_is_measured_to_its_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(starting, "QUICK_SCALE", 0.002)
    words = ["bench", "start", "--quick", "--repeat", "1", "--out", str(tmp_path)]
    assert run(words) == 0
    output = capsys.readouterr().out
    assert "400 retained messages, 400 queued, 40 sessions" in output
    assert "Not measured" not in output
    (found,) = json.loads((tmp_path / "start.json").read_text())["results"]["gossamer"]
    assert 0 < found["connack"] < found["retained"]
    assert found["connack"] < found["all_read"]


def test_medians_and_what_is_wanted() -> None:
    runs = [StartRun(each, 2.0, 3.0, 1.5, 200_000_000) for each in (0.5, 9.0, 0.7)]
    assert row("gossamer", runs) == ["gossamer", "0.70", "2.00", "3.00", "1.50", "200"]
    assert verdict(runs) == ["ok: the first client is served after 0.70 s (wanted: 1)."]
    assert verdict(runs[1:2])[0].startswith("MISSED")
    assert row("gossamer", []) == ["gossamer", *[""] * (len(COLUMNS) - 1)]
