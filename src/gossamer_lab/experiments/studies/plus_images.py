"""Figure 3 of the MQTT+ paper: people counted in images by the broker, with a real recogniser."""

from __future__ import annotations

import os
import resource
from typing import Any, Final

from gossamer_lab.bench.plus import IMAGE_BYTES, PUBLISH_BYTES
from gossamer_lab.bench.processes import resident_bytes
from gossamer_lab.experiments.experiment import (
    CellFailed,
    Claim,
    Experiment,
    Figure,
    Grid,
    ResultRow,
    ResultRows,
    Scaled,
    in_own_process,
)
from gossamer_lab.experiments.plots import STYLES, curve, from_zero, panels

MQTT, COUNTED = "MQTT", "CNTPPL"
WAYS: Final = (MQTT, COUNTED)
WAY_STYLES: Final = dict(zip(WAYS, STYLES, strict=False))
CAMERAS: Final = Scaled((10, 5, 1), (100, 50, 10, 1), (300, 100, 50, 10, 1))
SUBSCRIBERS: Final = (1, 10)
QUALITY: Final = 60  # of the JPEG, so that a person can still be seen at that size
NEAR: Final = 0.2  # of I/P, which the paper gives as about a hundred


def measure(parameters: dict[str, Any], seed: int) -> dict[str, Any]:
    """Nothing in it is random. Every camera publishes one image."""
    found: dict[str, Any] | str = in_own_process(_measure, dict(parameters))
    if isinstance(found, str):
        raise CellFailed(found)
    return found


def _measure(parameters: dict[str, Any]) -> dict[str, Any] | str:
    from gossamer.plus.vocabulary import Vocabulary
    from gossamer.vision.models import models_folder
    from gossamer.vision.registry import find_processors
    from gossamer.vision.settings import WorkerSettings
    from gossamer_lab.bench.images import run_crowd

    settings = WorkerSettings(str(models_folder()), seconds=60.0)
    installed = find_processors(Vocabulary(), settings)
    for kind in installed.kinds:
        if kind.keyword == COUNTED and kind.trouble:
            return str(kind.trouble)
    images = [photograph()] * parameters["cameras"]
    run = run_crowd(parameters["way"], images, parameters["subscribers"], 1, installed, settings)
    workers = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return {
        "image_bytes": len(images[0]),
        "downlink": run.downlink,
        "broker_cpu": run.broker_cpu,
        "worker_cpu": run.worker_cpu if parameters["way"] == COUNTED else 0.0,
        "broker_mib": resident_bytes(os.getpid()) / 1024**2,
        "worker_mib": workers / 1024 if parameters["way"] == COUNTED else 0.0,
    }


def photograph() -> bytes:
    """One with a person in it, as large as makes I/P a hundred."""
    import cv2
    import numpy as np

    from gossamer_lab.bench.images import photographs

    content = next(iter(photographs([]).values()))
    pixels = cv2.imdecode(np.frombuffer(content, np.uint8), cv2.IMREAD_COLOR)
    assert pixels is not None
    best = content
    for size in range(320, 60, -20):
        ok, encoded = cv2.imencode(
            ".jpg", cv2.resize(pixels, (size, size)), [cv2.IMWRITE_JPEG_QUALITY, QUALITY]
        )
        best = bytes(encoded)
        if ok and len(best) <= IMAGE_BYTES:
            break
    return best


def figures(rows: ResultRows) -> list[Figure]:
    subscribers = max(SUBSCRIBERS)
    drawing, axes = panels(3)
    reference = rows.only(way=MQTT, cameras=1, subscribers=1)["broker_cpu"]
    found = rows.where(subscribers=subscribers)

    def work(row: ResultRow) -> float:
        return float((row["broker_cpu"] + row["worker_cpu"]) / reference)

    for way, style in WAY_STYLES.items():
        group = found.where(way=way)
        curve(axes[0], group, "cameras", "downlink", style, way)
        curve(axes[1], group, "cameras", work, style, f"{way}, all")
        curve(axes[2], group, "cameras", _memory, style, way)
    counted = found.where(way=COUNTED)
    label = f"{COUNTED}, broker"
    curve(axes[1], counted, "cameras", lambda row: row["broker_cpu"] / reference, STYLES[2], label)
    units = ("downlink, bytes", "processor time over that of m = n = 1", "memory, MiB")
    for axis, unit in zip(axes, units, strict=True):
        axis.set(xlabel=f"cameras m (subscribers n = {subscribers})", ylabel=unit, xscale="log")
    axes[0].set_yscale("log")
    axes[1].set_yscale("log")
    from_zero(axes[2])
    axes[0].legend()
    axes[1].legend()
    return [
        Figure(
            "Figure 3",
            "Counting people in images: downlink, processor, memory",
            drawing,
            "Traffic falls by I/P, about a hundred; processor and memory are “greatly affected” by "
            "the processing.",
            _claims(rows),
            "One image of each camera, a photograph of about 4,400 bytes, with the recogniser that "
            "ships in one worker process. The same image is looked at once for all subscribers.",
        )
    ]


def _memory(row: ResultRow) -> float:
    return float(row["broker_mib"] + row["worker_mib"])


def _claims(rows: ResultRows) -> list[Claim]:
    most = max(rows.distinct("cameras"))
    subscribers = max(SUBSCRIBERS)
    plain = rows.only(way=MQTT, cameras=most, subscribers=subscribers)
    counted = rows.only(way=COUNTED, cameras=most, subscribers=subscribers)
    ratio = plain["downlink"] / counted["downlink"]
    printed = plain["image_bytes"] / PUBLISH_BYTES
    work = (counted["broker_cpu"] + counted["worker_cpu"]) / plain["broker_cpu"]
    memory = _memory(counted) / plain["broker_mib"]
    return [
        Claim(
            "traffic falls by about I/P when people are counted in the broker",
            f"{printed:.0f} times",
            f"{ratio:.0f} times",
            abs(ratio / printed - 1) <= NEAR,
            "a result carries the operator in its topic, so its P is larger than that of a number",
            headline=True,
        ),
        Claim(
            "processing costs processor time and memory in the broker",
            "greatly affected",
            f"{work:,.0f} times the processor time and {memory:.1f} times the memory in all; of "
            f"it {counted['worker_cpu'] / (counted['broker_cpu'] + counted['worker_cpu']):.0%} of "
            "the time is in worker processes, not in the broker",
            work > 1,
            headline=True,
        ),
    ]


EXPERIMENT = Experiment(
    name="plus-images",
    title="What does it cost to look at images?",
    source="Giambona et al., Figure 3",
    about=(
        "m cameras publish an image; n subscribers want the number of people in it. It needs a "
        "model: gossamer models install efficientdet."
    ),
    grid=Grid({"cameras": CAMERAS, "subscribers": SUBSCRIBERS, "way": WAYS}),
    measure=measure,
    figures=figures,
    alone=True,
)
