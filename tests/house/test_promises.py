"""Every test that the documentation names as holding a promise is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ("security.md", "durability.md")


@pytest.mark.parametrize("page", PAGES)
def test_named_tests_are_there(page: str) -> None:
    text = (ROOT / "docs" / page).read_text(encoding="utf-8")
    files = {file.stem: file for file in (ROOT / "tests").rglob("test_*.py")}
    sources = {stem: file.read_text(encoding="utf-8") for stem, file in files.items()}
    functions = {
        name for source in sources.values() for name in re.findall(r"def (test_\w+)\(", source)
    }
    missing = [
        name for name in set(re.findall(r"\btest_\w+(?=\.py)", text)) if name not in files
    ] + [
        name
        for name in set(re.findall(r"\btest_\w+\b(?!\.py)", text))
        if name not in functions and name not in files
    ]
    assert not missing
