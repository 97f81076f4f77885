"""Shell completion: what bash really offers after the script is sourced."""

import shutil
import subprocess
from pathlib import Path

import pytest

from gossamer.cli.completing import fish, words_of, zsh
from gossamer.cli.main import COMMANDS, build, run


@pytest.fixture(scope="module")
def script(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from gossamer.cli.completing import bash

    file = tmp_path_factory.mktemp("completion") / "gossamer.bash"
    file.write_text(bash(words_of(build(COMMANDS))))
    return file


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["se"], ["serve"]),
        (["bench", "brok"], ["brokers"]),
        (["pub", "-t", "a/b", "--user"], ["--user-property", "--username"]),
        (["ctl", "mesh-f"], ["mesh-forget"]),
        (["no-such-command", "serv"], ["serve"]),
    ],
)
def test_bash_offers(script: Path, words: list[str], offered: list[str]) -> None:
    line = " ".join(f"'{word}'" for word in ["gossamer", *words])
    code = (
        f"source '{script}'; COMP_WORDS=({line}); COMP_CWORD={len(words)}; _gossamer; "
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "--norc", "-c", code], capture_output=True, text=True, timeout=30, check=True
    )
    assert done.stdout.split() == offered


def test_every_command_is_completed_in_every_shell() -> None:
    words = words_of(build(COMMANDS))
    for command in COMMANDS:
        assert command in words
        assert command.split()[-1] in fish(words)
    assert zsh(words).startswith("autoload")


def test_an_unknown_shell_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["completion", "tcsh"]) == 2
    assert "tcsh" in capsys.readouterr().err
