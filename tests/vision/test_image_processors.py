"""What the models see in photographs, in every format, through real workers."""

import asyncio
import json
from pathlib import Path

import cv2
import numpy as np
import pytest

from gossamer.plus.vocabulary import Vocabulary
from gossamer.vision.model_catalog import EFFICIENTDET
from gossamer.vision.models import is_installed
from gossamer.vision.registry import find_processors
from gossamer.vision.settings import DetectorSettings, WorkerSettings
from tests.support.onnx_file import SIDE, write_detector
from tests.support.photographs import PHOTOGRAPHS, photograph
from tests.support.pools import asking

pytestmark = pytest.mark.processes

QUALITY = [cv2.IMWRITE_WEBP_QUALITY, 90]
KEYWORDS = ("CNTPPL", "CNTMALE", "CNTFEMALE", "RECOGNIZE")


def usable(settings: WorkerSettings) -> dict[str, str]:
    return find_processors(Vocabulary(), settings).usable


def test_photographs(models: Path) -> None:
    settings = WorkerSettings(str(models), seconds=60.0)
    photographs = {name: photograph(name) for name in PHOTOGRAPHS}

    async def scenario() -> None:
        async with asking(usable(settings), settings) as pool:
            for name, (_, _, people, females, thing) in PHOTOGRAPHS.items():
                answers = await pool.ask(photographs[name], *KEYWORDS)
                counted, male, female, objects = (json.loads(answer) for answer in answers)
                assert counted == people, name
                assert male + female == people, name
                assert females is None or female == females, name
                assert thing is None or objects[thing] == 1, name
                assert objects.get("person", 0) == people, name

    asyncio.run(scenario())


def test_the_detector_that_pip_alone_installs(ssd_models: Path, tmp_path: Path) -> None:
    for file in ssd_models.glob("ssd*"):
        (tmp_path / file.name).symlink_to(file)
    settings = WorkerSettings(str(tmp_path), seconds=60.0)
    assert set(usable(settings)) == {"CNTPPL", "RECOGNIZE"}

    async def scenario() -> None:
        async with asking(usable(settings), settings) as pool:
            for name, (_, _, people, *_) in PHOTOGRAPHS.items():
                assert await pool.ask(photograph(name), "CNTPPL") == [str(people)], name

    asyncio.run(scenario())


def test_formats_and_sizes(models: Path) -> None:
    settings = WorkerSettings(str(models), seconds=60.0)
    pixels = cv2.imdecode(np.frombuffer(photograph("astronaut"), np.uint8), cv2.IMREAD_COLOR)
    assert pixels is not None
    files = {
        (format, side): cv2.imencode(f".{format}", cv2.resize(pixels, (side, side)), QUALITY)[1]
        for format in ("jpg", "png", "webp")
        for side in (300, 1500)
    }

    async def scenario() -> None:
        async with asking(usable(settings), settings) as pool:
            for name, data in files.items():
                assert await pool.ask(bytes(data), "CNTPPL", "CNTFEMALE") == ["1", "1"], name

    asyncio.run(scenario())


def test_an_onnx_detector_of_ones_own(tmp_path: Path) -> None:
    labels = tmp_path / "labels.txt"
    labels.write_text("person\n")
    detector = DetectorSettings(str(write_detector(tmp_path / "red.onnx")), str(labels), SIDE)
    settings = WorkerSettings(str(tmp_path), detector, seconds=60.0)

    def painted(blue: int, green: int, red: int) -> bytes:
        pixels = np.full((50, 80, 3), (blue, green, red), np.uint8)
        return bytes(cv2.imencode(".png", pixels)[1])

    async def scenario() -> None:
        async with asking(usable(settings), settings) as pool:
            seen = [painted(0, 0, 200), painted(200, 200, 50), painted(255, 255, 255)]
            answers = [await pool.ask(one, "CNTPPL", "RECOGNIZE") for one in seen]
            assert answers == [["1", '{"person":1}'], ["0", "{}"], ["1", '{"person":1}']]

    asyncio.run(scenario())


def test_a_tflite_detector_of_ones_own(models: Path, tmp_path: Path) -> None:
    if not is_installed(EFFICIENTDET, models):
        pytest.skip("npm, which fetches a TFLite model, is not installed")
    detector = DetectorSettings(str(models / EFFICIENTDET.files[0].name), person="cat")
    settings = WorkerSettings(str(tmp_path), detector, seconds=60.0)

    async def scenario() -> None:
        async with asking(usable(settings), settings) as pool:
            assert await pool.ask(photograph("chelsea"), "CNTPPL") == ["1"]
            assert await pool.ask(photograph("camera"), "CNTPPL") == ["0"]

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("content", "labels", "said"),
    [
        (None, None, "vision.detector.file: there is no "),
        (b"no model", None, "has no labels in it"),
        (b"no model", "absent.txt", "vision.detector.labels"),
    ],
)
def test_a_detector_that_cannot_be_used_is_told(
    tmp_path: Path,
    content: bytes | None,
    labels: str | None,
    said: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    file = tmp_path / "own.onnx"
    if content is not None:
        file.write_bytes(content)
    named = None if labels is None else str(tmp_path / labels)
    settings = WorkerSettings(str(tmp_path), DetectorSettings(str(file), named))

    async def scenario() -> None:
        async with asking(usable(settings), settings) as pool:
            assert await pool.ask(b"", "CNTPPL") == ["!processor_failed"]

    asyncio.run(scenario())
    assert f"$CNTPPL does not start: ModelError: {said}" in caplog.text.replace(f"{file} ", "")
