"""`gossamer serve`: one broker on this machine."""

import asyncio
import signal
import time
from pathlib import Path
from typing import Annotated

import typer

from gossamer.broker.broker import Broker
from gossamer.broker.settings import Settings
from gossamer.cli.errors import CommandError, WrongUse
from gossamer.net.loops import run
from gossamer.net.server import Server
from gossamer.session.journal import Journal
from gossamer.storage.errors import StoreError
from gossamer.storage.files import default_folder
from gossamer.storage.sqlite_store import SYNC_MODES, SqliteStore


def serve(
    port: Annotated[int, typer.Option("--port", "-p", help="TCP port; 0 takes a free one.")] = 1883,
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = "127.0.0.1",
    data: Annotated[
        Path | None, typer.Option("--data", help="Folder of the database that survives restarts.")
    ] = None,
    memory: Annotated[bool, typer.Option("--memory", help="Keep nothing on disk.")] = False,
    sync: Annotated[
        str, typer.Option("--sync", help="What an acknowledgement survives: full, normal or off.")
    ] = "full",
) -> None:
    """Run one broker; no configuration needed."""
    store = None if memory else _open_store(data or default_folder(), sync)
    run(_serve(host, port, store))


def _open_store(folder: Path, sync: str) -> SqliteStore:
    mode = next((known for known in SYNC_MODES if known == sync), None)
    if mode is None:
        raise WrongUse(f"--sync is {', '.join(SYNC_MODES)}, not {sync!r}")
    try:
        return SqliteStore(folder, mode)
    except StoreError as error:
        raise CommandError(str(error)) from error
    except OSError as error:
        raise CommandError(f"cannot use {folder} for the store: {error.strerror}") from error


def _broker(store: SqliteStore | None) -> Broker:
    now = time.time()
    if store is None:
        return Broker(Settings(), Journal(), now)
    broker = Broker(Settings(), store.journal, now)
    broker.restore(store.snapshot, now)
    return broker


async def _serve(host: str, port: int, store: SqliteStore | None) -> None:
    server = Server(_broker(store), store)
    try:
        bound = await server.start(host, port)
    except OSError as error:
        raise CommandError(f"cannot listen on {host}:{port}: {error.strerror}") from error
    typer.echo(f"gossamer listens on {host}:{bound}")
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    stopping = asyncio.ensure_future(stopped.wait())
    await asyncio.wait((stopping, server.failure), return_when=asyncio.FIRST_COMPLETED)
    await server.stop()
    if server.failure.done():
        raise CommandError(str(server.failure.result()))
