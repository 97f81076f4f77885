"""The product's wheel alone: a broker starts, every command answers, the laboratory's say the way.

And with the laboratory's wheel beside it, its commands are there.
"""

import signal
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gossamer import __version__
from gossamer.cli.commands import LAB_COMMANDS, OWN
from gossamer.net.local.ports import free_port
from gossamer_lab.cli.commands import COMMANDS as LAB
from tests.support.fresh_venv import FreshVenv
from tests.support.processes import stop, wait_for_port
from tools.build_wheels import lab_wheel, pure_wheel

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def alone(tmp_path_factory: pytest.TempPathFactory) -> FreshVenv:
    made = FreshVenv(tmp_path_factory.mktemp("alone"))
    made.install(pure_wheel(tmp_path_factory.mktemp("wheels")))
    return made


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> FreshVenv:
    made = FreshVenv(tmp_path_factory.mktemp("both"))
    wheels = tmp_path_factory.mktemp("wheels")
    made.install(pure_wheel(wheels))
    made.install(lab_wheel(wheels))
    return made


@contextmanager
def broker(place: FreshVenv, folder: Path) -> Iterator[int]:
    port = free_port()
    process = subprocess.Popen(
        [str(place.folder / "bin" / "gossamer"), "serve", "-p", str(port), "--data", "data"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        env=place.environment(folder),
        cwd=folder,
    )
    try:
        wait_for_port(port, process)
        yield port
        assert stop(process, signal.SIGTERM) == 0
    finally:
        if process.poll() is None:
            stop(process, signal.SIGKILL)


def test_nothing_of_the_laboratory_is_there(alone: FreshVenv, tmp_path: Path) -> None:
    code = "import importlib.util as u; print(u.find_spec('gossamer_lab'))"
    done = subprocess.run(
        [str(alone.python), "-c", code],
        env=alone.environment(tmp_path),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout == "None\n", done.stderr


def test_a_broker_starts_and_keeps_what_it_took(alone: FreshVenv, tmp_path: Path) -> None:
    with broker(alone, tmp_path) as port:
        sent = alone.run(
            *("pub", "-p", str(port), "-t", "a/b", "-m", "hello", "-q", "1", "-r"), cwd=tmp_path
        )
        assert (sent.returncode, sent.stderr) == (0, "")
    with broker(alone, tmp_path) as port:
        got = alone.run("sub", "-p", str(port), "-t", "a/#", "-C", "1", "-v", cwd=tmp_path)
        assert (got.returncode, got.stdout) == (0, "a/b hello\n"), got.stderr
    checked = alone.run("store", "check", "--data", "data", cwd=tmp_path)
    assert checked.returncode == 0, checked.stderr


# Every command of the product, and how it is called so that it comes to an end by itself. What
# needs an extra or a running service says so in one line and fails: 1, or 2 if asked wrongly.
CALLS: dict[str, tuple[list[str], int]] = {
    "serve": (["--config", "missing.toml"], 2),
    "mesh": (["--topology", "circle"], 2),
    "pub": (["-t", "a/+", "-m", "x"], 2),
    "sub": (["-t", "a/#/b"], 2),
    "console": ([], 1),
    "check": (["empty.toml"], 0),
    "passwd": (["passwords", "ann"], 2),
    "migrate mosquitto": (["empty.conf"], 0),
    "completion": (["bash"], 0),
    "models install": (["no-such-model"], 2),
    "models list": ([], 0),
    "models verify": ([], 1),
    "mesh-key": (["key"], 0),
    "ctl reload": ([], 1),
    "ctl sessions": ([], 1),
    "ctl subscriptions": ([], 1),
    "ctl retained": ([], 1),
    "ctl loop": ([], 1),
    "ctl memory": ([], 1),
    "ctl backup": (["folder"], 1),
    "ctl disconnect": (["somebody"], 1),
    "ctl mesh": ([], 1),
    "ctl mesh-forget": (["somebody"], 1),
    "ctl mesh-mode": (["sf"], 1),
    "ctl mesh-choices": ([], 1),
    "ctl mesh-interests": ([], 1),
    "ctl mesh-windows": ([], 1),
    "ctl peer": (["add", "127.0.0.1:1"], 1),
    "ctl place": (["remove", "yard"], 1),
    "ctl places": ([], 1),
    "store check": (["--data", "missing"], 1),
    "store repair": (["--data", "missing"], 1),
    "store export": (["--data", "missing"], 1),
    "archive info": (["missing"], 1),
    "archive cat": (["missing"], 1),
    "archive verify": (["missing"], 1),
    "pipeline list": ([], 1),
    "pipeline run": (["lake"], 1),
    "pipeline offload": ([], 1),
    "pipeline convert": ([], 1),
}


def test_every_command_of_the_product_is_called() -> None:
    assert set(CALLS) == set(OWN.names)


@pytest.mark.parametrize("command", CALLS)
def test_it_answers(alone: FreshVenv, tmp_path: Path, command: str) -> None:
    (tmp_path / "empty.toml").write_text("")
    (tmp_path / "empty.conf").write_text("")
    arguments, code = CALLS[command]
    done = alone.run(*command.split(), *arguments, cwd=tmp_path)
    assert "Traceback" not in done.stderr, done.stderr
    assert done.returncode == code, done.stderr
    assert done.stderr.count("\n") == (1 if code else 0), done.stderr


@pytest.mark.parametrize(
    "arguments", [["demo"], ["demo", "--one"], ["bench", "brokers", "--quick"], ["sim", "--seed=1"],
                  ["torture", "soak"], ["experiment", "run", "all"]]
)  # fmt: skip
def test_a_command_of_the_laboratory_says_how_to_get_it(
    alone: FreshVenv, tmp_path: Path, arguments: list[str]
) -> None:
    done = alone.run(*arguments, cwd=tmp_path)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr.startswith(f"gossamer: {arguments[0]} is part of gossamer-lab")
    assert f"{alone.python} -m pip install gossamer-lab=={__version__}" in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_help_lists_them_all_the_same(alone: FreshVenv, tmp_path: Path) -> None:
    shown = alone.run("--help", cwd=tmp_path).stdout
    for name in (*OWN.names, *LAB_COMMANDS):
        assert f"\n  {name.split()[0]} " in shown
    assert f"pip install gossamer-lab=={__version__}" in " ".join(
        alone.run("bench", "brokers", "--help", cwd=tmp_path).stdout.split()
    )


def test_the_line_that_it_says_works(both: FreshVenv, tmp_path: Path) -> None:
    """The wheel is what that line installs; here it comes from a folder."""
    assert "not installed" not in both.run("--help", cwd=tmp_path).stdout
    for command in LAB.names:  # with none of the extras
        shown = both.run(*command.split(), "--help", cwd=tmp_path)
        assert shown.returncode == 0, shown.stderr
        assert shown.stdout.startswith(f"Usage: gossamer {command} ")
    shown = both.run("demo", "--one", "--port", "0", "--seconds", "2", cwd=tmp_path)
    assert shown.returncode == 0, shown.stderr
    assert "listens on 127.0.0.1" in shown.stdout


def test_all_of_the_laboratorys_commands_are_known_to_the_product() -> None:
    assert {name.split()[0] for name in LAB.names} == set(LAB_COMMANDS)
