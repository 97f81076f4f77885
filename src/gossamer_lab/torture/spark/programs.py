"""Processes of a run: started with a log each, found below one another, killed without a word."""

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

STOP_SECONDS: Final = 30.0
# Of /proc/PID/stat, behind the name.
_PARENT: Final = 1


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

    def kill(self) -> None:
        """With all that it has started."""
        assert self._process is not None
        for pid in [self.pid, *below(self.pid)]:
            kill(pid)
        self._process.wait()

    def stop(self) -> None:
        """As an administrator does it; what does not listen is killed. Never started is fine."""
        if self._process is None:
            return
        children = below(self.pid)
        self._process.terminate()
        try:
            self._process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for pid in children:
            kill(pid)

    def said(self) -> str:
        return self.log.read_text(errors="replace")

    def last_words(self) -> str:
        lines = self.said().strip().splitlines()
        return lines[-1] if lines else "it said nothing"


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
