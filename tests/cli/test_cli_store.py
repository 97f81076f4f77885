"""The commands that look after a store: exit codes, and what they say."""

from pathlib import Path

import pytest

from gossamer.cli.main import run
from gossamer.session.records import SessionRecord
from gossamer.storage.files import FILE_NAME
from gossamer.storage.sqlite_store import SqliteStore
from tests.support.store_model import a_message


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    store = SqliteStore(tmp_path, "off")
    store.journal.session_saved(SessionRecord("anna", "u", 100))
    store.journal.retained_saved(a_message("a/b", b"payload" * 100), 0)
    store.close()
    return tmp_path


def damage(folder: Path) -> None:
    path = folder / FILE_NAME
    content = path.read_bytes()
    path.write_bytes(content.replace(b"payloadpayload", b"payloadpAyload", 1))


def test_a_whole_store(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["store", "check", "--data", str(folder)]) == 0
    assert "1 sessions" in capsys.readouterr().out


def test_damage_is_found_exported_and_mended(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    damage(folder)
    assert run(["store", "check", "--data", str(folder)]) == 1
    assert "gossamer store repair" in capsys.readouterr().err
    target = folder / "export.jsonl"
    assert run(["store", "export", "--data", str(folder), "-o", str(target)]) == 0
    assert '"kind": "problem"' in target.read_text()
    assert run(["store", "repair", "--data", str(folder)]) == 0
    assert "saved 1 sessions" in capsys.readouterr().out
    assert run(["store", "check", "--data", str(folder)]) == 0


@pytest.mark.parametrize("command", ["check", "repair", "export"])
def test_no_store_is_one_clear_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    assert run(["store", command, "--data", str(tmp_path)]) == 1
    assert "there is no store" in capsys.readouterr().err
