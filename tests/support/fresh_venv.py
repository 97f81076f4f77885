"""A virtual environment with one wheel of ours and exactly what it says it needs.

What it needs is linked from the environment of the tests, so that nothing is fetched: a package
that the wheel does not name, directly or through another, is not there.
"""

import subprocess
import sys
import sysconfig
import venv
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from tests.support.processes import PATIENCE_SECONDS

OURS = {"gossamer", "gossamer-lab"}


class FreshVenv:
    """Runs commands in an environment that has nothing of the shell of whoever tests."""

    def __init__(self, folder: Path) -> None:
        venv.create(folder, symlinks=True)
        self.folder = folder
        self.python = folder / "bin" / "python"
        self._packages = Path(
            sysconfig.get_path("purelib", vars={"base": str(folder), "platbase": str(folder)})
        )

    def install(self, wheel: Path) -> None:
        self._pip("install", "--no-deps", "--no-index", str(wheel))
        name = wheel.name.split("-")[0]
        info = next(self._packages.glob(f"{name}-*.dist-info"))
        for needed in _closure(Distribution.at(info)):
            self._link(needed)

    def run(self, *arguments: str, cwd: Path, **more: str) -> "subprocess.CompletedProcess[str]":
        """`gossamer` as its users start it."""
        return subprocess.run(
            [str(self.folder / "bin" / "gossamer"), *arguments],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=2 * PATIENCE_SECONDS,
            env=self.environment(cwd, **more),
            cwd=cwd,
        )

    def environment(self, home: Path, **more: str) -> dict[str, str]:
        return {"HOME": str(home), "PATH": f"{self.folder}/bin:/usr/bin:/bin", **more}

    def _pip(self, *arguments: str) -> None:
        subprocess.run(
            [sys.executable, "-m", "pip", "--python", str(self.python), "--quiet", *arguments],
            check=True,
            timeout=4 * PATIENCE_SECONDS,
        )

    def _link(self, needed: Distribution) -> None:
        for file in needed.files or ():
            top = file.parts[0]
            target = self._packages / top
            if top in ("..", "__pycache__") or target.exists():
                continue
            target.symlink_to(Path(str(needed.locate_file(top))).resolve())


def _closure(wheel: Distribution) -> list[Distribution]:
    """Everything that a distribution needs to run, through all that it names; not itself."""
    found: dict[str, Distribution] = {}
    asked: set[tuple[str, str]] = set()
    waiting = [(wheel, "")]
    while waiting:
        each, extra = waiting.pop()
        for text in each.requires or ():
            need = Requirement(text)
            name = canonicalize_name(need.name)
            if name in OURS or (need.marker and not need.marker.evaluate({"extra": extra})):
                continue
            found.setdefault(name, distribution(name))
            for wanted in ("", *need.extras):
                if (name, wanted) not in asked:
                    asked.add((name, wanted))
                    waiting.append((found[name], wanted))
    return list(found.values())
