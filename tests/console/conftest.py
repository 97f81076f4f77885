"""Two brokers joined as a mesh, a console beside them, and a browser that has signed in."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.net.local.mesh import LocalMesh, LocalMeshPlan
from tests.support.browser import PATIENCE, Browser, chromium


@pytest.fixture(scope="session")
def mesh(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalMesh]:
    with LocalMesh(tmp_path_factory.mktemp("mesh"), LocalMeshPlan(2, sys_seconds=1)) as local:
        local.start()
        yield local


@pytest.fixture(scope="session")
def token(mesh: LocalMesh) -> str:
    return (mesh.brokers[0].folder.parent / "admin.token").read_text().strip()


@pytest.fixture(scope="session")
def lake(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lake")


@pytest.fixture(scope="session")
def console_process(
    mesh: LocalMesh, lake: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, "subprocess.Popen[str]"]]:
    """Where it is, and its process."""
    configs = [word for broker in mesh.brokers for word in ("--config", str(broker.config))]
    errors = tmp_path_factory.mktemp("console") / "errors.log"
    with errors.open("w") as log:
        process = subprocess.Popen(
            [
                *(sys.executable, "-m", "gossamer", "console", "--port", "0", "--with-parent"),
                *("--controls", "--lake", str(lake), *configs),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            text=True,
        )
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert "http://" in line, errors.read_text()
        yield line.split()[-1], process
    finally:
        process.terminate()
        process.wait(PATIENCE)


@pytest.fixture(scope="session")
def address(console_process: tuple[str, "subprocess.Popen[str]"]) -> str:
    return console_process[0]


@pytest.fixture(scope="session")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """A browser that has not signed in."""
    with chromium(tmp_path_factory.mktemp("profile")) as browser:
        yield browser


@pytest.fixture
def browser(stranger: Browser, address: str, token: str) -> Browser:
    """The same, signed in and at the overview."""
    stranger.open(f"{address}/")
    if stranger.driver.current_url.endswith("/sign-in"):
        stranger.type("#token", token)
        stranger.click("button")
    stranger.find("[data-figure]")
    return stranger
