"""Files that comments, docstrings and guides name are there: a renaming leaves no name behind."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCES = sorted((ROOT / "src").rglob("*.py"))
GUIDES = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
NAMED = re.compile(r"`((?:\w+/)*\w+\.py)`")
# A name without folders is of any file; one with folders begins in one of these.
STARTS = [ROOT / "src" / "gossamer", ROOT / "src" / "gossamer_lab", ROOT / "src", ROOT]
FOLDERS = ("src", "tests", "tools")
NAMES = {path.name for folder in FOLDERS for path in (ROOT / folder).rglob("*.py")}
OF_OTHERS = {"client_test5.py"}  # of the interoperability suite of Paho


def is_there(name: str) -> bool:
    return any((start / name).is_file() for start in STARTS) if "/" in name else name in NAMES


def test_what_is_gone_is_seen() -> None:
    names = ["broker/connection.py", "connection.py", "broker/agenda.py", "errands.py"]
    assert [is_there(name) for name in names] == [True, True, False, False]


@pytest.mark.parametrize("path", [*SOURCES, *GUIDES], ids=lambda path: str(path.relative_to(ROOT)))
def test_named_files_are_there(path: Path) -> None:
    named = set(NAMED.findall(path.read_text(encoding="utf-8"))) - OF_OTHERS
    assert [name for name in sorted(named) if not is_there(name)] == []
