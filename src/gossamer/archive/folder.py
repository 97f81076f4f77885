"""The folder of an archive: how it is kept, who holds it, and what can be wrong with what is there.

`net/resolved_config.py` makes the settings from the configuration. The text of every error names
the file and says what to do. Nothing here needs pyarrow: a broker without an archive imports it.
"""

import fcntl
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

OnFull = Literal["refuse", "drop"]
FOLDER_NAME: Final = "archive"  # in the data folder, where no other is named
LOCK_NAME: Final = "lock"


@dataclass(frozen=True)
class ArchiveSettings:
    """Times are in seconds, 0 for no limit; sizes in bytes, 0 for no limit."""

    folder: Path
    broker: str
    sealed_uri: str = ""  # "" for the folder itself
    segment_bytes: int = 128 * 1024 * 1024
    segment_seconds: float = 3600.0
    retention_seconds: float = 0.0
    retention_bytes: int = 0
    on_full: OnFull = "refuse"
    syncs: bool = True  # whether an acknowledgement survives a power cut

    @property
    def logs(self) -> Path:
        """Where this broker's log files are."""
        return self.folder / self.broker

    @property
    def sealed(self) -> str:
        """Where its sealed segments are: a local path or a URI."""
        return below(self.sealed_uri, self.broker) if self.sealed_uri else str(self.logs)


def below(place: str, name: str) -> str:
    """What has this name there, at a local path or a URI, whose options follow a question mark."""
    if "://" not in place:
        return f"{place.rstrip('/')}/{name}"
    folder, question, options = place.partition("?")
    return f"{folder.rstrip('/')}/{name}{question}{options}"


class ArchiveError(Exception):
    """The archive cannot be used; the text is for the operator."""


class ArchiveDamaged(ArchiveError):
    """A file does not hold what was written into it, and not only at its torn end."""

    def __init__(self, path: Path, what: str) -> None:
        self.path = path
        super().__init__(
            f"the archive's file {path} is damaged: {what}; check it with "
            f"`gossamer archive verify {path.parent}`, and continue without the damaged rows with "
            f"`gossamer archive verify --repair {path.parent}`"
        )


class ArchiveTooNew(ArchiveError):
    """Written by a later version; nothing of it is read or changed."""

    def __init__(self, path: Path | str, found: int, known: int) -> None:
        super().__init__(
            f"the archive's file {path} has format {found} and this version knows {known}; it is "
            f"left as it is: use a newer gossamer, restore what was saved before the upgrade, or "
            f"name another folder in [archive]"
        )


class ArchiveInUse(ArchiveError):
    """Another process writes there."""

    def __init__(self, folder: Path) -> None:
        super().__init__(
            f"the archive {folder} is in use by another process: stop it, or give this broker "
            f"a folder or a name of its own in [archive]"
        )


class MissingPyarrow(ArchiveError):
    def __init__(self) -> None:
        super().__init__(
            "[archive] needs pyarrow and numpy: install them with pip install 'gossamer[data]'"
        )


class RowsLost(ArchiveError):
    """Rows that were asked for are not there any more."""

    def __init__(self, start: int, end: int) -> None:
        self.start = start
        self.end = end
        super().__init__(f"the offsets {start} to {end - 1} are not in the archive any more")


def lock(folder: Path) -> int:
    """A descriptor that keeps others from writing here until it is closed."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    descriptor = os.open(folder / LOCK_NAME, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(descriptor)
        raise ArchiveInUse(folder) from None
    return descriptor


def sync(path: Path | str) -> None:
    """Makes a file last, or the names in a folder."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
