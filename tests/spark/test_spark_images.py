"""Images on the executors: the broker's own processors, confined; bad images cost their answer."""

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.model_folders import folder_with
from tests.support.photographs import PHOTOGRAPHS, photograph
from tests.support.processors import PLACES

pytest.importorskip("pyspark")
pytest.importorskip("cv2")

from pyspark.errors import PythonException
from pyspark.sql import DataFrame, Observation

from gossamer.spark import look, subscribe
from gossamer.spark.executor_worker import ExecutorWorker, ProcessorUnusable, worker_for
from gossamer.vision.models import default_models
from gossamer.vision.settings import WorkerSettings
from tests.support.images import encoded, png_of_zeros

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

NOON = datetime(2031, 5, 24, 12, tzinfo=UTC)
SCHEMA = "time timestamp, topic string, payload binary"
# Generous: only what never answers may run into it.
SETTINGS = WorkerSettings(".", pixels=10_000, seconds=20.0)


def frame_of(spark: "SparkSession", images: dict[str, bytes | None]) -> DataFrame:
    rows = [(NOON, f"{name}/image", image) for name, image in images.items()]
    return spark.createDataFrame(rows, SCHEMA).coalesce(1)


def test_bad_images_cost_their_own_answer(spark: "SparkSession") -> None:
    images = {
        "good": encoded("png", 32, 16),
        "text": b"no image",
        "torn": encoded("jpg", 64, 64)[:300],
        "huge": png_of_zeros(200, 200),
        "absent": None,
    }
    looked = look(frame_of(spark, images), "SIZE", processors=PLACES, vision=SETTINGS)
    assert looked.columns == ["time", "topic", "payload", "answer", "problem"]
    found = {row.topic.split("/")[0]: (row.answer, row.problem) for row in looked.collect()}
    assert found["good"] == (b"[32,16]", None)
    assert found["text"] == (None, "not_an_image")
    assert found["huge"] == (None, "too_many_pixels")
    assert found["absent"] == (None, "not_an_image")
    assert found["torn"][0] is None or found["torn"][1] is None
    counted = Observation("images")
    results = subscribe(
        spark,
        "$SIZE/+/image",
        frame_of(spark, images).where("topic <> 'torn/image'"),
        processors=PLACES,
        vision=SETTINGS,
        skipped=counted,
    )
    assert [(row.topic, row.payload) for row in results.collect()] == [
        ("$SIZE/good/image", b"[32,16]")
    ]
    assert counted.get == {
        "answered": 1,
        "not_an_image": 2,
        "too_many_pixels": 1,
        "timed_out": 0,
        "processor_failed": 0,
    }


def test_a_worker_that_an_image_costs_is_replaced() -> None:
    worker = ExecutorWorker("ACT", PLACES["ACT"], WorkerSettings(".", seconds=3.0))
    said = {act: worker.answer("t", act.encode()) for act in ("fine", "segfault", "raise", "sleep")}
    assert said == {
        "fine": (b"1", None),
        "segfault": (None, "processor_failed"),
        "raise": (None, "processor_failed"),
        "sleep": (None, "timed_out"),
    }
    assert worker.answer("t", b"fine") == (b"1", None)


def test_a_processor_that_cannot_run(spark: "SparkSession", tmp_path: Path) -> None:
    empty = WorkerSettings(str(tmp_path))
    with pytest.raises(ProcessorUnusable, match=r"\$CNTPPL cannot run on this executor: .*model"):
        worker_for("CNTPPL", "gossamer.vision.image_processors:CountPeople", empty)
    images = frame_of(spark, {"any": b"x"})
    with pytest.raises(
        PythonException, match="NEVER does not start on this executor: .*such model"
    ):
        look(images, "NEVER", processors=PLACES, vision=SETTINGS).collect()
    with pytest.raises(ValueError, match="no processor \\$NOPE; there are .*CNTPPL"):
        look(images, "NOPE")


def test_photographs(spark: "SparkSession", pytestconfig: pytest.Config) -> None:
    models = folder_with(default_models(), "gossamer-models", pytestconfig)
    names = ("astronaut", "chelsea", "coffee")
    images: dict[str, bytes | None] = {name: photograph(name) for name in names}
    images["poison"] = b"\xff\xd8\xff" + bytes(100)
    source = frame_of(spark, images)
    vision = WorkerSettings(str(models), seconds=60.0)
    people = subscribe(spark, "$CNTPPL/+/image", source, vision=vision).collect()
    assert {row.topic: row.value for row in people} == {
        f"$CNTPPL/{name}/image": float(PHOTOGRAPHS[name][2]) for name in names
    }
    cats = subscribe(spark, "$GTE;1;cat$RECOGNIZE/+/image", source, vision=vision).collect()
    assert [row.topic for row in cats] == ["$GTE;1;cat$RECOGNIZE/chelsea/image"]
    total = subscribe(spark, "$SUM$DAILYMAX$CNTPPL/+/image", source, vision=vision).collect()
    assert [row.value for row in total] == [1.0]
