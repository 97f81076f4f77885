"""`gossamer serve` with and without models, asked by a client."""

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gossamer.net.assembly import SWITCHED_OFF, installed_processors, worker_settings
from gossamer.net.client import Client
from gossamer.net.config import Config, parse
from gossamer.wire.packets import Publish
from tests.support.photographs import photograph
from tests.support.processes import running_broker

pytestmark = pytest.mark.processes

PATIENCE = 60.0
KEYWORDS = ("CNTPPL", "CNTMALE", "CNTFEMALE", "RECOGNIZE")
FAILURE = 0x8F


async def listed(client: Client, messages: AsyncIterator[Publish]) -> dict[str, dict[str, str]]:
    await client.subscribe("$SYS/capabilities")
    found = json.loads((await anext(messages)).payload)
    return {one["keyword"]: one for one in found}


def test_without_models_the_operators_are_refused_with_what_to_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))

    async def ask(port: int) -> None:
        async with Client(f"mqtt://127.0.0.1:{port}") as client:
            known = await listed(client, client.messages())
            for keyword in KEYWORDS:
                assert "gossamer models install" in known[f"${keyword}"]["unavailable"]
                assert await client.subscribe(f"${keyword}/door") == [FAILURE]
                assert client.reason_string.startswith(f"operator 1, ${keyword}: there ")
                assert "gossamer models install" in client.reason_string

    with running_broker() as port:
        asyncio.run(asyncio.wait_for(ask(port), PATIENCE))


def test_with_models_photographs_are_answered(
    models: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "gossamer").mkdir()
    (tmp_path / "gossamer" / "models").symlink_to(models)
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))

    async def ask(port: int) -> None:
        async with (
            Client(f"mqtt://127.0.0.1:{port}") as client,
            Client(f"mqtt://127.0.0.1:{port}") as other,
        ):
            messages, others = client.messages(), other.messages()
            assert "unavailable" not in (await listed(client, messages))["$CNTPPL"]
            assert await client.subscribe(
                "$CNTPPL/+", "$GTE;1;cat$RECOGNIZE/+", "$SUM$CNTPPL/+", qos=1
            ) == [1, 1, 1]
            assert await other.subscribe("$CNTPPL/+") == [0]
            await client.publish("door", photograph("astronaut"), qos=1)
            await client.publish("sofa", photograph("chelsea"), qos=1)
            await client.publish("gate", photograph("grace_hopper"), qos=1)
            got = [await anext(messages) for _ in range(7)]
            counted = {(one.topic, one.payload) for one in got}
            assert {
                ("$CNTPPL/door", b"1"),
                ("$CNTPPL/sofa", b"0"),
                ("$CNTPPL/gate", b"1"),
                ("$GTE;1;cat$RECOGNIZE/sofa", b'{"cat":1}'),
                ("$SUM$CNTPPL/$AGGREGATE", b"2.0"),
            } <= counted
            assert len([await anext(others) for _ in range(3)]) == 3

    with running_broker() as port:
        asyncio.run(asyncio.wait_for(ask(port), PATIENCE))


def test_processors_can_be_switched_off() -> None:
    installed = installed_processors(parse("[vision]\nenabled = false"))
    assert {kind.trouble for kind in installed.kinds} == {SWITCHED_OFF}
    assert installed.usable == {}


def test_without_its_packages_a_broker_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cv2", None)
    monkeypatch.setattr("gossamer.vision.image_processors.find_spec", lambda name: None)
    kinds = {kind.keyword: kind.trouble for kind in installed_processors(Config()).kinds}
    assert all("pip install 'gossamer[vision]'" in kinds[keyword] for keyword in KEYWORDS)


def test_the_configuration_reaches_the_workers(tmp_path: Path) -> None:
    text = """
    [vision]
    models = "m"
    timeout = "3 s"
    memory = "100 MiB"
    pixels = 1000
    [vision.detector]
    file = "own.onnx"
    labels = "names.txt"
    score = 0.7
    """
    settings = worker_settings(parse(text).at(tmp_path).vision)
    assert settings.models == str(tmp_path / "m")
    assert (settings.seconds, settings.memory, settings.pixels) == (3.0, 100 << 20, 1000)
    assert settings.detector is not None
    assert settings.detector.file == str(tmp_path / "own.onnx")
    assert settings.detector.labels == str(tmp_path / "names.txt")
    assert (settings.detector.score, settings.detector.person) == (0.7, "person")
