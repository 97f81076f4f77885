"""The demonstration's brokers change over to a compiled core while clients use them."""

import asyncio
from pathlib import Path

import pytest

from gossamer.net.client import Client
from gossamer.net.local.mesh import LocalMesh, LocalMeshPlan
from gossamer.wire.properties import Properties
from gossamer_lab.demo.change_over import FROM_SOURCES, CoreBuild, change_over
from tests.support.polling import soon

pytestmark = pytest.mark.processes

LASTING = Properties()
LASTING.session_expiry = 3600


def script(folder: Path, exit_code: int) -> Path:
    path = folder / "compiler.py"
    path.write_text(f"import sys\nprint('at work', sys.argv[1:])\nsys.exit({exit_code})\n")
    return path


async def run_with(mesh: LocalMesh, build: CoreBuild, said: list[str]) -> list[int]:
    """Changes over while a client waits elsewhere; the process numbers of before."""
    before = [broker.pid for broker in mesh.brokers]
    first, last = (f"mqtt://127.0.0.1:{broker.port}" for broker in mesh.brokers)
    async with Client(last, "reader", clean_start=False, properties=LASTING) as reader:
        await reader.subscribe("post/#", qos=1)
    async with Client(first, "writer") as writer:
        await writer.publish("post/1", "kept", qos=1)
    build.start()
    await change_over(build, mesh, said.append)
    async with Client(last, "reader", clean_start=False, properties=LASTING) as reader:
        async for message in reader.messages():
            assert message.payload == b"kept"
            break
    return before


def test_brokers_change_over_and_lose_no_session(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FROM_SOURCES, "1")
    with LocalMesh(tmp_path, LocalMeshPlan(2, memory=False)) as mesh:
        mesh.start()
        build = CoreBuild(script(tmp_path, 0), tmp_path)
        said: list[str] = []
        before = asyncio.run(run_with(mesh, build, said))
        assert not {broker.pid for broker in mesh.brokers} & {0, *before}
    assert "changed over" in said[0]
    assert "['--require']" in build.log.read_text()


def test_a_build_that_fails_is_said_and_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(FROM_SOURCES, "1")
    with LocalMesh(tmp_path, LocalMeshPlan(2, memory=False)) as mesh:
        mesh.start()
        said: list[str] = []
        before = asyncio.run(run_with(mesh, CoreBuild(script(tmp_path, 1), tmp_path), said))
        assert [broker.pid for broker in mesh.brokers] == before
    assert "core-build.log" in said[0]


def test_a_build_that_nobody_waits_for_is_ended(tmp_path: Path) -> None:
    endless = tmp_path / "compiler.py"
    endless.write_text("import time\nwhile True:\n    time.sleep(1)\n")
    build = CoreBuild(endless, tmp_path)
    build.stop()  # before it has begun
    build.start()
    assert build.result() is None
    build.stop()

    async def ended() -> None:
        await soon(lambda: build.result() is not None)

    asyncio.run(ended())
