"""`gossamer serve`: one broker on this machine."""

import asyncio
import signal
import time
from typing import Annotated

import typer

from gossamer.broker.broker import Broker
from gossamer.broker.settings import Settings
from gossamer.cli.errors import CommandError
from gossamer.net.loops import run
from gossamer.net.server import Server
from gossamer.session.journal import Journal


def serve(
    port: Annotated[int, typer.Option("--port", "-p", help="TCP port; 0 takes a free one.")] = 1883,
    host: Annotated[str, typer.Option("--host", help="Address to listen on.")] = "127.0.0.1",
    memory: Annotated[bool, typer.Option("--memory", help="Keep nothing on disk.")] = False,
) -> None:
    """Run one broker; no configuration needed."""
    run(_serve(host, port))


async def _serve(host: str, port: int) -> None:
    server = Server(Broker(Settings(), Journal(), time.time()))
    try:
        bound = await server.start(host, port)
    except OSError as error:
        raise CommandError(f"cannot listen on {host}:{port}: {error.strerror}") from error
    typer.echo(f"gossamer listens on {host}:{bound}")
    stopped = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stopped.set)
    await stopped.wait()
    await server.stop()
