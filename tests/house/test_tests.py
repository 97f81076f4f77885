"""The tests themselves: what several share is in tests/support or tests/cases, names are unique."""

import re
from collections import Counter
from pathlib import Path

TESTS = Path(__file__).parents[1]
FILES = sorted(TESTS.rglob("test_*.py"))


def test_no_test_imports_another() -> None:
    """Else what one needs moves with the other, and running one of them runs half of both."""
    imported = re.compile(r"^\s*(?:from|import) tests\.(?:\w+\.)*test_\w+", re.MULTILINE)
    assert not [
        str(file.relative_to(TESTS))
        for file in TESTS.rglob("*.py")
        if imported.search(file.read_text(encoding="utf-8"))
    ]


def test_names_are_unique() -> None:
    assert not [name for name, count in Counter(file.name for file in FILES).items() if count > 1]


def test_only_one_helper_waits() -> None:
    """A loop with a deadline of its own is `eventually` of tests/support/polling.py, once more."""
    own = re.compile(
        r"while [^\n]*(?:monotonic\(\) <|< time\.monotonic)|deadline = time\.monotonic"
    )
    assert not [
        str(file.relative_to(TESTS))
        for file in TESTS.rglob("*.py")
        if own.search(file.read_text(encoding="utf-8")) and file != Path(__file__)
    ]
