"""What can be wrong with an archive; every text names the file and says what to do."""

from pathlib import Path


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
