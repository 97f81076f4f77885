"""Guides show commands that exist, with options that exist; the first steps are run as shown."""

import os
import re
import signal
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer

from gossamer.cli.application import build
from gossamer.cli.commands import command_sets
from gossamer.net.local.ports import free_port
from tests.support.shown_commands import Shown, blocks_of, commands_of

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
SHOWN = [shown for page in PAGES for shown in commands_of(page)]
START = ROOT / "docs" / "start.md"
# A word that stands for what a reader puts there.
PLACEHOLDER = re.compile(r"^[A-Z][A-Z_…|]*$|…")


@pytest.fixture(scope="module")
def application() -> Any:
    return typer.main.get_command(build(command_sets()))


def test_there_are_commands_to_look_at() -> None:
    assert len(SHOWN) > 50


@pytest.mark.parametrize("shown", SHOWN, ids=str)
def test_the_command_can_be_called_so(application: Any, shown: Shown) -> None:
    command, words = application, list(shown.words)
    while words and words[0] in getattr(command, "commands", {}):
        command = command.commands[words.pop(0)]
    if hasattr(command, "commands") and words and not words[0].startswith("-"):
        assert PLACEHOLDER.search(words[0]), f"there is no {shown}"
        return
    known = {name for each in command.params for name in each.opts} | {"--help"}
    for word in words:
        if word == "--":
            break
        option = word.split("=", 1)[0]
        is_short_with_value = re.match(r"^-[A-Za-z]\S", word) and not word.startswith("--")
        if is_short_with_value:
            option = word[:2]
        if re.match(r"^--?[A-Za-z]", word):
            assert option in known, f"{shown}: no option {option}"


# The first steps, as a stranger does them --------------------------------------------------------


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Path, int]]:
    """A broker on a port of its own, and a `gossamer` in the path that knows it."""
    folder = tmp_path_factory.mktemp("start")
    port = free_port()
    tool = folder / "bin" / "gossamer"
    tool.parent.mkdir()
    tool.write_text(
        f'#!/bin/sh\ncommand="$1"; shift\nexec "{sys.executable}" -m gossamer "$command" '
        f'-p {port} "$@"\n'
    )
    tool.chmod(tool.stat().st_mode | stat.S_IXUSR)
    broker = subprocess.Popen(
        [sys.executable, "-m", "gossamer", "serve", "-p", str(port), "--data", str(folder / "d")],
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    assert broker.stdout is not None
    assert "listens" in broker.stdout.readline()
    yield folder, tool.parent, port
    os.killpg(broker.pid, signal.SIGTERM)
    broker.wait(30)


def steps() -> list[str]:
    """The blocks that publish: the others start what the test has started."""
    return [block for block in blocks_of(START) if "gossamer pub" in block]


EXPECTED = (
    "kitchen/temp 21",
    "$GT;30/oven/temp 180",
    "alerts/storm close the windows",
    "hello",
)


def test_every_step_has_its_expectation() -> None:
    assert len(steps()) == len(EXPECTED)


@pytest.mark.processes
@pytest.mark.parametrize(("number", "expected"), list(enumerate(EXPECTED)), ids=EXPECTED)
def test_the_step_does_what_it_says(
    place: tuple[Path, Path, int], number: int, expected: str
) -> None:
    folder, tools, _ = place
    # Time for a client to subscribe, on a machine that does other things too.
    script = steps()[number].replace("sleep 1", "sleep 5")
    done = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env=os.environ | {"PATH": f"{tools}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=100,
    )
    assert done.stdout.splitlines() == [expected], done.stderr
