"""Sets `.venv` up with what a target of make needs: `run` the product and its demonstration, `test`
also what tests, lint and guides need.

    python3 tools/set_up.py run
    python3 tools/set_up.py test

Nothing is done where that was installed from the same two pyproject files before. uv installs, in a
minute or so, with what pip is configured to use; where uv cannot be had, or does not manage, pip
does it. Needs nothing but the standard library: it is run by the Python that `.venv` is made with.
"""

from __future__ import annotations

import argparse
import ast
import hashlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
OLDEST = (3, 11)
DONE = ".set-up"  # in .venv: a line for each part that is installed, with what it was made from

PROJECTS = ("pyproject.toml", "packaging/lab/pyproject.toml")
RUN = "run"
TEST = "test"
# Extras of the product and of the laboratory.
PARTS = {
    RUN: ("build", "demo"),
    TEST: ("build,docs,lint,test,trace", "bench,demo,experiments"),
}
SIZES = {RUN: "running", TEST: "running and testing"}

# pip's settings, and the options of uv that mean the same. A setting with spaces is a list.
OPTIONS = {
    "index-url": "--index-url",
    "extra-index-url": "--extra-index-url",
    "find-links": "--find-links",
    "trusted-host": "--allow-insecure-host",
    "constraint": "--constraint",
}
FLAGS = {"no-index": "--no-index", "no-cache-dir": "--no-cache"}
VARIABLES = {
    "cert": "SSL_CERT_FILE",
    "proxy": "ALL_PROXY",
    "timeout": "UV_HTTP_TIMEOUT",
    "default-timeout": "UV_HTTP_TIMEOUT",
}
# What only concerns how pip itself talks.
OF_PIP_ALONE = {
    "disable-pip-version-check",
    "no-color",
    "no-input",
    "progress-bar",
    "quiet",
    "retries",
    "root-user-action",
    "cache-dir",
    "verbose",
}
# pip looks for a version in all indexes, uv in the first that has the package unless it is told.
LIKE_PIP = ("--index-strategy", "unsafe-best-match")


class Untranslated(Exception):
    """pip is configured in a way that has no counterpart here."""


def translated(settings: Mapping[str, str]) -> tuple[list[str], dict[str, str]]:
    """uv's options and variables for these settings of pip; raises Untranslated."""
    options: list[str] = []
    variables: dict[str, str] = {}
    for name, value in settings.items():
        if name in OPTIONS:
            for each in value.split():
                options += [OPTIONS[name], each]
        elif name in FLAGS:
            if value.lower() in ("1", "true", "yes", "on"):
                options.append(FLAGS[name])
        elif name in VARIABLES:
            variables[VARIABLES[name]] = value
        elif name not in OF_PIP_ALONE:
            raise Untranslated(name)
    if "extra-index-url" in settings:
        options += LIKE_PIP
    return options, variables


def settings_in(listed: str) -> dict[str, str]:
    """What `pip config list` says, as pip weighs it: a variable before what is for `install`
    before what is for all."""
    found: dict[str, str] = {}
    for place in ("global.", "install.", ":env:."):
        for line in listed.splitlines():
            name, _, value = line.partition("=")
            if name.startswith(place):
                found[name.removeprefix(place)] = str(ast.literal_eval(value))
    return found


def made_from() -> str:
    """Identifies what an installation is made from."""
    state = hashlib.sha256(sys.version.encode())
    for name in PROJECTS:
        state.update((ROOT / name).read_bytes() + b"\0")
    return state.hexdigest()


class Environment:
    """The folder `.venv`, and what was installed in it."""

    def __init__(self, folder: Path) -> None:
        self.python = folder / "bin" / "python"
        self._folder = folder
        self._done = folder / DONE

    def has(self, part: str) -> bool:
        """Whoever can test can run."""
        lines = self._done.read_text().splitlines() if self._done.exists() else []
        now = made_from()
        return self.python.exists() and any(f"{each} {now}" in lines for each in {part, TEST})

    def set_up(self, part: str) -> None:
        if not self.python.exists():
            subprocess.run([sys.executable, "-m", "venv", str(self._folder)], check=True)
        product, lab = PARTS[part]
        wanted = ["-e", f"{ROOT}[{product}]", "-e", f"{ROOT / 'packaging' / 'lab'}[{lab}]"]
        print(f"{self._folder.name}: installing what {SIZES[part]} needs", flush=True)
        start = time.monotonic()
        if not self._by_uv(wanted):
            self._pip("install", "--retries", "5", *wanted)
        print(f"{self._folder.name}: installed in {time.monotonic() - start:.0f} s", flush=True)
        with self._done.open("a") as file:
            file.write(f"{part} {made_from()}\n")

    def _by_uv(self, wanted: list[str]) -> bool:
        uv = self._uv()
        if not uv:
            print("uv is not available: using pip, which takes some minutes", flush=True)
            return False
        try:
            listed = subprocess.run(
                [str(self.python), "-m", "pip", "config", "list"],
                check=True,
                capture_output=True,
                text=True,
            ).stdout
            options, variables = translated(settings_in(listed))
        except Untranslated as setting:
            print(f"pip has a setting that uv does not support ({setting}): using pip", flush=True)
            return False
        done = subprocess.run(
            [uv, "pip", "install", "--python", str(self.python), *options, *wanted],
            env={**variables, **os.environ},
            stdin=subprocess.DEVNULL,
            check=False,
        )
        if done.returncode:
            print("uv failed: using pip, which takes some minutes", flush=True)
        return done.returncode == 0

    def _uv(self) -> str:
        """The machine's, or one from the index; "" if there is neither."""
        own = self.python.parent / "uv"
        if not own.exists():
            found = shutil.which("uv")
            if found:
                return found
            self._pip("install", "--quiet", "--only-binary", "uv", "uv", check=False)
        return str(own) if own.exists() else ""

    def _pip(self, *arguments: str, check: bool = True) -> None:
        command = [str(self.python), "-m", "pip", "--disable-pip-version-check", *arguments]
        subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stderr=None if check else subprocess.DEVNULL,
            check=check,
        )


def main() -> int:
    if sys.version_info < OLDEST:
        print("Gossamer needs Python 3.11 or later: make PYTHON=…", file=sys.stderr)
        return 1
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n\n", 1)[0])
    parser.add_argument("part", choices=sorted(PARTS))
    parser.add_argument("--venv", type=Path, default=ROOT / ".venv", help="another folder")
    wish = parser.parse_args()
    environment = Environment(wish.venv)
    if environment.has(wish.part):
        return 0
    try:
        environment.set_up(wish.part)
    except subprocess.CalledProcessError as error:
        print(f"{wish.venv.name}: could not be set up: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
