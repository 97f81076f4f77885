"""The archive of one broker: the writer's transactions, the readers' view, its part of a backup,
and what stands for the store of a broker that keeps nothing else.

A transaction writes its blocks to the log, synchronises them, has the store commit, and only then
lets readers see them. If the store cannot commit, the log is cut back: both have the transaction or
neither has. Offsets are given here, one after the other, and never again.
"""

import logging
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from gossamer.archive.catalog import Catalog, find_logs, now_micros, open_catalog
from gossamer.archive.collector import MICROSECONDS, Block, Collector
from gossamer.archive.folder import FOLDER_NAME, ArchiveError, ArchiveSettings, lock
from gossamer.archive.log import LogFile, create_log
from gossamer.archive.reader import ArchiveReader
from gossamer.archive.sealed_segment import open_folder, parse_name
from gossamer.session.journal import Journal
from gossamer.storage.backup import BackupError
from gossamer.storage.batch import Batch
from gossamer.storage.files import StoreError
from gossamer.storage.sqlite_store import SqliteStore
from gossamer.storage.writer import NoRoom, Writer

logger = logging.getLogger("gossamer.archive")

# A disk that was full is tried again after this long, where rows are dropped meanwhile.
RETRY_SECONDS: Final = 5.0
# Upkeep may seal or remove a file while it is linked for a copy: then another look is taken.
_MOST_LOOKS: Final = 100


class ArchiveFull(ArchiveError, NoRoom):
    """The disk took nothing, and the configuration says that nothing may be left out."""


class Archive:
    """Opened for one process alone. `committed` is the store's word, see `recovery`.

    It is a `Participant` in the store's transactions (`storage/writer.py`).
    """

    def __init__(self, settings: ArchiveSettings, committed: int | None = None) -> None:
        self.settings = settings
        self.collector = Collector()
        self.collector.is_required = settings.on_full == "refuse"
        self._lock = lock(settings.logs)
        try:
            self.files, self.sealed_folder = open_folder(settings.sealed)
            self.catalog: Catalog = open_catalog(
                settings, self.files, self.sealed_folder, committed
            )
        except BaseException:
            os.close(self._lock)
            raise
        self.collector.begin_at(self.catalog.next)
        self.reader = ArchiveReader(self.catalog, settings.broker)
        self._writing = threading.Lock()
        self._grown = threading.Condition()
        self._dropped_at = 0.0  # when the disk took nothing; 0 while it takes everything

    @property
    def next(self) -> int:
        return self.catalog.next

    def take(self) -> list[Block]:
        """What was collected for the transaction that ends now."""
        return self.collector.take()

    @contextmanager
    def transaction(self, blocks: Sequence[Block], *, is_joint: bool) -> Iterator[int]:
        """Appends; the body commits the rest of the transaction, with the next offset to remember.

        ArchiveFull if the disk takes nothing and nothing may be left out.
        """
        with self._writing:
            if blocks:
                self._append(blocks, is_joint=is_joint)
            log = self.catalog.current
            try:
                yield log.next
            except BaseException:
                log.undo()
                raise
            log.commit()
        with self._grown:
            self._grown.notify_all()

    def wait(self, beyond: int, seconds: float) -> bool:
        """Waits until there are rows from offset `beyond` on; whether there are."""
        with self._grown:
            return self._grown.wait_for(lambda: self.next > beyond, seconds)

    def tick(self) -> None:
        """Lets a disk that was full be tried again. On the core's thread."""
        if self._dropped_at and time.monotonic() - self._dropped_at > RETRY_SECONDS:
            self.collector.accepts = True

    def roll(self, *, is_forced: bool = False) -> None:
        """Begins another log if the current one is old enough."""
        with self._writing:
            log = self.catalog.current
            age = (now_micros() - log.created) / MICROSECONDS
            # A log from the future began before the clock was set back: nobody knows how old it is.
            is_old = self.settings.segment_seconds > 0 and not (
                0 <= age < self.settings.segment_seconds
            )
            if log.next > log.first and (is_old or is_forced):
                self._begin_log(log)

    def begin_copy(self, folder: Path) -> None:
        """For a backup. On the writer's thread, so that no transaction is under way: the log that
        goes on is one without rows, and of it the copy has its own."""
        logs = self._logs_in(folder)
        logs.mkdir(parents=True, mode=0o700)
        self.roll(is_forced=True)
        shutil.copyfile(self.catalog.current.path, logs / self.catalog.current.path.name)

    def finish_copy(self, folder: Path) -> tuple[int, str]:
        """Everything before the log that goes on: complete files, which never change. How many
        that are, and where sealed segments are that are not copied."""
        logs = self._logs_in(folder)
        [last] = find_logs(logs)
        end = int(last.stem)
        for _ in range(_MOST_LOOKS):
            found = [path for path in find_logs(self.settings.logs) if int(path.stem) < end]
            for path in self.settings.logs.iterdir():
                offsets = parse_name(path.name)
                if offsets is not None and offsets[0] < end:
                    found.append(path)
            try:
                for path in found:
                    if not (logs / path.name).exists():
                        _link(path, logs / path.name)
            except FileNotFoundError:
                continue
            return len(found), self.settings.sealed_uri
        raise BackupError(f"the files in {self.settings.logs} change too often to be copied")

    def _logs_in(self, copy: Path) -> Path:
        return copy / FOLDER_NAME / self.settings.broker

    def close(self) -> None:
        with self._writing:
            self.catalog.current.close()
            os.close(self._lock)

    def _append(self, blocks: Sequence[Block], *, is_joint: bool) -> None:
        log = self.catalog.current
        try:
            if log.position >= self.settings.segment_bytes and log.next > log.first:
                log = self._begin_log(log)
            log.append(blocks, is_joint=is_joint)
            if self.settings.syncs:
                log.sync()
        except OSError as error:
            log.undo()
            self._cannot_write(blocks, error)
        else:
            self._can_write()

    def _begin_log(self, before: LogFile) -> LogFile:
        log = create_log(
            self.settings.logs, self.settings.broker, before.next, now_micros(), before.next
        )
        before.close()
        self.catalog.add(log)
        return log

    def _cannot_write(self, blocks: Sequence[Block], error: OSError) -> None:
        collector = self.collector
        collector.accepts = False
        where = self.settings.logs
        if self.settings.on_full == "refuse":
            raise ArchiveFull(f"the archive {where} cannot be written: {error}") from error
        for block in blocks:
            block.end.offset = self.catalog.next
        rows = sum(block.rows for block in blocks)
        collector.unwritten += rows
        logger.error(
            "the archive %s cannot be written (%s): %d messages are not archived, nor are those "
            "that come before it can",
            where,
            error,
            rows,
        )
        self._dropped_at = time.monotonic()

    def _can_write(self) -> None:
        if self._dropped_at or not self.collector.accepts:
            logger.warning(
                "the archive %s can be written again; %d messages are missing from it so far",
                self.settings.logs,
                self.collector.missing(),
            )
        self._dropped_at = 0.0
        self.collector.accepts = True


