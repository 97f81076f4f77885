"""A test is run again by a marker on that test, with a reason that is shown; there are few."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.processes import PATIENCE_SECONDS, scrubbed

ROOT = Path(__file__).parents[2]

TURNS_GREEN = """
import pytest
tries = []

@pytest.mark.flaky_because("the moon")
def test_it():
    tries.append(1)
    assert len(tries) == 2
"""
STAYS_RED = """
def test_it():
    with open("{folder}/tries", "a") as file:
        file.write("x")
    assert False
"""
WRONG = {
    "import pytest\n@pytest.mark.flaky_because()\ndef test_it(): pass": "takes one text",
    "import pytest\n@pytest.mark.flaky_because('')\ndef test_it(): pass": "takes one text",
    "import pytest\npytestmark = pytest.mark.flaky_because('x')\ndef test_it(): pass": "single",
    "import pytest\n"
    + "".join(f"@pytest.mark.flaky_because('x')\ndef test_{n}(): pass\n" for n in range(20)): (
        "20 tests are flaky_because, 19 may be"
    ),
}


def run(folder: Path, text: str, *more: str) -> tuple[int, str]:
    (folder / "test_made.py").write_text(text)
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-c", str(ROOT / "pyproject.toml")),
            *("--rootdir", str(folder), "-p", "tests.conftest", "-p", "no:cacheprovider"),
            *(*more, str(folder)),
        ],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=4 * PATIENCE_SECONDS,
        env=scrubbed(),
    )
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("workers", [[], ["-n", "1"]], ids=["alone", "by a worker"])
def test_a_rerun_is_shown_with_its_reason(tmp_path: Path, workers: list[str]) -> None:
    code, shown = run(tmp_path, TURNS_GREEN, *workers)
    assert code == 0, shown
    assert "test_it: the moon" in shown
    assert "1 passed, 1 rerun" in shown


def test_without_the_marker_a_failure_is_a_failure(tmp_path: Path) -> None:
    code, _ = run(tmp_path, STAYS_RED.format(folder=tmp_path))
    assert code == 1
    assert (tmp_path / "tries").read_text() == "x"


@pytest.mark.parametrize("text", WRONG, ids=range(len(WRONG)))
def test_what_is_no_reason_for_a_single_test_is_refused(tmp_path: Path, text: str) -> None:
    code, shown = run(tmp_path, text)
    assert code == pytest.ExitCode.USAGE_ERROR
    assert WRONG[text] in shown
