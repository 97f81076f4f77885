"""Continuous integration runs every step as in a shell that sets nothing."""

import os
import subprocess
from pathlib import Path

from tests.support.processes import PATIENCE_SECONDS

RUN = Path(__file__).parents[2] / ".ci" / "run"
KEPT = {"HOME", "PATH", "CI", "PIP_INDEX_URL", "https_proxy"}
ADDED_BY_THE_SHELL = {"PWD", "SHLVL", "_", "OLDPWD"}


def test_every_step_is_scrubbed(tmp_path: Path) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("mosquitto", "chromedriver"):  # they are there: nothing has to be fetched
        (programs / name).write_text("#!/bin/sh\n")
    (programs / "make").write_text(
        f'#!/bin/sh\necho "== $*" >> {tmp_path}/seen\nenv >> {tmp_path}/seen\n'
    )
    for program in programs.iterdir():
        program.chmod(0o755)
    done = subprocess.run(
        ["bash", str(RUN)],
        env={
            "HOME": str(tmp_path),
            "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
            "PYTHONUNBUFFERED": "1",
            "GOSSAMER_PURE": "1",
            "LC_ALL": "de_DE.UTF-8",
            "PIP_INDEX_URL": "https://index.example/simple",
            "https_proxy": "http://proxy.example",
        },
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
    )
    assert done.returncode == 0, done.stderr
    steps = (tmp_path / "seen").read_text().split("== ")[1:]
    told = [step.split("\n")[0] for step in steps]
    # What fails in seconds does not wait for the compiler; all tests are for what it made.
    assert told == ["lint", "test-pure", "compile COMPILE_ARGS=--require", "test"]
    for step in steps:
        names = {line.partition("=")[0] for line in step.splitlines()[1:]}
        assert names - ADDED_BY_THE_SHELL == KEPT
