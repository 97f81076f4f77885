"""Backups of a running broker: one at a time, each on a thread of its own, with how far it is."""

import logging
import threading
from pathlib import Path
from typing import Final

from typing_extensions import TypedDict

from gossamer.storage.backup import BackupError
from gossamer.storage.sqlite_store import SqliteStore

logger = logging.getLogger(__name__)

NONE: Final = "none"
RUNNING: Final = "running"
DONE: Final = "done"
FAILED: Final = "failed"


class BackupView(TypedDict):
    """The last backup since the start; `state` is none, running, done or failed."""

    state: str
    folder: str
    pages_done: int
    pages: int
    bytes: int
    segments: int
    sealed_elsewhere: str
    problem: str


NO_BACKUP: Final[BackupView] = {
    "state": NONE,
    "folder": "",
    "pages_done": 0,
    "pages": 0,
    "bytes": 0,
    "segments": 0,
    "sealed_elsewhere": "",
    "problem": "",
}


class Backups:
    """Begun and looked at on the event loop."""

    def __init__(self, store: SqliteStore) -> None:
        self._store = store
        self._view = NO_BACKUP

    def view(self) -> BackupView:
        return self._view

    def begin(self, folder: Path) -> bool:
        """False while another one is made."""
        if self._view["state"] == RUNNING:
            return False
        self._view = {**NO_BACKUP, "state": RUNNING, "folder": str(folder)}
        # A daemon: a broker that stops does not wait for a copy on a slow disk, and a copy that was
        # not finished has no name.
        threading.Thread(
            target=self._run, args=(folder,), name="gossamer-backup", daemon=True
        ).start()
        return True

    def _run(self, folder: Path) -> None:
        def progress(done: int, pages: int) -> None:
            self._view = {**self._view, "pages_done": done, "pages": pages}

        logger.info("a backup is made in %s", folder)
        try:
            made = self._store.back_up(folder, progress)
        except BackupError as error:
            logger.error("%s", error)
            self._view = {**self._view, "state": FAILED, "problem": str(error)}
        except Exception as error:
            logger.exception("the backup in %s failed", folder)
            self._view = {**self._view, "state": FAILED, "problem": repr(error)}
        else:
            logger.info("the backup in %s has %d bytes", folder, made.size)
            self._view = {
                **self._view,
                "state": DONE,
                "bytes": made.size,
                "segments": made.segments,
                "sealed_elsewhere": made.elsewhere,
            }