def open_beside(store: SqliteStore, settings: ArchiveSettings) -> Archive:
    """The archive of a broker with a store: both share their transactions from the first turn."""
    archive = Archive(settings, store.position())
    store.join(archive)
    return archive


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


class ArchiveJournal(Journal):
    """Collects rows for the archive and nothing else."""

    def __init__(self, collector: Collector, is_durable: bool) -> None:
        super().__init__()
        self.durable = is_durable
        self._collector = collector

    def take(self) -> Batch:
        taken = Batch(self.batch, {})
        taken.joint = self._collector.take()
        self.batch += 1
        self.dirty = False
        self.is_awaited = False
        return taken


class ArchiveOnlyStore:
    """In the place of a store, for a broker that keeps nothing but its archive: acknowledgements
    wait for that alone. See `SqliteStore` for what its methods promise."""

    def __init__(self, settings: ArchiveSettings, is_durable: bool = True) -> None:
        self.name = f"the archive {settings.logs}"
        self.archive = Archive(settings)
        self.journal = ArchiveJournal(self.archive.collector, is_durable)
        self._writer = Writer(self, self.journal)

    def start(
        self,
        committed: Callable[[int], None],
        failed: Callable[[StoreError], None],
        was_read: Callable[[], None] = lambda: None,
    ) -> None:
        self._writer.start(committed, failed)

    def end_turn(self) -> None:
        self._writer.end_turn()

    def close(self) -> None:
        self._writer.stop()
        self.archive.close()

    def write(self, batch: Batch) -> None:
        with self.archive.transaction(batch.joint, is_joint=False):
            pass

    def tidy(self) -> bool:
        return False

    def failure(self, error: Exception) -> StoreError:
        return StoreError(f"the archive cannot be written: {error}")
