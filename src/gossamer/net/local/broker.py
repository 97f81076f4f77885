"""One broker process of a local mesh, on a folder and on ports that outlive it."""

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from gossamer.net.admin.client import AdminClient

STOP_SECONDS: Final = 15.0


class LocalMeshError(Exception):
    """A broker did not do its part; the text says which, and its last words."""


class LocalBroker:
    """Started, stopped, killed and started again."""

    def __init__(
        self,
        name: str,
        folder: Path,
        port: int,
        admin_port: int,
        token: str,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.folder = folder
        self.port = port
        self.admin_port = admin_port
        self.admin = AdminClient("127.0.0.1", admin_port, token)
        self.config = folder / "broker.toml"
        self._environment = environment
        self._log = folder / "broker.log"
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """0 while it does not run."""
        return 0 if self._process is None else self._process.pid

    def start(self) -> None:
        """Returns at once; the broker stops by itself if this process dies."""
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "gossamer", "serve", "--with-parent"),
                    *("--config", str(self.config)),
                ],
                env={**os.environ, **(self._environment or {})},
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                # Ctrl-C is for us; we stop it in our own way.
                start_new_session=True,
            )

    def check(self) -> None:
        """LocalMeshError if it has ended."""
        process = self._process
        if process is not None and process.poll() is not None:
            raise LocalMeshError(
                f"{self.name} exited unexpectedly ({process.returncode}): {self.last_words()}"
            )

    def last_words(self) -> str:
        lines = self._log.read_text(errors="replace").splitlines() if self._log.exists() else []
        return lines[-1] if lines else "it printed nothing"

    def ask_to_stop(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGTERM)

    def await_end(self) -> None:
        """After `ask_to_stop`; one that does not listen is killed."""
        process = self._process
        if process is None:
            return
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        assert process.stdin is not None
        process.stdin.close()
        self._process = None

    def stop(self) -> None:
        self.ask_to_stop()
        self.await_end()

    def kill(self) -> None:
        """As a power cut does it."""
        if self._process is not None:
            self._process.kill()
            self.await_end()

    def links(self) -> dict[str, dict[str, Any]]:
        """What the broker says of its links, by neighbour; AdminError if it does not answer."""
        answer = self.admin.call("GET", "/v1/mesh", {"limit": 1000})
        return {entry["neighbour"]: entry for entry in answer["entries"]}

    def tree(self) -> dict[str, int]:
        """How the broker sees the tree that the mesh uses; AdminError if it does not answer."""
        found: dict[str, int] = self.admin.call("GET", "/v1/mesh", {"limit": 1})["tree"]
        return found
