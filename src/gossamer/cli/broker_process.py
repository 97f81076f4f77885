"""`gossamer serve`, once its options are known: one broker on this machine.

What is imported here stays in memory for as long as the broker runs, so typer is not.
"""

from __future__ import annotations

import asyncio
import errno
import logging
import os
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from gossamer import __version__
from gossamer.archive.folder import ArchiveError
from gossamer.broker.broker import Broker
from gossamer.broker.restore import CLOCK_KEY, CLOCK_ROOM, resumed
from gossamer.cli.errors import CommandError, WrongUse
from gossamer.cli.serve_options import ServeOptions
from gossamer.cli.signals import InputEnd
from gossamer.net.assembly import engine_of, installed_processors, open_archive, open_pool
from gossamer.net.clock import Clock
from gossamer.net.config import Config, ConfigError, load
from gossamer.net.config.reporting import warnings, who_gets_in
from gossamer.net.connection_limits import raise_descriptors
from gossamer.net.event_loop import GcSchedule, count_as_old, run
from gossamer.net.file_pages import give_back_file_pages
from gossamer.net.listener_socket import describe
from gossamer.net.listeners import Reloader
from gossamer.net.logs import set_up_logging
from gossamer.net.resolved_config import ResolvedConfig, read_resolved, settings_of
from gossamer.net.server import Server
from gossamer.session.journal import Journal
from gossamer.storage.files import StoreError, default_folder
from gossamer.storage.sqlite_store import SYNC_MODES, SqliteStore
from gossamer.vision.registry import Installed
from gossamer.wire import codec

if TYPE_CHECKING:
    from gossamer.archive.archive import Archive, ArchiveOnlyStore
    from gossamer.net.admin.server import AdminServer

logger = logging.getLogger(__name__)


def serve_broker(options: ServeOptions) -> None:
    """Until a signal ends it. CommandError if it cannot be."""
    try:
        resolved = _resolved(options)
    except ConfigError as error:
        raise WrongUse("\ngossamer: ".join(error.problems)) from error
    raise_descriptors()
    set_up_logging(resolved.config.log)
    for warning in (
        *warnings(resolved.config),
        *resolved.budgets.warnings(),
        *resolved.notes,
    ):
        logger.warning("%s", warning)
    run(_serve(resolved, options))


def _say(line: str) -> None:
    """At once: who started the broker may wait for it."""
    print(line, flush=True)


def _about(config: Config) -> list[str]:
    """What else a person who starts a broker wants to know."""
    compiled = not codec.__file__.endswith(".py")
    way = "compiled" if compiled else "from its sources, several times slower (see docs/install.md)"
    lines = [f"gossamer {__version__} runs {way}"]
    by_words: dict[str, list[str]] = {}
    for listener in config.listener:
        by_words.setdefault(who_gets_in(config, listener), []).append(listener.name)
    for words, names in by_words.items():
        place = "" if len(by_words) == 1 else f" at {', '.join(names)}"
        lines.append(f"gossamer lets in{place}: {words}")
    store = config.store
    folder = store.folder or default_folder()
    is_kept = store.kind == "disk"
    lines.append(f"gossamer keeps {f'its data in {folder}' if is_kept else 'nothing on disk'}")
    return lines


def _resolved(options: ServeOptions) -> ResolvedConfig:
    """The configuration with what the command line says instead."""
    file, sync = options.config, options.sync
    config = Config() if file is None else load(file)
    if sync is not None and sync not in SYNC_MODES:
        raise ConfigError(f"--sync must be one of {', '.join(SYNC_MODES)}, not {sync!r}")
    kind = "memory" if options.memory else None
    stored = {"folder": options.data, "sync": sync, "kind": kind}
    store = config.store.changed(
        **{key: value for key, value in stored.items() if value is not None}
    )
    config = config.changed(store=store)
    if options.host is not None or options.port is not None:
        if file is not None:
            raise ConfigError(
                "--host and --port cannot be combined with --config: set them in [[listener]]"
            )
        where = {"host": options.host, "port": options.port}
        given = {key: value for key, value in where.items() if value is not None}
        listener = config.listener[0].changed(**given)
        config = config.changed(listener=(listener,))
    return read_resolved(config)


def _open_store(folder: Path, sync: str) -> SqliteStore:
    mode = next(known for known in SYNC_MODES if known == sync)
    try:
        return SqliteStore(folder, mode, in_background=True)
    except StoreError as error:
        raise CommandError(str(error)) from error
    except OSError as error:
        raise CommandError(f"cannot use {folder} for the store: {error.strerror}") from error


