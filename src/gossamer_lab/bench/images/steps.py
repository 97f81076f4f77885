"""The steps of looking at one image, each timed for itself in this process."""

import time
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

from gossamer.vision.image_processors import image_models
from gossamer.vision.images import dimensions, prepare
from gossamer.vision.processor import Item
from gossamer.vision.settings import WorkerSettings

STEPS: Final = ("decode", "objects", "faces", "gender")
RUNS: Final = 5  # the best counts: others share the machine


@dataclass(frozen=True)
class StepRun:
    name: str
    width: int
    height: int
    people: int
    milliseconds: dict[str, float]


def run_steps(name: str, data: bytes, settings: WorkerSettings) -> StepRun:
    prepare()
    times = [_times(Item("bench", data, {}, settings), settings) for _ in range(RUNS)]
    best = {step: min(one[step] for one in times) for step in STEPS}
    people = image_models(settings).people(Item("bench", data, {}, settings))
    return StepRun(name, *dimensions(data), people, best)


def _times(item: Item, settings: WorkerSettings) -> dict[str, float]:
    """Milliseconds; each step finds the ones before it done."""
    models = image_models(settings)
    marks = [time.perf_counter()]
    item.image()
    marks.append(time.perf_counter())
    models.objects(item)
    marks.append(time.perf_counter())
    models.faces(item)
    marks.append(time.perf_counter())
    models.females(item)
    marks.append(time.perf_counter())
    taken = [(end - begin) * 1000 for begin, end in pairwise(marks)]
    return dict(zip(STEPS, taken, strict=True))
