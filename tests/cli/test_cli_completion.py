"""Shell completion: what bash really offers after the script is sourced."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from gossamer.cli.commands import command_names, command_sets
from gossamer.cli.completion import ASKING, SHELLS
from gossamer.cli.main import run


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """With the script of bash, and `gossamer` as these sources have it."""
    where = tmp_path_factory.mktemp("completion")
    program = where / "gossamer"
    program.write_text(
        f"#!{sys.executable}\nimport sys\nsys.path[:0] = {[path for path in sys.path if path]}\n"
        "from gossamer.cli.main import main\nmain()\n"
    )
    program.chmod(0o755)
    script = subprocess.run(
        [program, "completion", "bash"], capture_output=True, timeout=60, check=True
    )
    (where / "script").write_bytes(script.stdout)
    return where


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["se"], ["serve"]),
        (["bench", "brok"], ["brokers"]),
        (["pub", "-t", "a/b", "--user"], ["--user-property", "--username"]),
        (["ctl", "mesh-f"], ["mesh-forget"]),
        (["mesh"], ["mesh", "mesh-key"]),
        (["no-such-command", "serv"], ["serve"]),
    ],
)
def test_bash_offers(folder: Path, words: list[str], offered: list[str]) -> None:
    line = " ".join(f"'{word}'" for word in ["gossamer", *words])
    code = (
        f"source '{folder}/script'; COMP_WORDS=({line}); COMP_CWORD={len(words)}; "
        f"$(complete -p gossamer | grep -o '_[^ ]*') '{folder}/gossamer'; "
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "--norc", "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert sorted(done.stdout.split()) == offered


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_every_command_is_completed(
    shell: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv(ASKING, f"complete_{shell}")
    monkeypatch.setenv("_TYPER_COMPLETE_FISH_ACTION", "get-args")
    offered: dict[str, str] = {}
    for command in command_names(command_sets()):
        group, _, name = command.rpartition(" ")
        if group not in offered:
            monkeypatch.setenv("_TYPER_COMPLETE_ARGS", f"gossamer {group} ".replace("  ", " "))
            with pytest.raises(SystemExit, match="0"):
                run([])
            offered[group] = capsys.readouterr().out
        assert name in offered[group]


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_has_a_script(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["completion", shell]) == 0
    assert f"complete_{shell}".removesuffix("pwsh") in capsys.readouterr().out


def test_an_unknown_shell_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["completion", "tcsh"]) == 2
    assert "tcsh" in capsys.readouterr().err
