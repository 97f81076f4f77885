"""Commands that packages bring: found by their entry point, missed with the way to get them."""

import shlex
import sys
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from gossamer.cli import commands, main
from gossamer.cli.commands import CommandSet, command_names, command_sets, wanted

ROOT = Path(__file__).parents[2]
GREETING = CommandSet("tests.cli.test_cli_commands", ("greet",))


def bring(monkeypatch: pytest.MonkeyPatch, *values: str) -> None:
    """These are the entry points that are installed, and nothing else."""
    found = [EntryPoint(value, value, commands.ENTRY_POINTS) for value in values]
    monkeypatch.setattr(commands, "entry_points", lambda group: found)


def test_a_package_brings_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    bring(monkeypatch, f"{__name__}:GREETING", "gossamer_lab.cli.commands:COMMANDS")
    names = command_names(command_sets())
    assert len(names) == len(set(names))
    assert {"serve", "greet", "bench brokers"} <= set(names)


@pytest.mark.parametrize("value", ["no_such_package:COMMANDS", "gossamer_lab.cli.commands:NOTHING"])
def test_a_package_that_does_not_load_is_as_if_not_there(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], value: str
) -> None:
    """Such as one whose files were removed by hand, or that is for another version."""
    bring(monkeypatch, value)
    assert main.run(["--help"]) == 0
    assert "part of gossamer-lab" in capsys.readouterr().out
    assert main.run(["sim", "torture", "--trials", "3"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("gossamer: sim is part of gossamer-lab, which is not installed: ")
    # In a checkout the way is the folder that has the laboratory's project.
    place = shlex.split(said)[-1]
    assert f"{sys.executable} -m pip install -e {place}" in said
    assert Path(place) == ROOT / "packaging" / "lab"


def test_a_command_of_the_product_waits_for_no_list_of_packages(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refuse(group: str) -> None:
        raise AssertionError("the list is slow to make where much is installed")

    monkeypatch.setattr(commands, "entry_points", refuse)
    assert command_names(wanted(["pub", "-t", "a"])) == ["pub"]
    assert set(command_names(wanted(["ctl", "--help"]))) == {
        name for name in commands.OWN.names if name.startswith("ctl ")
    }
