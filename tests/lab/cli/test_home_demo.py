"""``gossamer demo`` shows messages, ends on Ctrl-C, and leaves no broker behind."""

import signal
import socket
import subprocess

import pytest

from gossamer.net.local.ports import free_port
from tests.support.processes import PATIENCE_SECONDS, command, stop


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_prints_until_it_is_stopped(number: int) -> None:
    port = free_port()
    process = subprocess.Popen(
        command("demo", "--one", "--port", str(port), "--interval", "0.01"),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    shown = b""
    while b"$GT;23/home/garage/temperature" not in shown:
        line = process.stdout.readline()
        assert line, shown
        shown += line
    assert f"listens on 127.0.0.1:{port}".encode() in shown
    process.send_signal(number)
    out, errors = process.communicate(timeout=PATIENCE_SECONDS)
    assert stop(process) == 0
    assert errors == b""
    assert b"The broker has stopped." in out
    with pytest.raises(OSError, match="refused"):
        socket.create_connection(("127.0.0.1", port), timeout=5)


def test_a_taken_port_is_one_line_and_exit_code_1() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        done = subprocess.run(
            command("demo", "--one", "--port", str(other.getsockname()[1])),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=PATIENCE_SECONDS,
        )
    assert done.returncode == 1
    assert b"choose another with --port" in done.stderr
    assert done.stderr.count(b"\n") == 1
