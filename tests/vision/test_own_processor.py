"""The processor that the documentation shows, built and installed as a package of its own."""

import asyncio
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from gossamer.net.client import Client
from tests.support.images import encoded
from tests.support.processes import running_broker

pytestmark = pytest.mark.processes

PATIENCE = 60.0
PAGE = Path(__file__).parents[2] / "docs" / "vision.md"
MOST_LINES = 20


def block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert found is not None
    return found[1]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder into which pip has installed it."""
    source, target = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("target")
    (source / "gossamer_sharpness.py").write_text(block("python"))
    (source / "pyproject.toml").write_text(block("toml"))
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--target", str(target)]
    subprocess.run([*pip, *options, str(source)], check=True, timeout=PATIENCE)
    return target


def test_it_is_as_short_as_it_says() -> None:
    lines = [line for line in block("python").splitlines() if line.strip()]
    assert len(lines) <= MOST_LINES


def test_it_works(installed: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    source = Path(__file__).parents[2] / "src"
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join((str(installed), str(source))))
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    with running_broker() as port:
        asyncio.run(asyncio.wait_for(_ask(port), PATIENCE))


async def _ask(port: int) -> None:
    async with Client(f"mqtt://127.0.0.1:{port}") as client:
        await client.subscribe("$SYS/capabilities", "$SHARPNESS/+/image")
        messages = client.messages()
        listed = {one["keyword"]: one for one in json.loads((await anext(messages)).payload)}
        assert listed["$SHARPNESS"]["returns"] == "value"
        assert "unavailable" not in listed["$SHARPNESS"]
        await client.publish("door/image", encoded("png", 50, 50))
        answer = await anext(messages)
        assert answer.topic == "$SHARPNESS/door/image"
        assert float(answer.payload) > 1000.0
