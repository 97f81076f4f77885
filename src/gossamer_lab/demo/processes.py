"""The city as processes: three brokers, the console, a Spark pipeline; all in one folder.

What is not installed is left out, and said.
"""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Final

from gossamer.cli.console import CODE_VARIABLE, sign_in_link
from gossamer.net.local.broker import LocalMeshError
from gossamer.net.local.mesh import LocalMesh, LocalMeshPlan
from gossamer.net.local.ports import free_ports, is_free
from gossamer_lab.demo.city_map import DISTRICTS, write_fences

STOP_SECONDS: Final = 20.0
# The port that clients try first: then no command needs to name one.
PREFERRED_PORT: Final = 1883
# Of the pipeline: soon enough to be seen, seldom enough to leave the cores to the brokers.
PIPELINE_PAUSE: Final = "15 s"

_ARCHIVE: Final = """
[archive]
filters = ["city/#"]
replay_port = {port}
segment_age = "2 min"
"""

# Part → the module that it cannot do without, and what installs it.
_NEEDS: Final = {
    "archive": ("pyarrow", "data"),
    "console": ("nicegui", "console"),
    "pipeline": ("pyspark", "spark"),
}


def missing(part: str) -> str:
    """Why a part of the demonstration is not there; "" if it is."""
    module, extra = _NEEDS[part]
    if find_spec(module) is not None:
        return ""
    return f"without the {part}: it needs pip install 'gossamer[{extra}]'"


def first_port(count: int, wish: int | None) -> int:
    """Of so many in a row: the wish, or what clients try first; 0 for any that are free."""
    port = PREFERRED_PORT if wish is None else wish
    taken = [one for one in range(port, port + count) if port and not is_free(one)]
    if taken and wish is not None:
        raise LocalMeshError(f"port {taken[0]} is taken or not allowed: choose another with --port")
    return 0 if taken else port


class CityProcesses:
    """Use it in a `with`: whatever happens, no process is left behind."""

    def __init__(self, folder: Path, port: int | None = None, *, is_kept: bool = True) -> None:
        self.folder = folder
        self._is_kept = is_kept
        self.lake = folder / "lake"
        self.fences = write_fences(folder)
        brokers = len(DISTRICTS)
        port = first_port(brokers, port)
        # A ring, so that a link can be cut and nobody misses anything.
        self.mesh = LocalMesh(folder, LocalMeshPlan(brokers, "ring", "ssf", port, False, 2))
        ports = free_ports(brokers + 1)
        self.replay_ports = ports[:brokers]
        self.console_port = ports[brokers]
        self._token = (folder / "admin.token").read_text().strip()
        self.code = secrets.token_urlsafe(12)
        if not missing("archive"):
            for broker, replay in zip(self.mesh.brokers, self.replay_ports, strict=True):
                text = broker.config.read_text() + _ARCHIVE.format(port=replay)
                broker.config.write_text(text)
        self._parts: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> CityProcesses:
        return self

    def __exit__(self, *_: object) -> None:
        for part in self._parts:
            # A folder that is thrown away needs no last batch, which can take long.
            part.send_signal(signal.SIGTERM) if self._is_kept else _kill(part)
        for part in self._parts:
            try:
                part.wait(STOP_SECONDS)
            except subprocess.TimeoutExpired:
                _kill(part)
                part.wait()
        self.mesh.stop()

    def write_environment(self) -> Path:
        """What commands in another terminal need to know: a file for a shell to read."""
        commands = Path(sys.executable).parent
        values = {
            "PATH": f"{commands}:$PATH",
            "GOSSAMER_ADMIN_URL": f"http://127.0.0.1:{self.mesh.brokers[0].admin_port}",
            "GOSSAMER_ADMIN_TOKEN": self._token,
            "MARKET": str(self.folder / "market.geojson"),
        }
        file = self.folder / "env"
        file.touch(0o600)  # the token is nobody else's
        file.write_text("".join(f'export {name}="{value}"\n' for name, value in values.items()))
        return file

    @property
    def urls(self) -> list[str]:
        """Of the brokers, in the order of the districts."""
        return [f"mqtt://127.0.0.1:{broker.port}" for broker in self.mesh.brokers]

    def start_brokers(self, report: Callable[[str], None]) -> None:
        """Returns when every link stands."""
        self.mesh.start(report)

    def start_console(self) -> str:
        """Its address, with what signs in once."""
        options = [f"--config={broker.config}" for broker in self.mesh.brokers]
        self._start(
            "console",
            *("console", "--with-parent", f"--port={self.console_port}", f"--lake={self.lake}"),
            *("--controls", *options),
            environment={CODE_VARIABLE: self.code},
        )
        return sign_in_link(f"http://127.0.0.1:{self.console_port}", self.code)

    def start_pipeline(self) -> None:
        """From the archives to tables; it takes a while to begin."""
        brokers = ",".join(f"127.0.0.1:{port}" for port in self.replay_ports)
        self._start(
            "pipeline",
            *("pipeline", "run", "lake", f"--brokers={brokers}", f"--lake={self.lake}"),
            *(f"--every={PIPELINE_PAUSE}", "--with-parent"),
        )

    def gold_files(self) -> int:
        """How much of the last tables is there."""
        return sum(1 for _ in self.lake.glob("gold*/**/*.parquet"))

    def ended(self) -> str:
        """The first part that ended by itself, with its last words; "" if none has."""
        for part in self._parts:
            if part.poll() is not None:
                name = str(part.args[3]) if isinstance(part.args, list) else ""
                log = self.folder / f"{name}.log"
                lines = log.read_text(errors="replace").strip().splitlines()
                return f"the {name} ended: {lines[-1] if lines else 'it said nothing'}"
        return ""

    def _start(
        self, name: str, *arguments: str, environment: Mapping[str, str] | None = None
    ) -> None:
        with (self.folder / f"{name}.log").open("wb") as log:
            self._parts.append(
                subprocess.Popen(
                    [sys.executable, "-m", "gossamer", *arguments],
                    env={**os.environ, **(environment or {})},
                    stdin=subprocess.PIPE,
                    stdout=log,
                    stderr=log,
                    # Ctrl-C is for us; we stop it in our own way.
                    start_new_session=True,
                )
            )


def _kill(part: subprocess.Popen[bytes]) -> None:
    """With what it started (Java, for one): each part leads a group of its own."""
    if part.poll() is None:
        os.killpg(part.pid, signal.SIGKILL)
