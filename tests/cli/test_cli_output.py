"""What a command printed was written, or its exit code says that it was not.

In an environment without PYTHONUNBUFFERED: then the last of the output is written at the very end.
"""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from gossamer.storage.sqlite_store import SqliteStore
from tests.support.processes import PATIENCE_SECONDS, command, scrubbed
from tests.support.store_model import a_message

FULL = Path("/dev/full")
LARGE = 500  # retained messages: more than any buffer between two processes
# By what they print with: print, typer, rich, a file's write, and typer's own help.
PRINTING = (
    "--help",
    "--version",
    "models list",
    "experiment list",
    "completion bash",
    "store check --data {folder}",
    "store export --data {folder}",
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    where = tmp_path_factory.mktemp("store")
    store = SqliteStore(where, "off")
    for number in range(LARGE):
        store.journal.retained_saved(a_message(f"a/{number}", b"payload" * 100), 0)
    store.close()
    return where


@pytest.fixture
def nobody() -> Iterator[int]:
    """The writing end of a pipe that nobody reads."""
    reading, writing = os.pipe()
    os.close(reading)
    yield writing
    os.close(writing)


def run(words: str, folder: Path, output: int, **variables: str) -> tuple[int, str]:
    done = subprocess.run(
        command(*(word.format(folder=folder) for word in words.split())),
        stdout=output,
        stderr=subprocess.PIPE,
        text=True,
        timeout=PATIENCE_SECONDS,
        env=scrubbed(**variables),
    )
    return done.returncode, done.stderr


@pytest.mark.parametrize("words", PRINTING)
def test_a_reader_that_has_gone_is_named(words: str, folder: Path, nobody: int) -> None:
    said = "gossamer: cannot write to standard output: Broken pipe\n"
    assert run(words, folder, nobody) == (1, said)


@pytest.mark.parametrize("words", ["--version", "models list", "store export --data {folder}"])
def test_nor_does_it_matter_when_python_writes(words: str, folder: Path, nobody: int) -> None:
    said = "gossamer: cannot write to standard output: Broken pipe\n"
    assert run(words, folder, nobody, PYTHONUNBUFFERED="1") == (1, said)


@pytest.mark.skipif(not FULL.exists(), reason="this system has no /dev/full")
@pytest.mark.parametrize("words", PRINTING)
def test_a_full_disk_behind_the_output_is_named(words: str, folder: Path) -> None:
    with FULL.open("wb") as full:
        code, said = run(words, folder, full.fileno())
    assert (code, said) == (
        1,
        "gossamer: cannot write to standard output: No space left on device\n",
    )


def test_an_output_that_is_closed_is_none() -> None:
    words = " ".join(command("--version"))
    done = subprocess.run(
        ["/bin/sh", "-c", f"exec {words} >&-"],
        stderr=subprocess.PIPE,
        text=True,
        timeout=PATIENCE_SECONDS,
        env=scrubbed(),
    )
    assert (done.returncode, done.stderr) == (0, "")
