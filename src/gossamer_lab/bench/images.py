"""``gossamer bench images``: what looking at images takes, and what it saves.

The steps of one image, each timed for itself in this process; and the paper's image scenario
(Figure 3) with the recogniser that ships, in real time: a broker with cameras, subscribers and real
workers. The bytes are those of MQTT packets to the subscribers.
"""

import asyncio
import resource
import time
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.progress import Progress

from gossamer.cli.errors import CommandError, WrongUse
from gossamer.plus.engine import Engine
from gossamer.plus.jobs import Job
from gossamer.plus.vocabulary import Vocabulary
from gossamer.vision.image_processors import image_models
from gossamer.vision.images import dimensions, prepare
from gossamer.vision.models import models_folder
from gossamer.vision.pool import Pool, PoolLimits
from gossamer.vision.processor import Item
from gossamer.vision.registry import Installed, find_processors
from gossamer.vision.settings import WorkerSettings
from gossamer_lab import tables
from gossamer_lab.bench.loopback import LoopbackClient, publication, quiet_broker

NEEDED = ("CNTPPL", "CNTFEMALE")
SUBSCRIBERS = 10
RUNS = (("MQTT", 1), ("CNTPPL", 1), ("CNTPPL", 2))

STEPS: Final = ("decode", "objects", "faces", "gender")
STEP_COLUMNS: Final = {
    "image": "{.name}",
    "pixels": "{0.width}×{0.height}",
    "people": "{.people}",
    **{step: f"{{0.milliseconds[{step}]:.1f}}" for step in STEPS},
}
CROWD_COLUMNS: Final = {
    "way": "{.way}",
    "workers": "{.workers_at_work}",
    "images/s": "{.rate:,.0f}",
    "downlink bytes": "{.downlink:,}",
    "broker CPU s": "{.broker_cpu:.2f}",
    "workers CPU s": "{.worker_cpu:.2f}",
    "longest wait of the broker ms": "{.longest_wait_ms:.1f}",
}
STEP_RUNS: Final = 5  # the best counts: others share the machine

TOPIC: Final = "image/polimi/deib/room1"
OPERATOR: Final = "$CNTPPL"

# How long the loop may be kept waiting is looked at this often.
LOOK_SECONDS: Final = 0.002

KNOWN: Final = (
    ("skimage", "data/astronaut.png"),
    ("skimage", "data/camera.png"),
    ("skimage", "data/coffee.png"),
    ("skimage", "data/rocket.jpg"),
    ("matplotlib", "mpl-data/sample_data/grace_hopper.jpg"),
)


def images(
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILE", help="Photographs; by default those in packages."),
    ] = None,
    count: Annotated[int, typer.Option(min=1, help="Images to publish in each run.")] = 200,
    quick: Annotated[bool, typer.Option("--quick", help="A short run.")] = False,
) -> None:
    """Measure the models' steps, and a broker with cameras, subscribers and real workers."""
    settings = WorkerSettings(str(models_folder()), seconds=60.0)
    installed = find_processors(Vocabulary(), settings)
    for kind in installed.kinds:
        if kind.keyword in NEEDED and kind.trouble:
            raise CommandError(kind.trouble)
    try:
        found = photographs(files or [])
    except OSError as error:
        raise WrongUse(f"cannot read {error.filename}: {error.strerror}") from error
    contents = list(found.values())
    published = [contents[at % len(contents)] for at in range(min(count, 20) if quick else count)]
    console = tables.console()
    with Progress(console=console, transient=True) as progress:
        task = progress.add_task("measuring", total=len(found) + len(RUNS))
        steps = []
        for name, data in found.items():
            steps.append(run_steps(name, data, settings))
            progress.advance(task)
        crowds = []
        for way, workers in RUNS:
            crowds.append(run_crowd(way, published, SUBSCRIBERS, workers, installed, settings))
            progress.advance(task)
    console.print(tables.records("One image on one core, in ms", STEP_COLUMNS, steps, left=0))
    title = f"{len(published)} images, {SUBSCRIBERS} subscribers, with the recogniser"
    console.print(tables.records(title, CROWD_COLUMNS, crowds, left=0))


def photographs(files: Sequence[Path]) -> dict[str, bytes]:
    """Name to content. A drawn one where there is no other."""
    paths = list(files) or [path for path in map(_found, KNOWN) if path is not None]
    return {path.name: path.read_bytes() for path in paths} or {"noise.jpg": _noise()}


def _found(known: tuple[str, str]) -> Path | None:
    package, name = known
    spec = find_spec(package)
    if spec is None or spec.origin is None:
        return None
    path = Path(spec.origin).parent / name
    return path if path.is_file() else None


