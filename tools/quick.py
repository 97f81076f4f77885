"""Tests one room from its sources, in seconds: no compiler, few examples, the first failure ends.

    python tools/quick.py session               tests/session
    python tools/quick.py wire lab/trials       two of them
    python tools/quick.py                       the rooms of what changed since the last commit,
                                                or else in it; of a changed test, that file

What has to hold before a change lands is `make lint` and `make test`.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PRODUCT = ("src", "gossamer")
LAB = ("src", "gossamer_lab")


def folder_of(room: str, root: Path = ROOT) -> str:
    """The tests of a room, by its name; a room of the laboratory with or without `lab/`."""
    for folder in (f"tests/{room}", f"tests/lab/{room}"):
        if any((root / folder).rglob("test_*.py")):  # a folder may be left with caches alone
            return folder
    there = sorted(
        str(path.relative_to(root / "tests"))
        for path in (*(root / "tests").iterdir(), *(root / "tests" / "lab").iterdir())
        if any(path.glob("test_*.py"))
    )
    raise SystemExit(f"there are no tests of {room!r}; ROOM is one of {', '.join(there)}")


def touched(changed: Iterable[str], root: Path = ROOT) -> list[str]:
    """What to test after these files changed: a test by itself, a source by its room's tests."""
    found: set[str] = set()
    for name in changed:
        parts = Path(name).parts
        if parts[0] == "tests" and parts[-1].startswith("test_") and (root / name).is_file():
            found.add(name)
        elif parts[:2] == PRODUCT and len(parts) > 3:
            found.add(f"tests/{parts[2]}")
        elif parts[:2] == LAB and len(parts) > 3:
            found.add(f"tests/lab/{parts[2]}")
        elif parts[0] in ("tools", ".ci", "packaging") or name == "Makefile":
            found.add("tests/house")
    folders = {each for each in found if (root / each).is_dir()}
    files = {
        each for each in found if each.endswith(".py") and str(Path(each).parent) not in folders
    }
    return sorted(folders | files)


def changed_files() -> list[str]:
    """Since the last commit, new files too; if there are none, those of that commit."""
    since = _git("diff", "--name-only", "HEAD")
    since += _git("ls-files", "--others", "--exclude-standard")
    return since or _git("diff", "--name-only", "HEAD~1", "HEAD")


def _git(*arguments: str) -> list[str]:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.splitlines()


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("rooms", nargs="*", metavar="ROOM", help="such as session or lab/trials")
    parser.add_argument("--pytest", default="", help="more arguments for pytest")
    wish = parser.parse_args()
    rooms = [folder_of(room) for room in wish.rooms] or touched(changed_files())
    if not rooms:
        raise SystemExit("no room has changed; name one: make quick ROOM=session")
    print(f"testing {', '.join(rooms)} from the sources", flush=True)
    lint = subprocess.run([sys.executable, "-m", "ruff", "check", "--quiet"], cwd=ROOT)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-x", "--failed-first", *wish.pytest.split(), *rooms],
        cwd=ROOT,
        env={
            **os.environ,
            "GOSSAMER_PURE": "1",
            "GOSSAMER_EXAMPLES": "quick",
            "PYTHONHASHSEED": "0",
        },
    )
    return done.returncode or lint.returncode


if __name__ == "__main__":
    sys.exit(main())
