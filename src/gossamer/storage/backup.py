"""A copy of a running broker's data, which another broker can start from.

The database is copied page by page on the writer's thread, with batches between: SQLite takes into
the copy what its own connection changes meanwhile, so the copy is the store as it is when the last
page is done. At that moment whoever shares the transactions (the archive) begins its own copy; what
it had until then never changes, and is copied on the caller's thread.

The folder gets its name when everything in it is on disk: it is there whole or not at all.
"""

import os
import shutil
import sqlite3
import tempfile
import threading
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from gossamer.storage.files import FILE_NAME, StoreError, make_private
from gossamer.storage.writer import Participant, Writer

# Pages of the database that are copied before the writer looks for batches: a megabyte.
PAGES_AT_ONCE: Final = 256
_POLL_SECONDS: Final = 0.5

Progress = Callable[[int, int], None]


class BackupError(StoreError):
    """There is no backup, and nothing is left of it; the text says why."""


@dataclass(frozen=True)
class Backup:
    """What is in a folder now."""

    folder: Path
    size: int  # bytes of all files
    segments: int  # of the archive
    elsewhere: str  # where sealed segments are that are not in it, "" if all are


def back_up(
    folder: Path,
    connection: sqlite3.Connection,
    writer: Writer,
    participant: Participant | None,
    progress: Progress,
) -> Backup:
    """Waits for it, so not on the event loop; `progress` has pages done and pages in all."""
    made = _unfinished(folder)
    try:
        make_private(made / FILE_NAME)
        _copied(made, connection, writer, participant, progress)
        segments, elsewhere = (0, "") if participant is None else participant.finish_copy(made)
        size = _made_to_last(made)
        if folder.exists():
            raise _there_already(folder)
        made.rename(folder)
        _sync(folder.parent)
    except OSError as error:
        raise BackupError(f"there is no backup in {folder}: {error}") from error
    finally:
        shutil.rmtree(made, ignore_errors=True)
    return Backup(folder, size, segments, elsewhere)


def _there_already(folder: Path) -> BackupError:
    return BackupError(f"{folder} is there already: name a folder that is not")


def _unfinished(folder: Path) -> Path:
    if folder.exists():
        raise _there_already(folder)
    if not folder.parent.is_dir():
        raise BackupError(f"{folder.parent} is no folder: make it first")
    try:
        made = tempfile.mkdtemp(".unfinished", f".{folder.name}-", folder.parent)
    except OSError as error:
        raise BackupError(f"{folder.parent} cannot be written: {error.strerror}") from error
    return Path(made)


class _Stopped(Exception):
    """The writer is to end."""


def _copied(
    made: Path,
    connection: sqlite3.Connection,
    writer: Writer,
    participant: Participant | None,
    progress: Progress,
) -> None:
    problems: list[Exception] = []
    is_done = threading.Event()

    def step(_status: int, left: int, pages: int) -> None:
        progress(pages - left, pages)
        # After the last page nothing may come between this copy and that of the archive.
        if left and not writer.meanwhile():
            raise _Stopped

    def copy() -> None:
        try:
            with closing(sqlite3.connect(made / FILE_NAME, isolation_level=None)) as target:
                target.execute("PRAGMA synchronous = OFF")  # `_made_to_last` does that
                connection.backup(target, pages=PAGES_AT_ONCE, progress=step, sleep=0)
                if participant is not None:
                    participant.begin_copy(made)
        except (OSError, sqlite3.Error, _Stopped) as error:
            problems.append(error)
        finally:
            is_done.set()

    writer.ask(copy)
    while not is_done.wait(_POLL_SECONDS):
        if not writer.is_alive and not is_done.is_set():
            problems.append(_Stopped())
            break
    if problems:
        words = "the broker stops" if isinstance(problems[0], _Stopped) else str(problems[0])
        raise BackupError(f"the store was not copied: {words}") from problems[0]


def _made_to_last(made: Path) -> int:
    """The bytes of all its files."""
    size = 0
    for folder, _, names in os.walk(made):
        for name in names:
            file = Path(folder, name)
            size += file.stat().st_size
            _sync(file)
        _sync(Path(folder))
    return size


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
