"""The command line as a whole: exit codes, one-line errors, and that every command is there."""

import subprocess
import sys
from typing import Any

import pytest
import typer

from gossamer import __version__
from gossamer.cli import main
from gossamer.cli.application import build
from gossamer.cli.commands import command_names, command_sets

SETS = command_sets()
COMMANDS = command_names(SETS)
GROUPS = [group for each in SETS for group in each.groups]


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["--version"]) == 0
    assert capsys.readouterr().out == f"gossamer {__version__}\n"


@pytest.mark.parametrize("arguments", [["zork"], ["--zork"], ["zork", "--help"]])
def test_wrong_use_is_one_line_and_exit_code_2(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.run(arguments) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.count("\n") == 1
    assert "--help" in shown.err


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run(["--help"]) == 0
    shown = capsys.readouterr().out
    for command in COMMANDS:
        assert f"  {command.split()[0]} " in shown


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.run([*command.split(), "--help"]) == 0
    assert f"Usage: gossamer {command}" in capsys.readouterr().out


def test_module_starts_as_a_process() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "gossamer", "--version"], capture_output=True, text=True, timeout=60
    )
    assert (done.returncode, done.stdout) == (0, f"gossamer {__version__}\n")


def test_lists_of_commands_are_whole_and_values_have_a_word(
    capsys: pytest.CaptureFixture[str],
) -> None:
    for group in ([], *([name] for name in GROUPS)):
        assert main.run([*group, "--help"]) == 0
        assert "..." not in capsys.readouterr().out.replace("[ARGS]...", "")
    assert main.run(["pub", "--help"]) == 0
    shown = capsys.readouterr().out
    assert "--repeat-delay DELAY" in shown
    assert "range>" not in shown


def test_every_option_is_explained() -> None:
    def check(command: Any) -> None:
        for below in getattr(command, "commands", {}).values():
            check(below)
        for parameter in command.params:
            assert parameter.help, f"{command.name} {parameter.name}"

    check(typer.main.get_command(build(SETS)))
