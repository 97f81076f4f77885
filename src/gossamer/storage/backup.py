"""A copy of a running broker's data, which another broker can start from.

The database is copied page by page on the writer's thread, with batches between: SQLite takes into
the copy what its own connection changes meanwhile, so the copy is the store as it is when the last
page is done. At that moment the archive begins another log; what it had is complete then and never
changes, and is linked, or copied where that cannot be, on the caller's thread.

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
from typing import TYPE_CHECKING, Final, Protocol

from gossamer.storage.errors import StoreError
from gossamer.storage.files import FILE_NAME, make_private

if TYPE_CHECKING:
    from gossamer.archive.archive import Archive

# Pages of the database that are copied before the writer looks for batches: a megabyte.
PAGES_AT_ONCE: Final = 256
# The archive's upkeep may seal or remove a file while it is linked: then another look is taken.
_MOST_LOOKS: Final = 100
_POLL_SECONDS: Final = 0.5

Progress = Callable[[int, int], None]


class BackupError(StoreError):
    """There is no backup, and nothing is left of it; the text says why."""


class Asked(Protocol):
    """The writer, as far as a backup needs it."""

    def ask(self, question: Callable[[], None]) -> None:
        """Has it run on the writer's thread."""

    def meanwhile(self) -> bool:
        """On the writer's thread: batches first; False if it is to end."""

    @property
    def is_alive(self) -> bool: ...


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
    writer: Asked,
    archive: "Archive | None",
    progress: Progress,
) -> Backup:
    """Waits for it, so not on the event loop; `progress` has pages done and pages in all."""
    made = _unfinished(folder)
    try:
        make_private(made / FILE_NAME)
        _copied(made, connection, writer, archive, progress)
        segments = 0
        elsewhere = ""
        if archive is not None:
            segments = _gather(archive, made)
            elsewhere = archive.settings.sealed_uri
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
    writer: Asked,
    archive: "Archive | None",
    progress: Progress,
) -> None:
    problems: list[Exception] = []
    is_done = threading.Event()

    def step(_status: int, left: int, pages: int) -> None:
        progress(pages - left, pages)
        # After the last page nothing may come between the copy and the archive's.
        if left and not writer.meanwhile():
            raise _Stopped

    def copy() -> None:
        try:
            with closing(sqlite3.connect(made / FILE_NAME, isolation_level=None)) as target:
                target.execute("PRAGMA synchronous = OFF")  # `_made_to_last` does that
                connection.backup(target, pages=PAGES_AT_ONCE, progress=step, sleep=0)
                if archive is not None:
                    _cut_archive(archive, made)
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


def _logs_in(made: Path, archive: "Archive") -> Path:
    from gossamer.archive.settings import FOLDER_NAME

    return made / FOLDER_NAME / archive.settings.broker


def _cut_archive(archive: "Archive", made: Path) -> None:
    """On the writer's thread, so that no transaction is under way: the log that goes on is one
    without rows, and of it the copy has its own."""
    logs = _logs_in(made, archive)
    logs.mkdir(parents=True, mode=0o700)
    archive.roll(is_forced=True)
    shutil.copyfile(archive.catalog.current.path, logs / archive.catalog.current.path.name)


def _gather(archive: "Archive", made: Path) -> int:
    """Everything before the log that goes on; how many files that is."""
    from gossamer.archive.open_catalog import find_logs
    from gossamer.archive.sealed_segment import parse_name

    logs = _logs_in(made, archive)
    [last] = find_logs(logs)
    end = int(last.stem)
    for _ in range(_MOST_LOOKS):
        found = [path for path in find_logs(archive.settings.logs) if int(path.stem) < end]
        for path in archive.settings.logs.iterdir():
            offsets = parse_name(path.name)
            if offsets is not None and offsets[0] < end:
                found.append(path)
        try:
            for path in found:
                if not (logs / path.name).exists():
                    _link(path, logs / path.name)
        except FileNotFoundError:
            continue
        return len(found)
    raise BackupError(f"the files in {archive.settings.logs} change too often to be copied")


def _link(path: Path, copy: Path) -> None:
    """Where it cannot be linked (another disk), it is copied."""
    try:
        os.link(path, copy)
    except FileNotFoundError:
        raise
    except OSError:
        try:
            shutil.copyfile(path, copy)
        except OSError:
            copy.unlink(missing_ok=True)
            raise


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
