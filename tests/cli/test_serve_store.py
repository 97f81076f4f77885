"""`gossamer serve` and its store: what stops it from starting, and what it keeps."""

import asyncio
from pathlib import Path

import pytest

from gossamer.cli.main import run
from gossamer.net.client import Client
from gossamer.storage import files
from gossamer.storage.files import FILE_NAME
from gossamer.storage.sqlite_store import SqliteStore
from gossamer_lab.torture.clients import lasting
from gossamer_lab.torture.processes import BrokerProcess

PATIENCE = 60.0


def test_a_damaged_store_is_never_a_fresh_start(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / FILE_NAME).write_bytes(b"no database" * 1000)
    assert run(["serve", "--port", "0", "--data", str(tmp_path)]) == 1
    said = capsys.readouterr().err
    assert str(tmp_path / FILE_NAME) in said
    assert "gossamer store repair" in said
    assert (tmp_path / FILE_NAME).read_bytes().startswith(b"no database")


def test_a_folder_in_use_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "LOCK_SECONDS", 0.05)
    first = SqliteStore(tmp_path)
    assert run(["serve", "--port", "0", "--data", str(tmp_path)]) == 1
    assert "in use" in capsys.readouterr().err
    first.close()


def test_a_sync_mode_that_is_none_is_wrong_use(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["serve", "--port", "0", "--data", str(tmp_path), "--sync", "maybe"]) == 2
    assert "full, normal, off" in capsys.readouterr().err


@pytest.mark.parametrize("sync", ["full", "normal", "off"])
def test_a_clean_stop_loses_nothing_in_any_mode(tmp_path: Path, sync: str) -> None:
    asyncio.run(asyncio.wait_for(_stop_and_start(tmp_path, sync), PATIENCE))


async def _stop_and_start(folder: Path, sync: str) -> None:
    broker = BrokerProcess(folder, sync)
    await broker.start()
    reader = Client(broker.url, "reader", clean_start=False, properties=lasting())
    await reader.connect()
    await reader.subscribe("t", qos=2)
    await reader.disconnect()
    async with Client(broker.url) as writer:
        await writer.publish("t", b"kept", qos=2)
    await broker.stop()
    await broker.start()
    assert (await reader.connect()).session_present
    assert (await anext(reader.messages())).payload == b"kept"
    await reader.disconnect()
    await broker.stop()
