"""`gossamer bench memory` as small as it can be: each thing is made and weighed."""

import json
from pathlib import Path

import pytest

from gossamer.cli.main import run
from gossamer_lab.bench import memory as weighing
from gossamer_lab.bench.memory import EMPTY, THINGS, MemoryRuns, columns, row, verdicts


def runs(**bytes_by_thing: list[float]) -> MemoryRuns:
    return MemoryRuns({name: bytes_by_thing.get(name.split()[0], []) for name in columns()}, [])


def test_every_thing_is_weighed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(weighing, "SETTLE_SECONDS", 0.05)
    monkeypatch.setattr(weighing, "QUICK_SCALE", 0.002)
    words = ["bench", "memory", "--quick", "--only", "gossamer", "--out", str(tmp_path)]
    assert run(words) == 0
    assert "Not measured" not in capsys.readouterr().out
    found = json.loads((tmp_path / "memory.json").read_text())["results"]["gossamer"]
    assert list(found) == columns()
    assert len(found[EMPTY]) == len(THINGS)
    assert min(found[EMPTY]) > 1 << 20


def test_the_median_and_what_is_over() -> None:
    found = runs(empty=[30e6], connection=[1_000.0, 9_000.0, 2_500.0], retained=[600.0])
    assert row("gossamer", found) == ["gossamer", "30,000,000", "2,500", "", "600", "", ""]
    assert verdicts({"gossamer": found}) == [
        "Over what is wanted: connection of gossamer (2,500, wanted 2,000)."
    ]
    assert verdicts({"gossamer on disk": runs()}) == ["Over what is wanted: none."]
    assert verdicts({"mosquitto": found}) == []


def test_all_together(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(weighing, "SETTLE_SECONDS", 0.05)
    monkeypatch.setattr(weighing, "QUICK_SCALE", 0.001)
    words = ["bench", "memory", "--quick", "--together", "--only", "gossamer"]
    assert run([*words, "--out", str(tmp_path)]) == 0
    (told, _) = json.loads((tmp_path / "memory-together.json").read_text())["said"]
    assert told.startswith("gossamer, 100 sessions and 999 retained messages together: ")
    assert "ok: wanted 1,000,000,000" in told
    assert "together" in capsys.readouterr().out


def test_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["bench", "memory", "--only", "nobody"]) == 2
    assert "choose from gossamer, gossamer on disk" in capsys.readouterr().err
