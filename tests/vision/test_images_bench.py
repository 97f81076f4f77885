"""The bench of images in small: every table is filled."""

from pathlib import Path

import pytest

from gossamer.cli.main import run
from gossamer.plus.vocabulary import Vocabulary
from gossamer.vision.registry import find_processors
from gossamer.vision.settings import WorkerSettings
from gossamer_lab.bench.images import TOPIC, run_crowd
from tests.support.images import encoded

pytestmark = pytest.mark.processes


def test_the_bench_runs(
    models: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "gossamer").mkdir()
    (tmp_path / "gossamer" / "models").symlink_to(models)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    photograph = tmp_path / "grey.png"
    photograph.write_bytes(encoded("png", 64, 48))
    assert run(["bench", "images", str(photograph), "--quick", "--count", "3"]) == 0
    shown = capsys.readouterr().out
    assert "64×48" in shown
    assert "3 images" in shown
    assert run(["bench", "images", str(tmp_path / "absent.png")]) == 2


def test_without_models_it_says_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    assert run(["bench", "images"]) == 1
    assert "gossamer models install" in capsys.readouterr().err


def test_downlink_is_what_the_packets_take(models: Path) -> None:
    settings = WorkerSettings(str(models), seconds=60.0)
    installed = find_processors(Vocabulary(), settings)
    images = [encoded("jpg", 80, 60)] * 4
    result = run_crowd("CNTPPL", images, 3, 1, installed, settings)
    header = 2 + 2 + len(f"$CNTPPL/{TOPIC}/00000000")
    assert result.downlink == len(images) * 3 * (header + len("0"))
