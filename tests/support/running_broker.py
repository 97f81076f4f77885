"""Real brokers on real sockets for tests: ours in a thread of this process, and Mosquitto."""

import asyncio
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path

import pytest

from gossamer.broker.broker import Broker
from gossamer.net.config import Config
from gossamer.net.config.limits import Limits
from gossamer.net.config.listeners import Listener
from gossamer.net.event_loop import run
from gossamer.net.local.ports import free_port
from gossamer.net.resolved_config import read_resolved, settings_of
from gossamer.net.server import Server
from gossamer.plus.engine import Engine
from gossamer.session.journal import Journal
from tests.support.polling import PATIENCE
from tests.support.processes import wait_for_port

MOSQUITTO = shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin:/sbin")


@contextmanager
def running_gossamer(limits: Limits | None = None) -> Iterator[int]:
    """Our broker, in memory, on a free port of this machine; gives the port."""
    config = Config(listener=(Listener(port=0),), limits=limits or Limits())
    with running_listeners(config) as ports:
        yield ports[0]


@contextmanager
def running_listeners(
    config: Config,
    engine: Engine | None = None,
    prepare: Callable[[Broker], None] = lambda broker: None,
) -> Iterator[list[int]]:
    """Our broker, in memory, with these listeners; gives their ports (0 for a Unix socket)."""
    resolved = read_resolved(config)
    running: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event, list[int]]] = Future()

    async def serve() -> None:
        settings = settings_of(config, config.limits)
        broker = Broker(settings, Journal(), time.time(), engine)
        prepare(broker)
        server = Server(broker)
        stop = asyncio.Event()
        listeners = await server.open(resolved)
        ports = [listener.port for listener in listeners.listeners]
        running.set_result((asyncio.get_running_loop(), stop, ports))
        await stop.wait()
        await server.stop()

    def serve_or_tell() -> None:
        try:
            run(serve())
        except BaseException as error:
            if running.done():
                raise
            running.set_exception(error)

    thread = threading.Thread(target=serve_or_tell, daemon=True)
    thread.start()
    loop, stop, ports = running.result(PATIENCE)
    try:
        yield ports
    finally:
        loop.call_soon_threadsafe(stop.set)
        thread.join(PATIENCE)


@contextmanager
def running_mosquitto(folder: Path) -> Iterator[int]:
    """Mosquitto, open to everyone on this machine; gives the port."""
    if MOSQUITTO is None:
        pytest.skip("mosquitto is not installed")
    port = free_port()
    configuration = folder / "mosquitto.conf"
    configuration.write_text(
        f"listener {port} 127.0.0.1\nallow_anonymous true\nmax_inflight_messages 0\n"
    )
    process = subprocess.Popen(
        [MOSQUITTO, "-c", str(configuration)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for_port(port, process)
        yield port
    finally:
        process.terminate()
        process.wait(PATIENCE)
