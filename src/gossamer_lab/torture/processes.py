"""Processes of a run: started with a log each, killed without a word, and started again."""

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from gossamer.net.local.ports import free_port

START_SECONDS: Final = 30.0
STOP_SECONDS: Final = 30.0
# Of /proc/PID/stat, behind the name.
_PARENT: Final = 1


class BrokerDied(Exception):
    """The broker ended by itself, or did not come up: that is a fault too."""


class Program:
    """One process and its log; it can be started again."""

    def __init__(
        self, command: Sequence[str], log: Path, environment: Mapping[str, str] | None = None
    ) -> None:
        self.log = log
        self._command = command
        self._environment = {**os.environ, **(environment or {})}
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self.log.open("ab") as output:
            self._process = subprocess.Popen(
                self._command,
                cwd=self.log.parent,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
            )

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def exit_code(self) -> int | None:
        """None while it runs."""
        assert self._process is not None
        return self._process.poll()

    def kill(self) -> bool:
        """As a power cut does it, with all that it has started."""
        assert self._process is not None
        for pid in [self.pid, *below(self.pid)]:
            kill(pid)
        self._process.wait()
        return True

    def stop(self) -> bool:
        """As an administrator does it. False if it did not listen and was killed; never started is
        fine."""
        if self._process is None:
            return True
        children = below(self.pid)
        self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS)
            has_listened = True
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
            has_listened = False
        for pid in children:
            kill(pid)
        return has_listened

    def said(self) -> str:
        return self.log.read_text(errors="replace")

    def last_words(self) -> str:
        lines = self.said().strip().splitlines()
        return lines[-1] if lines else "it said nothing"


class BrokerProcess:
    """A real broker: started, killed and started again on the same port and folder. It has a
    `configuration`, of which the port and `fields` are filled in, or else just a store."""

    def __init__(
        self, folder: Path, sync: str = "full", configuration: str = "", **fields: Any
    ) -> None:
        self.port = free_port()
        self.url = f"mqtt://127.0.0.1:{self.port}"
        folder.mkdir(parents=True, exist_ok=True)
        options = ["--port", str(self.port), "--data", str(folder), "--sync", sync]
        if configuration:
            file = folder / "gossamer.toml"
            file.write_text(configuration.format(port=self.port, **fields))
            options = ["--config", str(file)]
        command = [sys.executable, "-m", "gossamer", "serve", *options]
        self._program = Program(command, folder / "broker.log")
        self._is_up = False

    @property
    def pid(self) -> int:
        return self._program.pid

    async def start(self) -> None:
        self._program.start()
        self._is_up = True
        deadline = time.monotonic() + START_SECONDS
        while not await self._listens():
            if time.monotonic() > deadline:
                raise BrokerDied(f"the broker did not come up: {self._program.last_words()}")
            await asyncio.sleep(0.01)

    async def kill(self) -> None:
        await self._end(self._program.kill)

    async def stop(self) -> None:
        await self._end(self._program.stop)

    async def _end(self, end: Callable[[], bool]) -> None:
        if not self._is_up:
            return
        self._check_alive()
        self._is_up = False
        if not await asyncio.to_thread(end):
            raise BrokerDied("the broker did not stop when it was asked to")

    async def _listens(self) -> bool:
        self._check_alive()
        try:
            _, writer = await asyncio.open_connection("127.0.0.1", self.port)
        except OSError:
            return False
        writer.close()
        return True

    def _check_alive(self) -> None:
        code = self._program.exit_code
        if code is not None:
            self._is_up = False
            raise BrokerDied(f"the broker ended by itself ({code}): {self._program.last_words()}")


def kill(pid: int) -> None:
    try:
        os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:
        pass  # it was quicker


def below(pid: int) -> list[int]:
    """All processes that this one has started, and those that these have."""
    children: dict[int, list[int]] = {}
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rpartition(")")[2].split()[_PARENT])
        except OSError:
            continue  # it has just ended
        children.setdefault(parent, []).append(int(stat.parent.name))
    found: list[int] = []
    waiting = [pid]
    while waiting:
        mine = children.get(waiting.pop(), [])
        found += mine
        waiting += mine
    return found


def command_of(pid: int) -> str:
    """Its command line; empty if it is gone."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    except OSError:
        return ""
