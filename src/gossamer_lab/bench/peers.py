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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

from gossamer import __version__
from gossamer.net.local.ports import free_port
from gossamer_lab.bench.load.client import GeneratorError, LoadClient, close
from gossamer_lab.bench.measurement import BenchTarget
from gossamer_lab.bench.processes import listening_pid

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

    @contextmanager
    def running(self, cores: set[int]) -> Iterator[BenchTarget]:
        """GeneratorError if it does not start; its last words say why."""
        if self.command is None:
            host, port = self.address or ("", 0)
            yield BenchTarget(host, port, (listening_pid(port) if host == "127.0.0.1" else 0,))
            return
        with tempfile.TemporaryDirectory(prefix="gossamer-bench-") as folder:
            port = free_port()
            log = Path(folder, "log")
            with log.open("wb") as output:
                process = subprocess.Popen(
                    self.command(port, Path(folder)),
                    env={**os.environ, **self.environment},
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                )
            try:
                os.sched_setaffinity(process.pid, cores)
                self._wait_until_it_answers(process, port, log)
                yield BenchTarget("127.0.0.1", port, (process.pid,))
            finally:
                _stop(process)

    def _wait_until_it_answers(
        self, process: subprocess.Popen[bytes], port: int, log: Path
    ) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline and process.poll() is None:
            try:
                close([LoadClient(("127.0.0.1", port), "ready")])
                return
            except (OSError, GeneratorError):
                time.sleep(0.05)
        last_words = log.read_text(errors="replace").strip().splitlines()[-1:]
        raise GeneratorError(f"{self.name} did not start: {' '.join(last_words)}")


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.terminate()
    try:
        process.wait(STOP_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


SERVE = (sys.executable, "-m", "gossamer", "serve")


def _in_memory(port: int, _: Path) -> list[str]:
    return [*SERVE, "--port", str(port), "--memory"]


def _on_disk(port: int, folder: Path) -> list[str]:
    return [*SERVE, "--port", str(port), "--data", str(folder / "data"), "--sync", "full"]


def gossamer(*, pure: bool = False) -> PeerBroker:
    environment = {"GOSSAMER_PURE": "1" if pure else "0"}
    return PeerBroker("gossamer-pure" if pure else "gossamer", __version__, _in_memory, environment)


def durable_gossamer() -> PeerBroker:
    """With every acknowledged message on disk, synchronised before the acknowledgement."""
    return PeerBroker("gossamer", __version__, _on_disk)


def configured_gossamer(configuration: str, name: str = "gossamer") -> PeerBroker:
    """With a configuration, in which ``{port}`` stands for the port."""
    return PeerBroker(
        name, __version__, with_file("gossamer.toml", configuration, *SERVE, "--config")
    )


def with_file(name: str, text: str, *command: str) -> Callable[[int, Path], list[str]]:
    """A command whose last argument is a file that it needs."""

    def started(port: int, folder: Path) -> list[str]:
        file = folder / name
        file.write_text(text.replace("{port}", str(port)))
        return [*command, str(file)]

    return started


def checkout(root: Path, *, durable: bool = False) -> PeerBroker:
    """The broker of another checkout, on this Python: what did a change or a compiler cost?"""
    command = _on_disk if durable else _in_memory
    return PeerBroker(checkout_name(root), "", command, checkout_environment(root))


def checkout_name(root: Path) -> str:
    return f"gossamer in {root.resolve().name}"


def checkout_environment(root: Path) -> dict[str, str]:
    """With which processes of this Python are that checkout's; ValueError if it is none."""
    sources = root.resolve() / "src"
    if not (sources / "gossamer").is_dir():
        raise ValueError(f"--beside {root}: there is no src/gossamer in it")
    return {"PYTHONPATH": str(sources), "GOSSAMER_PURE": "0"}


def mosquitto(more: str = "") -> PeerBroker | None:
    """``more`` is added to its configuration; None where it is not installed."""
    program = shutil.which("mosquitto", path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if program is None:
        return None
    told = subprocess.run([program, "-h"], capture_output=True, text=True, check=False).stdout
    version = re.search(r"version (\S+)", told)
    command = with_file("mosquitto.conf", MOSQUITTO_CONFIGURATION + more, program, "-c")
    return PeerBroker("mosquitto", version[1] if version else "", command)


def amqtt() -> PeerBroker | None:
    try:
        version = metadata.version("amqtt")
    except metadata.PackageNotFoundError:
        return None
    start = (sys.executable, "-m", "amqtt.scripts.broker_script", "-c")
    command = with_file("amqtt.yaml", AMQTT_CONFIGURATION, *start)
    return PeerBroker("amqtt", version, command)


def bare_loop() -> PeerBroker:
    """No broker: the system calls of one message a read, and nothing else."""
    module = "gossamer_lab.bench.bare_loop"
    return PeerBroker("bare epoll", "", lambda port, _: [sys.executable, "-m", module, str(port)])


def bare_relay(next_port: int) -> PeerBroker:
    """One before that in a line: the same system calls, to the next and back."""
    module = "gossamer_lab.bench.bare_relay"
    return PeerBroker(
        "bare epoll",
        "",
        lambda port, _: [sys.executable, "-m", module, str(port), str(next_port)],
    )


def present(*found: PeerBroker | None) -> list[PeerBroker]:
    """Those that are installed."""
    return [peer for peer in found if peer is not None]


def installed() -> list[PeerBroker]:
    return present(mosquitto(), amqtt())


def parse(text: str) -> PeerBroker:
    """``NAME=HOST:PORT``, or ``NAME=COMMAND`` with ``{port}`` where the port goes."""
    name, _, what = text.partition("=")
    host, colon, port = what.rpartition(":")
    if name and "{port}" in what:
        return PeerBroker(name, "", lambda port, _: shlex.split(what.replace("{port}", str(port))))
    if name and colon and port.isdigit():
        return PeerBroker(name, address=(host or "127.0.0.1", int(port)))
    raise ValueError(f"--peer {text}: write NAME=HOST:PORT, or NAME='COMMAND {{port}}'")
