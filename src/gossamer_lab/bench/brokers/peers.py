"""The brokers that are measured: how each is found, configured for speed, started and stopped.

Every broker runs alone, in memory, without logging, on 127.0.0.1, and with limits that do not
throttle the load. A peer that is not installed is left out.
"""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

from gossamer import __version__
from gossamer.net.local.ports import free_port
from gossamer_lab.bench.brokers import proc
from gossamer_lab.bench.brokers.link import GeneratorError, close, open_link

START_SECONDS = 30.0
STOP_SECONDS = 10.0

MOSQUITTO_CONFIGURATION = """\
listener {port} 127.0.0.1
allow_anonymous true
persistence false
log_type none
set_tcp_nodelay true
max_queued_messages 0
max_inflight_messages 0
"""

AMQTT_CONFIGURATION = """\
listeners:
  default:
    type: tcp
    bind: 127.0.0.1:{port}
    max_connections: 20000
plugins:
  amqtt.plugins.authentication.AnonymousAuthPlugin:
    allow_anonymous: true
"""


@dataclass(frozen=True)
class PeerBroker:
    """One broker: either a command to start on a port, or the address where one already runs."""

    name: str
    version: str = ""
    command: Callable[[int, Path], list[str]] | None = None
    environment: dict[str, str] = field(default_factory=dict)
    address: tuple[str, int] | None = None


def _gossamer(port: int, _: Path) -> list[str]:
    return [sys.executable, "-m", "gossamer", "serve", "--port", str(port), "--memory"]


def gossamer(*, pure: bool = False) -> PeerBroker:
    environment = {"GOSSAMER_PURE": "1" if pure else "0"}
    return PeerBroker("gossamer-pure" if pure else "gossamer", __version__, _gossamer, environment)


def _durable_gossamer(port: int, folder: Path) -> list[str]:
    command = [sys.executable, "-m", "gossamer", "serve", "--port", str(port)]
    return [*command, "--data", str(folder / "data"), "--sync", "full"]


def durable_gossamer() -> PeerBroker:
    """With every acknowledged message on disk, synchronised before the acknowledgement."""
    return PeerBroker("gossamer", __version__, _durable_gossamer)


def checkout(root: Path, *, durable: bool = False) -> PeerBroker:
    """The broker of another checkout, on this Python: what did a change or a compiler cost?"""
    sources = root.resolve() / "src"
    if not (sources / "gossamer").is_dir():
        raise ValueError(f"--beside {root}: there is no src/gossamer in it")
    command = _durable_gossamer if durable else _gossamer
    environment = {"PYTHONPATH": str(sources), "GOSSAMER_PURE": "0"}
    return PeerBroker(f"gossamer in {root.resolve().name}", "", command, environment)


def mosquitto() -> PeerBroker | None:
    program = shutil.which("mosquitto", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if program is None:
        return None

    def command(port: int, folder: Path) -> list[str]:
        configuration = folder / "mosquitto.conf"
        configuration.write_text(MOSQUITTO_CONFIGURATION.format(port=port))
        return [program, "-c", str(configuration)]

    told = subprocess.run([program, "-h"], capture_output=True, text=True, check=False).stdout
    version = re.search(r"version (\S+)", told)
    return PeerBroker("mosquitto", version[1] if version else "", command)


def amqtt() -> PeerBroker | None:
    try:
        version = metadata.version("amqtt")
    except metadata.PackageNotFoundError:
        return None

    def command(port: int, folder: Path) -> list[str]:
        configuration = folder / "amqtt.yaml"
        configuration.write_text(AMQTT_CONFIGURATION.format(port=port))
        return [sys.executable, "-m", "amqtt.scripts.broker_script", "-c", str(configuration)]

    return PeerBroker("amqtt", version, command)


def installed() -> list[PeerBroker]:
    return [peer for peer in (mosquitto(), amqtt()) if peer is not None]


def parse(text: str) -> PeerBroker:
    """``NAME=HOST:PORT``, or ``NAME=COMMAND`` with ``{port}`` where the port goes."""
    name, equals, what = text.partition("=")
    if not (name and equals and what):
        raise ValueError(f"--peer {text}: write NAME=HOST:PORT, or NAME='COMMAND {{port}}'")
    if "{port}" in what:
        return PeerBroker(name, "", lambda port, _: shlex.split(what.replace("{port}", str(port))))
    host, colon, port = what.rpartition(":")
    if not colon or not port.isdigit():
        raise ValueError(f"--peer {text}: write NAME=HOST:PORT, or NAME='COMMAND {{port}}'")
    return PeerBroker(name, address=(host or "127.0.0.1", int(port)))


class RunningPeer:
    """A started peer (or one that was already there), for the time of a ``with``."""

    def __init__(self, peer: PeerBroker, cores: set[int]) -> None:
        self.peer = peer
        self.cores = cores
        self.process: subprocess.Popen[bytes] | None = None
        self.host, self.port = peer.address or ("127.0.0.1", 0)
        self.pid = 0
        self.folder: tempfile.TemporaryDirectory[str] | None = None

    def __enter__(self) -> "RunningPeer":
        if self.peer.command is None:
            self.pid = proc.listening_pid(self.port) if self.host == "127.0.0.1" else 0
            return self
        self.folder = tempfile.TemporaryDirectory(prefix="gossamer-bench-")
        self.port = free_port()
        log = Path(self.folder.name, "log")
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                self.peer.command(self.port, Path(self.folder.name)),
                env={**os.environ, **self.peer.environment},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )
        self.pid = self.process.pid
        os.sched_setaffinity(self.pid, self.cores)
        try:
            self._wait_until_it_answers(log)
        except BaseException:
            self.__exit__()
            raise
        return self

    def _wait_until_it_answers(self, log: Path) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            if self.process is not None and self.process.poll() is not None:
                break
            try:
                close([open_link((self.host, self.port), "ready")])
                return
            except (OSError, GeneratorError):
                time.sleep(0.05)
        last_words = log.read_text(errors="replace").strip().splitlines()[-1:]
        raise GeneratorError(f"{self.peer.name} did not start: {' '.join(last_words)}")

    def __exit__(self, *_: object) -> None:
        if self.process is not None:
            self.process.terminate()
            try:
                self.process.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()
        if self.folder is not None:
            self.folder.cleanup()
