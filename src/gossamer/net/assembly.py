"""From a configuration to the parts of a broker: its archive, its operators, and the workers that
process images for them.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from gossamer.archive.folder import MissingPyarrow
from gossamer.broker.loop_turns import PROCESSOR, MeasuredTurn
from gossamer.net.config import Config
from gossamer.net.config.plus import Vision, windows_of
from gossamer.net.resolved_config import archive_settings, offload_rule
from gossamer.net.server import Server
from gossamer.plus.encodings import Encodings
from gossamer.plus.engine import Engine
from gossamer.plus.jobs import Job
from gossamer.plus.limits import OperatorLimits
from gossamer.plus.memory import MemoryLimits
from gossamer.plus.offload import OffloadRule
from gossamer.plus.operators.kinds import ProcessorKind
from gossamer.plus.values import parse_field
from gossamer.plus.vocabulary import Vocabulary
from gossamer.storage.sqlite_store import SqliteStore
from gossamer.vision.models import models_folder
from gossamer.vision.pool import Pool, PoolLimits
from gossamer.vision.registry import Installed, find_processors
from gossamer.vision.settings import DetectorSettings, WorkerSettings

if TYPE_CHECKING:
    from gossamer.archive.archive import Archive, ArchiveOnlyStore

SWITCHED_OFF: Final = "processors are switched off on this broker (vision.enabled)"


def open_archive(
    config: Config, store: SqliteStore | None
) -> tuple[Archive | None, SqliteStore | ArchiveOnlyStore | None]:
    """The archive, and what stands for the store from now on. ArchiveError or ConfigError if it
    cannot be used."""
    settings = archive_settings(config)
    if settings is None:
        return None, store
    try:
        from gossamer.archive.archive import ArchiveOnlyStore, open_beside
    except ImportError as error:
        raise MissingPyarrow from error
    if store is not None:
        return open_beside(store, settings), store
    only = ArchiveOnlyStore(settings, is_durable=config.store.sync != "off")
    return only.archive, only


def engine_of(config: Config, processors: Iterable[ProcessorKind] = ()) -> Engine:
    """With the processors that are installed here. Raises ConfigError."""
    plus = config.plus
    rule = offload_rule(config)
    processors = tuple(processors)
    if rule is not None:
        rule.missing = [kind.keyword for kind in processors if kind.trouble]
    vocabulary = Vocabulary(windows_of(plus), _usable_kinds(processors, rule))
    limits = OperatorLimits(topics=plus.topics, last_results=plus.last_results)
    engine = Engine(vocabulary, plus.ttl, limits)
    engine.offloads = rule
    if plus.payloads:
        engine.services.encodings = Encodings(dict(plus.payloads))
    if plus.remember:
        fields = [parse_field(text) for text in plus.remember_fields]
        engine.remember(
            MemoryLimits(list(plus.remember), plus.remember_topics, plus.remember_bytes, fields)
        )
    return engine


def _usable_kinds(kinds: Iterable[ProcessorKind], rule: OffloadRule | None) -> list[ProcessorKind]:
    """What others look at needs no models here."""
    return [
        ProcessorKind(kind.keyword, kind.description, kind.returns)
        if rule is not None and kind.keyword in rule.keywords
        else kind
        for kind in kinds
    ]


def installed_processors(config: Config) -> Installed:
    """All that are installed, whether they can be used here or not."""
    vocabulary = Vocabulary(windows_of(config.plus))
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
        with MeasuredTurn(server.host.turns, PROCESSOR, job.processor):
            now = server.clock.now()
            server.broker.processed(job, found, now)
            server.host.after_chunk(now)

    limits = PoolLimits(vision.workers, vision.queue, vision.queue_bytes, vision.busy_at)
    pool = Pool(installed.usable, worker_settings(vision), limits, answer)
    server.broker.core.operators.processors = pool
    if installed.usable:
        from gossamer.vision.confinement import weaknesses

        pool.tell_weaknesses(weaknesses())
    return pool


def confinement_warnings(config: Config) -> list[str]:
    """For `gossamer check`: what this system cannot take from workers that open images."""
    if not installed_processors(config).usable:
        return []
    from gossamer.vision.confinement import weaknesses

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
