"""A Mosquitto that keeps its state on disk and can be stopped and started again."""

import subprocess
from pathlib import Path

import pytest

from gossamer.net.local.ports import free_port
from tests.support.polling import PATIENCE
from tests.support.processes import wait_for_port
from tests.support.running_broker import MOSQUITTO


class Mosquitto:
    """Open to everyone on this machine, on a port that stays."""

    def __init__(self, folder: Path) -> None:
        if MOSQUITTO is None:
            pytest.skip("mosquitto is not installed")
        self.port = free_port()
        self._program = MOSQUITTO
        self._folder = folder
        self._file = folder / "mosquitto.conf"
        self._process: subprocess.Popen[bytes] | None = None
        self.configure("allow_anonymous true")

    def configure(self, *lines: str) -> None:
        """Starts it anew with these lines."""
        self.stop()
        own = (
            f"listener {self.port} 127.0.0.1",
            "user root",
            "max_queued_messages 0",
            "persistence true",
            f"persistence_location {self._folder}/",
        )
        self._file.write_text("\n".join((*own, *lines, "")))
        self.start()

    def start(self) -> None:
        self._process = subprocess.Popen(
            [self._program, "-c", str(self._file)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_for_port(self.port, self._process)

    def stop(self) -> None:
        """It writes its state; may be called twice."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(PATIENCE)
            self._process = None
