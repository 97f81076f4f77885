"""`gossamer mesh` as a person runs it: the table, and no broker left behind, however it ends."""

import signal
import subprocess
from pathlib import Path

import pytest

from gossamer.cli import main
from tests.support.polling import eventually
from tests.support.processes import PATIENCE_SECONDS, command


def test_the_table() -> None:
    arguments = ("mesh", "--brokers", "3", "--topology", "star", "--memory", "--once")
    done = subprocess.run(
        command(*arguments), capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].startswith("the mesh is up, in mode ssf: b1 127.0.0.1:")
    rows = [line.split() for line in lines if "–" in line]
    assert [row[:4] for row in rows] == [["b1", "–", "b2", "yes"], ["b1", "–", "b3", "yes"]]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left_behind(tmp_path: Path, number: signal.Signals) -> None:
    arguments = ("mesh", "--brokers", "2", "--memory", "--data", str(tmp_path))
    process = subprocess.Popen(command(*arguments), stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert "is up" in process.stdout.readline()
    children = _children(process.pid)
    assert len(children) == 2
    process.send_signal(number)
    assert process.wait(PATIENCE_SECONDS) == (0 if number != signal.SIGKILL else -number)
    process.stdout.close()
    eventually(
        lambda: not any(_is_alive(child) for child in children), "a broker outlived the mesh"
    )


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(") ")[2]
    except (FileNotFoundError, ProcessLookupError):
        return False
    return not state.startswith("Z")  # one that nobody has waited for yet


def test_wrong_use(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["mesh", "--topology", "circle"]) == 2
    assert "linear, binary, star" in capsys.readouterr().err
    assert main.run(["mesh", "--mode", "magic"]) == 2
    assert main.run(["mesh", "--brokers", "0"]) == 2