def _open_archive(
    config: Config, store: SqliteStore | None
) -> tuple[Archive | None, SqliteStore | ArchiveOnlyStore | None]:
    """The archive, and what makes promises last with it: the store, or the archive alone."""
    try:
        return open_archive(config, store)
    except ArchiveError as error:
        raise CommandError(str(error)) from error
    except OSError as error:
        where = error.filename or "the folder"
        raise CommandError(f"cannot use {where} for the archive: {error.strerror}") from error


def _broker(
    resolved: ResolvedConfig,
    store: SqliteStore | None,
    journal: Journal,
    processors: Installed,
    clock: Clock,
) -> Broker:
    now = clock.now()
    config = resolved.config
    settings = settings_of(config, config.limits)
    engine = engine_of(config, processors.kinds)
    broker = Broker(settings, journal, now, engine, clock.offset)
    if store is not None:
        broker.restore(store.snapshot, now)
    return broker


def _clock(store: SqliteStore | None) -> Clock:
    """It goes on from what the store knows, if there is one."""
    if store is None:
        return Clock()
    kept = store.snapshot.rooms.get(CLOCK_ROOM, {}).get(CLOCK_KEY)
    found = resumed(kept, store.written_at, time.time())
    if found.complaint:
        logger.warning(
            "the wall clock is %s: it is ignored for expiry, so that nothing expires by mistake; "
            "set the clock right (windows and archives use it at once)",
            found.complaint,
        )
    return Clock(found.now)


def _way_out(error: OSError, file: Path | None) -> str:
    cause = error.__cause__
    if not isinstance(cause, OSError) or cause.errno != errno.EADDRINUSE:
        return ""
    place = "--port" if file is None else str(file)
    return f"; stop what listens there, or name another port in {place}"


async def _open_admin(
    resolved: ResolvedConfig, server: Server, reloader: Reloader, store: SqliteStore | None
) -> AdminServer | None:
    settings = resolved.config.admin
    if not settings.enabled:
        return None
    # Not at the top: metrics, most of all, take memory that a broker without them can spare.
    from gossamer.net.admin.server import AdminServer
    from gossamer.net.admin.tokens import default_token_file, token_for
    from gossamer.net.backup import Backups

    try:
        token = token_for(settings.token_file)
        admin = AdminServer(
            server.broker,
            settings,
            token,
            reloader.reload,
            server.mesh_links,
            server.clock,
            None if store is None else Backups(store),
        )
        port = await admin.open()
    except ConfigError as error:
        raise CommandError(error.problems[0]) from error
    except OSError as error:
        where = f"{settings.host}:{settings.port}"
        raise CommandError(
            f"cannot open the admin API on {where}: {os.strerror(error.errno or errno.EIO)}; "
            "name another port in [admin]"
        ) from error
    token_file = settings.token_file or default_token_file()
    _say(f"gossamer's admin API is at http://{settings.host}:{port}, its token in {token_file}")
    return admin


async def _serve(resolved: ResolvedConfig, options: ServeOptions) -> None:
    collector = GcSchedule(asyncio.get_running_loop())
    collector.start()  # first: what a store holds is much to walk over as it is read
    settings = resolved.config.store
    store = None
    if settings.kind == "disk":
        store = _open_store(settings.folder or default_folder(), settings.sync)
        store.queue_share = settings.queue_share
    archive, keeper = _open_archive(resolved.config, store)
    processors = installed_processors(resolved.config)
    journal = Journal() if keeper is None else keeper.journal
    clock = _clock(store)
    broker = _broker(resolved, store, journal, processors, clock)
    server = Server(broker, keeper, archive, clock)
    collector.note_runs(server.host.collector_ran, broker.core.turns)
    server.host.count_as_old = count_as_old
    pool = open_pool(server, processors, resolved.config.vision)
    try:
        listeners = await server.open(resolved)
    except OSError as error:
        raise CommandError(f"{error}{_way_out(error, options.config)}") from error
    logger.info("%s", resolved.budgets.line())  # not before: a failure to start is one line
    for listener in listeners.listeners:
        _say(f"gossamer listens on {describe(listener.listener, listener.port)}")
    for line in _about(resolved.config):
        _say(line)
    replay = None if server.archive_service is None else server.archive_service.replay
    if replay is not None:
        _say(f"gossamer's replay service is at port {replay.port}")
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stopped.set)
    if options.with_parent:
        await loop.connect_read_pipe(lambda: InputEnd(stopped.set), sys.stdin)
    reloader = Reloader(listeners, options.config)
    admin = await _open_admin(resolved, server, reloader, store)
    loop.add_signal_handler(signal.SIGHUP, reloader.on_signal)
    give_back_file_pages()
    stopping = asyncio.ensure_future(stopped.wait())
    await asyncio.wait((stopping, server.failure), return_when=asyncio.FIRST_COMPLETED)
    if admin is not None:
        admin.close()
    await pool.close()
    await server.stop()
    collector.stop()
    if server.failure.done():
        raise CommandError(str(server.failure.result()))
