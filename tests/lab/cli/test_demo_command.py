"""``gossamer demo``: brokers that look like one, lines to paste that work, nothing left behind."""

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from gossamer.net.local.ports import free_port, free_ports
from gossamer_lab.demo.processes import CityProcesses
from tests.support.polling import eventually
from tests.support.processes import PATIENCE_SECONDS, command, stop


def variables_of(file: Path) -> dict[str, str]:
    """What a shell that reads the file exports, but for its path."""
    words = [line.removeprefix("export ").partition("=") for line in file.read_text().splitlines()]
    return {name: value.strip('"') for name, _, value in words if name != "PATH"}


def test_the_shown_lines_work_until_it_is_stopped(tmp_path: Path) -> None:
    port = min(free_ports(40))
    process = subprocess.Popen(
        command(
            *("demo", "--no-spark", "--no-console", "--share", "0.05"),
            *("--port", str(port), "--data", str(tmp_path / "city")),
        ),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    shown: list[str] = []
    while not any("until Ctrl-C" in line for line in shown):
        line = process.stdout.readline()
        assert line, shown
        shown.append(line)
    lines = [line.strip() for line in shown if line.startswith("    gossamer ")]
    (variables,) = (line.split()[1] for line in shown if line.startswith("    . "))
    known = {**os.environ, **variables_of(Path(variables))}
    average, above, fire, buses, links = (
        shlex.split(line.replace("$MARKET", known["MARKET"]).removeprefix("gossamer "))
        for line in lines
    )
    ports = [int(found) for found in re.findall(r"\d+", shown[0])[4:7]]
    for arguments in ([*average, "-C", "1"], links):
        done = subprocess.run(
            command(*arguments),
            env=known,
            capture_output=True,
            text=True,
            timeout=PATIENCE_SECONDS,
        )
        assert done.returncode == 0, done.stderr
        assert done.stdout
    seen = tmp_path / "above"
    with seen.open("w") as output:
        watching = subprocess.Popen(command(*above), stdout=output)

    def is_seen() -> bool:
        subprocess.run(command(*fire), check=True, timeout=PATIENCE_SECONDS)
        return "$GT;60/city/fire/temp 90\n" in seen.read_text()

    eventually(is_seen, "nobody saw the fire", 2 * PATIENCE_SECONDS)
    stop(watching)
    assert set(seen.read_text().splitlines()) == {"$GT;60/city/fire/temp 90"}
    assert Path(buses[buses.index("--area") + 1]).exists()
    process.send_signal(signal.SIGINT)
    out, errors = process.communicate(timeout=PATIENCE_SECONDS)
    assert stop(process) == 0, errors
    assert "Everything has stopped." in out
    for one in ports:
        with socket.socket() as probe:
            assert probe.connect_ex(("127.0.0.1", one)) != 0


def test_a_taken_port_is_named_with_the_way_out() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for asked in (("demo", "--no-spark", "--no-console"), ("mesh", "--brokers", "1", "--once")):
            done = subprocess.run(
                command(*asked, "--port", str(port)),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=PATIENCE_SECONDS,
            )
            assert done.returncode == 1
            assert f"port {port} is taken" in done.stderr
            assert "--port" in done.stderr


def test_what_a_town_started_ends_with_it_although_it_does_not_listen(tmp_path: Path) -> None:
    city = CityProcesses(tmp_path, 0, is_kept=False)
    deaf = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(flush=True)"
    started = subprocess.Popen(
        [sys.executable, "-c", f"{deaf}; time.sleep({10 * PATIENCE_SECONDS})"],
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    with city:
        city._parts.append(started)
        assert started.stdout is not None
        started.stdout.readline()
    assert started.returncode == -signal.SIGKILL


def test_a_command_without_a_loop_ends_with_its_input() -> None:
    waiting = "import time; from gossamer.cli.signals import end_with_input as end; end(); "
    process = subprocess.Popen(
        [sys.executable, "-c", f"{waiting} time.sleep({10 * PATIENCE_SECONDS})"],
        stdin=subprocess.PIPE,
    )
    assert process.stdin is not None
    process.stdin.close()
    assert process.wait(PATIENCE_SECONDS) == -signal.SIGTERM


# One broker -------------------------------------------------------------------------------------


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
