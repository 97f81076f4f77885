"""Real brokers on real sockets for tests: ours in a thread of this process, and Mosquitto."""

import asyncio
import shutil
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gossamer.broker.broker import Broker
from gossamer.broker.settings import Settings
from gossamer.net.loops import run
from gossamer.net.server import Server
from gossamer.session.journal import Journal

# Generous: the machine may be busy with other things.
PATIENCE = 30.0

MOSQUITTO = shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin:/sbin")


@contextmanager
def running_gossamer(settings: Settings | None = None) -> Iterator[int]:
    """Our broker, in memory, on a free port of this machine; gives the port."""
    started = threading.Event()
    ports: list[int] = []
    stops: list[asyncio.Event] = []
    loops: list[asyncio.AbstractEventLoop] = []

    async def serve() -> None:
        server = Server(Broker(settings or Settings(), Journal(), time.time()))
        stop = asyncio.Event()
        ports.append(await server.start("127.0.0.1", 0))
        stops.append(stop)
        loops.append(asyncio.get_running_loop())
        started.set()
        await stop.wait()
        await server.stop()

    thread = threading.Thread(target=lambda: run(serve()), daemon=True)
    thread.start()
    assert started.wait(PATIENCE), "the broker did not start"
    try:
        yield ports[0]
    finally:
        loops[0].call_soon_threadsafe(stops[0].set)
        thread.join(PATIENCE)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


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
        _await_listener(port, process)
        yield port
    finally:
        process.terminate()
        process.wait(PATIENCE)


def _await_listener(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        assert process.poll() is None, "mosquitto ended at once"
        try:
            socket.create_connection(("127.0.0.1", port), timeout=1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise AssertionError("mosquitto does not listen")