def _noise() -> bytes:
    import cv2
    import numpy as np

    pixels = np.random.default_rng(1).integers(0, 256, (480, 640, 3), np.uint8)
    return bytes(cv2.imencode(".jpg", pixels)[1])


@dataclass(frozen=True)
class StepRun:
    name: str
    width: int
    height: int
    people: int
    milliseconds: dict[str, float]


def run_steps(name: str, data: bytes, settings: WorkerSettings) -> StepRun:
    prepare()
    times = [_times(Item("bench", data, {}, settings), settings) for _ in range(STEP_RUNS)]
    best = {step: min(one[step] for one in times) for step in STEPS}
    people = image_models(settings).people(Item("bench", data, {}, settings))
    return StepRun(name, *dimensions(data), people, best)


def _times(item: Item, settings: WorkerSettings) -> dict[str, float]:
    """Milliseconds; each step finds the ones before it done."""
    models = image_models(settings)
    marks = [time.perf_counter()]
    for act in (Item.image, models.objects, models.faces, models.females):
        act(item)
        marks.append(time.perf_counter())
    taken = [(end - begin) * 1000 for begin, end in pairwise(marks)]
    return dict(zip(STEPS, taken, strict=True))


@dataclass(frozen=True)
class CrowdRun:
    way: str
    workers: int
    images: int
    seconds: float
    downlink: int
    broker_cpu: float
    worker_cpu: float
    longest_wait_ms: float  # of the broker's event loop

    @property
    def rate(self) -> float:
        return self.images / self.seconds

    @property
    def workers_at_work(self) -> str:
        return "" if self.way == "MQTT" else str(self.workers)


def run_crowd(
    way: str,
    images: list[bytes],
    subscribers: int,
    workers: int,
    installed: Installed,
    settings: WorkerSettings,
) -> CrowdRun:
    """`way` is MQTT (every image to every subscriber) or CNTPPL."""
    crowd = _Crowd(way, subscribers, workers, installed)
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds, broker_cpu = asyncio.run(crowd.run(images, settings))
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    worker_cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    downlink = sum(reader.sink.bytes for reader in crowd.readers)
    return CrowdRun(
        way, workers, len(images), seconds, downlink, broker_cpu, worker_cpu, crowd.longest * 1000
    )


class _Crowd:
    def __init__(self, way: str, subscribers: int, workers: int, installed: Installed) -> None:
        now = time.time()
        self.broker = quiet_broker(Engine(Vocabulary(processors=installed.kinds)), now)
        self.is_answered = way != "MQTT"
        self.workers = workers
        self.places = installed.usable
        self.readers = [LoopbackClient(self.broker, f"reader{n}", now) for n in range(subscribers)]
        for reader in self.readers:
            reader.subscribe(f"{OPERATOR}/{TOPIC}/+" if self.is_answered else f"{TOPIC}/+", now)
        self.waiting = 0
        self.longest = 0.0

    async def run(self, images: list[bytes], settings: WorkerSettings) -> tuple[float, float]:
        """Seconds in all, and processor seconds of the broker."""
        limits = PoolLimits(self.workers, queue=1_000_000, queue_bytes=1 << 40)
        pool = Pool(self.places, settings, limits, self._answered)
        self.broker.core.operators.processors = pool
        writer = LoopbackClient(self.broker, "writer", time.time())
        if self.is_answered:
            await self._warm(writer, images[0])
        looking = asyncio.create_task(self._look())
        begun, cpu = time.perf_counter(), time.process_time()
        for number, image in enumerate(images):
            self.waiting += self.is_answered
            writer.send(publication(f"{TOPIC}/{number:08d}", image), time.time())
            await asyncio.sleep(0)
        while self.waiting:
            await asyncio.sleep(LOOK_SECONDS)
        seconds, cpu = time.perf_counter() - begun, time.process_time() - cpu
        looking.cancel()
        await pool.close()
        return seconds, cpu

    async def _warm(self, writer: LoopbackClient, image: bytes) -> None:
        """Workers start with their first image; that is not what is measured."""
        self.waiting = self.workers
        for number in range(self.workers):
            writer.send(publication(f"{TOPIC}/warm{number}", image), time.time())
        while self.waiting:
            await asyncio.sleep(LOOK_SECONDS)
        for reader in self.readers:
            reader.sink.bytes = 0

    def _answered(self, job: Job, found: bytes | None) -> None:
        self.waiting -= 1
        self.broker.processed(job, found, time.time())

    async def _look(self) -> None:
        """Keeps the longest time that the loop took to come back to this."""
        while True:
            begun = time.perf_counter()
            await asyncio.sleep(LOOK_SECONDS)
            self.longest = max(self.longest, time.perf_counter() - begun - LOOK_SECONDS)
