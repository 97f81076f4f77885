"""Real processes for tests: a broker on a free port, and commands beside it."""

import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gossamer.net.local.ports import free_port
from tests.support.polling import PATIENCE, eventually

PATIENCE_SECONDS = PATIENCE


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "gossamer", *arguments]


# Where the package is and whether its sources run: how these tests were started, not a setting.
KEPT_VARIABLES = ("HOME", "PATH", "PYTHONPATH", "GOSSAMER_PURE")


def scrubbed(**more: str) -> dict[str, str]:
    """An environment as a service manager gives it: nothing of the shell of whoever tests."""
    kept = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
    return {**kept, **more}


def wait_for_port(port: int, process: "subprocess.Popen[bytes]") -> None:
    def is_listening() -> bool:
        assert process.poll() is None, "the process ended before it listened"
        return listens(port)

    eventually(is_listening, f"nothing listens on {port}", PATIENCE_SECONDS)


def listens(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True


def stop(process: "subprocess.Popen[Any]", number: int = signal.SIGTERM) -> int:
    """Sends the signal and returns the exit code; kills what does not end."""
    if process.poll() is None:
        process.send_signal(number)
    try:
        return process.wait(PATIENCE_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        raise


@contextmanager
def running_broker(*arguments: str) -> Iterator[int]:
    """``gossamer serve`` in memory; yields its port."""
    port = free_port()
    process = subprocess.Popen(
        command("serve", "--port", str(port), "--memory", *arguments),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        env={**os.environ},
    )
    try:
        wait_for_port(port, process)
        yield port
    finally:
        stop(process)
