"""Brokers in a line, ours as a mesh and Mosquitto's by bridges, for the time of a `with`.

A bridge of Mosquitto forwards every topic, since it cannot know what is subscribed behind it.
"""

import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from gossamer import __version__
from gossamer.net.local.broker import LocalMeshError
from gossamer.net.local.mesh import LocalMesh, LocalMeshPlan
from gossamer.net.local.ports import free_ports
from gossamer_lab.bench.brokers.link import GeneratorError, close, open_link
from gossamer_lab.bench.brokers.peers import (
    MOSQUITTO_CONFIGURATION,
    START_SECONDS,
    STOP_SECONDS,
    PeerBroker,
    mosquitto,
)

BRIDGE = """
connection to-{port}
address 127.0.0.1:{port}
topic # both 2
cleansession true
notifications false
restart_timeout 1
"""


@dataclass(frozen=True)
class Running:
    """Where messages go in, where they come out, and the processes between."""

    first_port: int
    last_port: int
    pids: tuple[int, ...]


@dataclass(frozen=True)
class BrokerChain:
    """So many brokers of one kind."""

    kind: str
    version: str
    length: int
    run: Callable[[Path], "Iterator[Running]"]

    @property
    def name(self) -> str:
        return f"{self.kind} × {self.length}"

    @contextmanager
    def running(self, cores: set[int]) -> Iterator[Running]:
        """GeneratorError if they do not come up."""
        with tempfile.TemporaryDirectory(prefix="gossamer-bench-") as folder:
            chain = contextmanager(self.run)
            with chain(Path(folder)) as found:
                for pid in found.pids:
                    os.sched_setaffinity(pid, cores)
                yield found


def gossamer_chain(length: int, mode: str = "ssf") -> BrokerChain:
    def run(folder: Path) -> Iterator[Running]:
        with LocalMesh(folder, LocalMeshPlan(length, "linear", mode)) as mesh:
            try:
                mesh.start()
            except LocalMeshError as error:
                raise GeneratorError(str(error)) from error
            ports = [broker.port for broker in mesh.brokers]
            yield Running(ports[0], ports[-1], tuple(broker.pid for broker in mesh.brokers))

    return BrokerChain("gossamer", __version__, length, run)


def mosquitto_chain(length: int) -> BrokerChain | None:
    """None where it is not installed."""
    peer = mosquitto()
    if peer is None:
        return None

    def run(folder: Path) -> Iterator[Running]:
        ports = free_ports(length)
        with ExitStack() as processes:
            pids = []
            for number, port in enumerate(ports):
                bridge = BRIDGE.format(port=ports[number - 1]) if number else ""
                process = _start(peer, folder / str(number), port, bridge)
                processes.callback(_stop, process)
                _await(process, port)
                pids.append(process.pid)
            yield Running(ports[0], ports[-1], tuple(pids))

    return BrokerChain("mosquitto", peer.version, length, run)


def _start(peer: PeerBroker, folder: Path, port: int, bridge: str) -> subprocess.Popen[bytes]:
    folder.mkdir()
    assert peer.command is not None
    command = peer.command(port, folder)
    configuration = folder / "mosquitto.conf"
    configuration.write_text(MOSQUITTO_CONFIGURATION.format(port=port) + bridge)
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def _await(process: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        try:
            close([open_link(("127.0.0.1", port), "ready")])
            return
        except (OSError, GeneratorError):
            time.sleep(0.05)
    raise GeneratorError("mosquitto did not start")


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
