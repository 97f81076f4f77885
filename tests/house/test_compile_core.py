"""The compiled core: found stale when a source changes, and set aside by GOSSAMER_PURE."""

import subprocess
import sys
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

import pytest

from tools import compile_core


@pytest.fixture
def house(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small package in place of the real one, with one compiled module that is current."""
    package = tmp_path / "gossamer"
    (package / "wire").mkdir(parents=True)
    (package / "wire" / "varint.py").write_text("LIMIT = 4\n")
    monkeypatch.setattr(compile_core, "SOURCES", tmp_path)
    monkeypatch.setattr(compile_core, "PACKAGE", package)
    monkeypatch.setattr(compile_core, "DIGEST", tmp_path / ".compiled-core")
    (package / "wire" / f"varint{EXTENSION_SUFFIXES[0]}").write_bytes(b"")
    compile_core.DIGEST.write_text(compile_core.digest())
    return package


def test_current_modules_are_not_stale(house: Path) -> None:
    assert compile_core.stale_reason() == ""


def test_an_edit_makes_them_stale(house: Path) -> None:
    (house / "wire" / "varint.py").write_text("LIMIT = 5\n")
    assert "make compile" in compile_core.stale_reason()


def test_a_new_file_makes_them_stale(house: Path) -> None:
    (house / "wire" / "scalars.py").write_text("")
    assert compile_core.stale_reason() != ""


def test_cleaning_leaves_the_sources(house: Path) -> None:
    compile_core.clean()
    assert compile_core.stale_reason() == ""
    assert [path.name for path in house.rglob("*.*")] == ["varint.py"]


def test_no_compiler_is_said_and_is_not_an_error(
    house: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (house / "wire" / "varint.py").write_text("LIMIT = 5\n")
    monkeypatch.setenv("CC", "no-such-compiler")
    assert compile_core.compile_core(require=False) == 0
    assert "no C compiler" in capsys.readouterr().err
    assert compile_core.compiled_modules() == []
    assert compile_core.compile_core(require=True) == 1


def test_pure_prefers_sources_over_compiled_modules() -> None:
    code = "import gossamer.wire.packets as p; print(p.__file__)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={"GOSSAMER_PURE": "1", "PYTHONPATH": str(compile_core.SOURCES)},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.strip().endswith("packets.py"), done.stderr
