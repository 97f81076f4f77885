"""The processors that a configuration describes, and the workshop that runs them."""

from typing import Final

from gossamer.net.config import Config
from gossamer.net.config.plus import Vision, windows_of
from gossamer.net.server import Server
from gossamer.plus.jobs import Job
from gossamer.plus.operators.kinds import ProcessorKind
from gossamer.plus.vocabulary import Vocabulary
from gossamer.vision.confinement import weaknesses
from gossamer.vision.models import models_folder
from gossamer.vision.pool import Pool, PoolLimits
from gossamer.vision.registry import Installed, find_processors
from gossamer.vision.settings import DetectorSettings, WorkerSettings

SWITCHED_OFF: Final = "processors are switched off on this broker (vision.enabled)"


def installed_processors(config: Config) -> Installed:
    """All that are installed, whether they can be used here or not."""
    vocabulary = Vocabulary(windows_of(config.plus.windows))
    found = find_processors(vocabulary, worker_settings(config.vision))
    if config.vision.enabled:
        return found
    kinds = (
        ProcessorKind(kind.keyword, kind.description, kind.returns, SWITCHED_OFF)
        for kind in found.kinds
    )
    return Installed(tuple(kinds), {})


def open_pool(server: Server, installed: Installed, vision: Vision) -> Pool:
    """On the running event loop; whoever opened it closes it."""

    def answer(job: Job, found: bytes | None) -> None:
        now = server.clock.now()
        server.broker.processed(job, found, now)
        server.host.after_chunk(now)

    limits = PoolLimits(vision.workers, vision.queue, vision.queue_bytes)
    pool = Pool(installed.usable, worker_settings(vision), limits, answer)
    server.broker.core.operators.workshop = pool
    if installed.usable:
        pool.tell_weaknesses(weaknesses())
    return pool


def confinement_warnings(config: Config) -> list[str]:
    """For `gossamer check`: what this system cannot take from workers that open images."""
    if not installed_processors(config).usable:
        return []
    return [f"vision: workers are not fully confined here: {weak}" for weak in weaknesses()]


def worker_settings(vision: Vision) -> WorkerSettings:
    own = vision.detector
    detector = None
    if own is not None:
        labels = None if own.labels is None else str(own.labels)
        detector = DetectorSettings(
            str(own.file), labels, own.size, own.scaling, own.score, own.person
        )
    folder = vision.models if vision.models is not None else models_folder()
    return WorkerSettings(str(folder), detector, vision.pixels, vision.memory, vision.timeout)
